"""Small policy files for the tests of this folder, and what is wrong with them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from dp4sql.errors import PolicyError, Problem
from dp4sql.policy import load_policy

ROOT = Path(__file__).resolve().parents[2]

UNIVERSITY: dict[str, Any] = {
    "dp4sql": 1,
    "tables": {
        "student": {"key": ["uid"], "columns": {"uid": "integer", "major": "text"}},
        "faculty": {
            "key": ["fid"],
            "columns": {"fid": "integer", "salary": "integer", "age": "integer"},
        },
        "section": {
            "key": ["sid"],
            "foreign_keys": {"fid": "faculty"},
            "max_frequency": {"fid": 3},
            "columns": {"sid": "integer", "fid": "integer"},
        },
        "enrollment": {
            "key": ["eid"],
            "foreign_keys": {"sid": "section", "uid": "student"},
            "max_frequency": {"sid": 20, "uid": 6},
            "columns": {
                "eid": "integer",
                "sid": "integer",
                "uid": "integer",
                "grade": {"type": "integer", "range": [0, 100], "nullable": True},
            },
        },
    },
    "policies": {
        "student": {
            "entity": "student",
            "epsilon": 1,
            "labels": {
                "student": "del",
                "enrollment": {"rep": ["uid", "grade"]},
                "section": "pub",
                "faculty": {"rep": ["salary", "age"]},
            },
        },
        "faculty": {
            "entity": "faculty",
            "epsilon": 1,
            "labels": {"faculty": {"rep": "all"}, "section": "pub", "enrollment": "pub"},
        },
    },
}


def university(**changes: Any) -> dict[str, Any]:
    """The file above with values set at dotted places; None takes an entry out.

    `university(**{"policies.student.epsilon": 2})`
    """
    content = copy.deepcopy(UNIVERSITY)
    for place, value in changes.items():
        *above, last = place.split(".")
        here = content
        for step in above:
            here = here[step]
        if value is None:
            del here[last]
        else:
            here[last] = value
    return content


def problems(source: Any) -> tuple[Problem, ...]:
    with pytest.raises(PolicyError) as caught:
        load_policy(source)
    return caught.value.problems


def the_problem(source: Any) -> Problem:
    """The only problem there is."""
    found = problems(source)
    assert len(found) == 1, "\n".join(map(str, found))
    return found[0]
