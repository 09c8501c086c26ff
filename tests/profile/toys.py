"""A tiny policy with a profile, written out so that its parts can be changed."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml

FILES = {
    "domains/mood.yaml": """
name: mood
title: Moods
source: made up for these tests
verified: true
categories:
  - {code: up, title: cheerful, texts: [happy, glad]}
  - {code: down, title: gloomy, texts: [sad]}
""",
    "domains/size.yaml": """
name: size
title: Sizes
source: made up for these tests
verified: true
categories:
  - {code: S, title: small}
  - {code: M, title: medium}
  - {code: L, title: large}
""",
    "codebooks/mood.csv": "value,code\nhappy,up\nsad,down\n",
    "codebooks/size.csv": "# sizes\nvalue,code\ntiny,S\nmiddling,M\nhuge,L\n",
    "scores/size.csv": "value,code,score\n"
    "tiny,S,0.9\ntiny,M,0.6\ntiny,L,0.4\nhuge,S,0.3\nhuge,M,0.5\nhuge,L,0.95\n",
    "compat/mood_size.csv": "mood,S,M,L\nup,1,0.5,0\ndown,0,0,1\n",
}

POLICY: dict[str, Any] = {
    "dp4sql": 1,
    "tables": {
        "cat": {
            "key": ["id"],
            "columns": {
                "id": "text",
                "nick": "text",
                "toy": {"type": "text", "nullable": True},
                "mood": {"type": "text", "nullable": True},
                "size": {"type": "text", "nullable": True},
            },
        },
        "meal": {
            "key": ["mid"],
            "foreign_keys": {"cid": "cat"},
            "max_frequency": {"cid": 3},
            "columns": {
                "mid": "integer",
                "cid": "text",
                "amount": {"type": "text", "nullable": True},
            },
        },
    },
    "policies": {
        "cat": {
            "entity": "cat",
            "epsilon": 2,
            "budget": 10,
            "labels": {"cat": {"rep": ["nick", "mood", "size"]}, "meal": {"rep": ["amount"]}},
        }
    },
    "profiles": {
        "vet": {
            "entity": "cat",
            "fields": {
                "id": {"column": "cat.id", "identifier": True},
                "nick": {"column": "cat.nick"},
                "toy": {"column": "cat.toy", "domain": "mood"},
                "mood": {"column": "cat.mood", "domain": "mood"},
                "size": {
                    "column": "cat.size",
                    "domain": "size",
                    "scorer": "table",
                    "scores": "scores/size.csv",
                },
                "meals": {
                    "column": "meal.amount",
                    "domain": "size",
                    "scorer": "lexical",
                    "values": "free_text",
                },
            },
            "closure": [{"from": "toy", "to": "mood", "score": 0.8}],
            "groups": [["mood", "size"]],
            "prior": {
                "gamma": 3,
                "pairs": [{"fields": ["mood", "size"], "table": "compat/mood_size.csv"}],
            },
        }
    },
}


def policy() -> dict[str, Any]:
    return copy.deepcopy(POLICY)


def write(folder: Path, content: dict[str, Any] | None = None, **files: str) -> Path:
    """The policy file in `folder`, with the files it names; `files` replaces some, by path."""
    for name, text in {**FILES, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    path = folder / "policy.yaml"
    path.write_text(yaml.safe_dump(content or policy(), sort_keys=False), encoding="utf-8")
    return path
