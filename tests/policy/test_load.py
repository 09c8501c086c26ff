"""A sound file becomes exact values; the shapes that the format allows mean the same."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dp4sql.algebra.schema import ForeignKey, Frequency
from dp4sql.algebra.types import Type, Value
from dp4sql.policy import load_policy
from dp4sql.policy.labels import Del, Pub, Rep
from dp4sql.policy.types import parse_type

from .support import university


def test_labels_epsilon_and_budget() -> None:
    policies = load_policy(
        university(**{"policies.student.epsilon": 0.1, "policies.student.budget": 20})
    )
    student, faculty = policies.policies
    assert (student.epsilon, student.budget) == (Fraction(1, 10), 20)
    assert student.labels["student"] == Del()
    assert student.labels["enrollment"] == Rep(frozenset({"uid", "grade"}))
    assert student.labels["section"] == Pub()
    assert faculty.labels["faculty"] == Rep(frozenset({"salary", "age"})), "all but the key"
    assert faculty.budget is None


def test_a_number_in_a_file_is_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        "tables: {t: {key: [k], columns: {k: integer, x: {type: double precision, "
        "range: [-0.1, 1e3], unit: 0.07}}}}\n"
        "policies: {p: {entity: t, epsilon: 0.1, budget: 0.30000000000000001, labels: {t: del}}}\n"
    )
    policies = load_policy(path)
    column = policies.schema.table("t").columns["x"]
    assert column.range == (Fraction(-1, 10), 1000)
    assert column.unit == Fraction(7, 100)
    assert policies.policies[0].epsilon == Fraction(1, 10)
    assert policies.policies[0].budget == Fraction(30000000000000001, 10**17)


def test_yaml_words_that_are_text_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        "tables: {t: {key: [k], columns: {k: integer, x: {type: text, domain: [no, on, Y, 1e, 2-HIGH]}}}}\n"
        "policies: {p: {entity: t, epsilon: 1, labels: {t: del}}}\n"
    )
    assert load_policy(path).schema.table("t").columns["x"].domain == (
        "no",
        "on",
        "Y",
        "1e",
        "2-HIGH",
    )


def test_short_and_long_shapes_mean_the_same() -> None:
    long = university(
        **{
            "tables.section.foreign_keys": [{"columns": ["fid"], "references": "faculty"}],
            "tables.section.max_frequency": [{"columns": ["fid"], "rows": 3, "enforce": "trust"}],
            "tables.section.columns.sid": {"type": "integer", "nullable": False},
        }
    )
    short = load_policy(university()).schema.table("section")
    assert load_policy(long).schema.table("section") == short
    assert short.foreign_keys == (ForeignKey(("fid",), "faculty"),)
    assert short.frequencies == (Frequency(frozenset({"fid"}), 3),)
    per_column = university(**{"tables.section.max_frequency": {"fid": {"rows": 3}}})
    assert load_policy(per_column).schema.table("section") == short


def test_columns_are_not_null_unless_they_say_so() -> None:
    columns = load_policy(university()).schema.table("enrollment").columns
    assert {name for name, column in columns.items() if column.nullable} == {"grade"}


def test_schema_qualified_and_mixed_case_names() -> None:
    content: dict[str, Any] = {
        "tables": {
            "Sales.Order Items": {"key": ["Id"], "columns": {"Id": "integer", "Größe": "text"}},
            "plain": {"key": ["id"], "columns": {"id": "integer"}},
        },
        "policies": {
            "p": {
                "entity": "Sales.Order Items",
                "epsilon": 1,
                "labels": {"Sales.Order Items": "del"},
            }
        },
    }
    policies = load_policy(content)
    table = policies.schema.table("Sales.Order Items")
    assert (table.schema, table.relname) == ("Sales", "Order Items")
    assert list(table.columns) == ["Id", "Größe"]
    plain = policies.schema.table("plain")
    assert (plain.schema, plain.relname) == ("public", "plain")
    assert policies.covered == {"Sales.Order Items"}, "no policy names plain"


@pytest.mark.parametrize(
    ("type", "raw", "value"),
    [
        ("date", "1995-03-15", datetime.date(1995, 3, 15)),
        ("date", datetime.date(1995, 3, 15), datetime.date(1995, 3, 15)),
        ("numeric(5,2)", 0.1, Decimal("0.1")),
        ("double precision", 0.1, 0.1),
        ("boolean", False, False),
        ("bigint", 2**40, 2**40),
        ("timestamp", "1995-03-15 10:30", datetime.datetime(1995, 3, 15, 10, 30)),
        (
            "timestamptz",
            "1995-03-15T10:30+01:00",
            datetime.datetime(1995, 3, 15, 9, 30, tzinfo=datetime.UTC),
        ),
    ],
)
def test_domain_values_have_the_columns_type(type: str, raw: Any, value: Value) -> None:
    column = {"type": type, "domain": [raw]}
    loaded = load_policy(university(**{"tables.student.columns.major": column}))
    (found,) = loaded.schema.table("student").columns["major"].domain or ()
    assert found == value
    assert found.__class__ is value.__class__


def test_integer_domains_may_be_spans_and_have_an_other() -> None:
    column = {"type": "integer", "domain": {"from": 3, "to": 6}, "other": -1}
    loaded = load_policy(university(**{"tables.student.columns.major": column}))
    found = loaded.schema.table("student").columns["major"]
    assert (found.domain, found.other) == (range(3, 7), -1)


def test_ranges_of_dates_are_days_since_1970() -> None:
    column = {"type": "date", "range": ["1969-12-31", "1970-01-02"]}
    loaded = load_policy(university(**{"tables.student.columns.major": column}))
    assert loaded.schema.table("student").columns["major"].range == (-1, 1)
    column = {"type": "timestamp", "range": ["1970-01-01", "1970-01-01 12:00"]}
    loaded = load_policy(university(**{"tables.student.columns.major": column}))
    assert loaded.schema.table("student").columns["major"].range == (0, Fraction(1, 2))


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("int", Type("integer")),
        ("Double  Precision", Type("double precision")),
        ("numeric", Type("numeric")),
        ("numeric(15, 2)", Type("numeric", precision=15, scale=2)),
        ("decimal(9)", Type("numeric", precision=9, scale=0)),
        ("varchar(25)", Type("character varying", length=25)),
        ("varchar", Type("character varying")),
        ("char", Type("character", length=1)),
        ("timestamptz", Type("timestamp with time zone")),
        ("timestamp without time zone", Type("timestamp without time zone")),
        ("uuid", Type("uuid")),
    ],
)
def test_type_names_are_postgres_names(text: str, type: Type) -> None:
    assert parse_type(text) == type


@pytest.mark.parametrize(
    "text",
    ["integr", "numeric(2,5)", "numeric(0)", "varchar(0)", "date(3)", "int[]", "unknown", ""],
)
def test_other_type_names_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_type(text)


def test_the_fingerprint_follows_content_not_spelling(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    text = (
        "tables: {t: {key: [k], columns: {k: integer}}}\n"
        "policies: {p: {entity: t, labels: {t: del}, epsilon: %s\n}}"
    )
    prints = []
    for epsilon in ("1", "1.0", "1.00 # one", "1.01"):
        path.write_text(text % epsilon)
        prints.append(load_policy(path).fingerprint)
    assert prints[0] == prints[1] == prints[2] != prints[3]
    mapping = {
        "tables": {"t": {"key": ["k"], "columns": {"k": "integer"}}},
        "policies": {"p": {"entity": "t", "labels": {"t": "del"}, "epsilon": 1.0}},
    }
    assert load_policy(mapping).fingerprint == prints[0]
