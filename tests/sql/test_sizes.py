"""What a few hundred characters could unfold into is refused before it is: the proxy would run out of memory."""

from __future__ import annotations

import pytest

import dp4sql
from dp4sql.errors import TooComplex

POLICY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "t": {
                "key": ["id"],
                "columns": {
                    "id": "integer",
                    "x": "numeric(10,2)",
                    "d": "date",
                    "s": "text",
                    "b": "boolean",
                },
            }
        },
        "policies": {"p": {"entity": "t", "epsilon": 1, "labels": {"t": "del"}}},
    }
)
DEEP = 18


def _nested(form: str, inner: str) -> str:
    for _ in range(DEEP):
        inner = form.format(inner)
    return inner


@pytest.mark.parametrize(
    ("form", "inner"),
    [
        ("({} BETWEEN 1 AND 5)::int", "id"),
        ("WIDTH_BUCKET({}, 0, 10, 5)", "id"),
        ("TRUNC({}, 1)", "x"),
        ("SUBSTRING(s, LENGTH({}))", "s"),
        ("(d + ({} - d))", "d"),
        ("(({})::text::numeric(10, 2))", "x"),
        ("POWER({}, 2)", "x"),
        ("NULLIF({}, 0.5::float8)", "x"),
    ],
)
def test_functions_of_functions(form: str, inner: str) -> None:
    with pytest.raises(TooComplex, match="too"):
        dp4sql.explain(POLICY, f"SELECT COUNT(*) FROM t WHERE {_nested(form, inner)} IS NOT NULL")


@pytest.mark.parametrize("sum", ["b AND b", "id % 5 + id % 5"])
def test_columns_of_columns(sum: str) -> None:
    name = sum.split()[0]
    views = _nested(f"(SELECT ({sum}) AS {name} FROM {{}} v)", "t")
    with pytest.raises(TooComplex, match="too large"):
        dp4sql.explain(POLICY, f"SELECT {name}, COUNT(*) FROM {views} v GROUP BY {name}")


def test_long_statements_are_no_deep_ones() -> None:
    many = " OR ".join(f"(id = {i} AND s <> 'x')" for i in range(2000))
    dp4sql.explain(POLICY, f"SELECT COUNT(*) FROM t WHERE {many}")
