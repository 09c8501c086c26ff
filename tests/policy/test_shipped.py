"""The policies that come with dp4sql."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dp4sql.policy import json_schema, load_policy
from dp4sql.policy.labels import Del, Pub, Rep
from dp4sql.policy.source import read

from .support import ROOT

FOLDER = ROOT / "policies"
FILES = sorted(FOLDER.glob("*.yaml"))
SCHEMA = FOLDER / "policy.schema.json"


def as_json(content: Any) -> Any:
    """What an editor sees of a file."""
    match content:
        case dict():
            return {key: as_json(value) for key, value in content.items()}
        case list():
            return [as_json(item) for item in content]
        case Decimal():
            return float(content)
        case _:
            return content


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_file_is_sound_and_fits_the_schema(path: Path) -> None:
    assert load_policy(path).policies
    assert path.read_text().startswith("# yaml-language-server: $schema=policy.schema.json\n")
    jsonschema.validate(as_json(read(path).content), json.loads(SCHEMA.read_text()))


def test_the_schema_file_is_what_the_models_generate() -> None:
    """After a change: python -c 'import json, dp4sql.policy as p; print(json.dumps(p.json_schema(),
    indent=2))' > policies/policy.schema.json"""
    assert SCHEMA.read_text() == json.dumps(json_schema(), indent=2) + "\n"


@pytest.mark.parametrize(
    "wrong",
    [
        {"tabels": {}},
        {"tables": {}},
        {"policies": {"p": {"entity": "t", "epsilon": 1, "labels": {"t": "dell"}}}},
        {"policies": {"p": {"entity": "t", "epsilon": "1", "labels": {"t": "del"}}}},
        {"tables": {"t": {"key": [], "columns": {"k": "integer"}}}},
        {"tables": {"t": {"key": ["k"], "columns": {"k": {"type": "integer", "rnage": [1, 2]}}}}},
        {"tables": {"t": {"key": ["k"], "columns": {"k": 5}}}},
        {"certify": {"defaults": {"margin": "wide"}}},
        {"certify": {"templates": {"s": {"text": "s", "population": "SELECT 1"}}}},
        {"profiles": {"p": {"fields": {}}}},
        {"profiles": {"p": {"entity": "t", "fields": {"f": {"column": "t.k", "scorer": "best"}}}}},
        {"profiles": {"p": {"entity": "t", "fields": {"f": {"colum": "t.k"}}}}},
    ],
)
def test_the_schema_refuses_what_the_loader_refuses(wrong: dict[str, Any]) -> None:
    right = {
        "tables": {"t": {"key": ["k"], "columns": {"k": "integer"}}},
        "policies": {"p": {"entity": "t", "epsilon": 1, "labels": {"t": {"rep": "all"}}}},
    }
    jsonschema.validate(right, json_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**right, **wrong}, json_schema())


@pytest.mark.parametrize(
    ("name", "variants"),
    [("university", ["university_u", "university_b"]), ("tpch", ["tpch_u", "tpch_customer"])],
)
def test_variants_differ_in_their_policies_alone(name: str, variants: list[str]) -> None:
    tables = load_policy(FOLDER / f"{name}.yaml").schema
    for variant in variants:
        assert load_policy(FOLDER / f"{variant}.yaml").schema == tables


def labels(name: str, policy: str) -> dict[str, Any]:
    loaded = load_policy(FOLDER / f"{name}.yaml")
    return dict(next(p for p in loaded.policies if p.name == policy).labels)


def test_the_universitys_p1() -> None:
    assert labels("university", "student") == {
        "student": Del(),
        "faculty": Rep(frozenset({"salary", "age"})),
        "scholarship": Rep(frozenset({"uid", "amount"})),
        "section": Pub(),
        "enrollment": Rep(frozenset({"uid", "grade"})),
    }


def test_the_baselines_delete_or_replace_all_that_is_owned() -> None:
    owned = {"student", "enrollment", "scholarship"}
    deleted = labels("university_u", "student")
    assert {table for table, label in deleted.items() if label == Del()} == owned
    loaded = load_policy(FOLDER / "university_b.yaml")
    for table in owned:
        declared = loaded.schema.table(table)
        private = frozenset(declared.columns) - frozenset(declared.key)
        assert loaded.policies[0].labels[table] == Rep(private)


def test_tpch_columns_are_not_null() -> None:
    tables = load_policy(FOLDER / "tpch.yaml").schema.tables.values()
    assert len(tables) == 8
    assert sum(len(table.columns) for table in tables) == 61
    assert not any(column.nullable for table in tables for column in table.columns.values())
