"""An argument of another type is refused before the charge: an engine that converts it by itself fails on some rows,
and the failure would tell of them."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

import dp4sql
from dp4sql.errors import DatatypeMismatch, Dp4sqlError, Unsupported

COLUMNS = {
    "w": ("text", "'abc'"),
    "n": ("integer", "2147483647"),
    "x": ("double precision", "'nan'::DOUBLE"),
    "u": ("numeric(10,2)", "99999999.99"),
    "b": ("boolean", "TRUE"),
    "d": ("date", "DATE 'infinity'"),
    "z": ("timestamp", "TIMESTAMP 'infinity'"),
    "s": ("interval", "INTERVAL '1 month'"),
    "i": ("uuid", "uuid()"),
}
POLICY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "t": {
                "key": ["id"],
                "columns": {"id": "integer", **{name: type for name, (type, _) in COLUMNS.items()}},
            }
        },
        "policies": {"p": {"entity": "t", "epsilon": 1, "labels": {"t": "del"}}},
    }
)
CONDITIONS = [
    "{} IS TRUE",
    "{} IS NOT TRUE",
    "{} IS FALSE",
    "{} IS UNKNOWN",
    "{}",
    "NOT {}",
    "{} AND TRUE",
    "CASE WHEN {} THEN TRUE ELSE FALSE END",
    "LEFT({}, 3) = 'x'",
    "RIGHT({}, 3) = 'x'",
    "LENGTH({}) = 3",
    "UPPER({}) = 'x'",
    "REPLACE({}, 'a', 'b') = 'x'",
    "REPLACE('abc', {}, 'b') = 'x'",
    "SUBSTRING({}, 1, 2) = 'x'",
    "TRIM({}) = 'x'",
    "{} LIKE 'x'",
    "{} ~ 'x'",
    "POSITION('a' IN {}) = 1",
    "REVERSE({}) = 'x'",
    "SPLIT_PART({}, 'a', 1) = 'x'",
    "LPAD({}, 3, 'a') = 'x'",
    "TRANSLATE({}, 'a', 'b') = 'x'",
    "ASCII({}) = 3",
    "STARTS_WITH({}, 'a')",
    "CONCAT_WS('a', {}) = 'x'",
    "CONCAT({}) = 'x'",
    "{} ",
    "",
    " 'a' = 'x'",
    "REPEAT({}, 2) = 'x'",
    "INITCAP({}) = 'x'",
    "TO_CHAR({}, 'YYYY') = 'x'",
    "LEFT('abc', {}) = 'x'",
    "SUBSTRING('abc', {}) = 'x'",
    "{} = 'x'",
    "{} = 1",
    "{} = TRUE",
    "{} IN ('x')",
    "{} IN (1)",
    "{} BETWEEN 1 AND 2",
    "{} IS DISTINCT FROM 1",
    "NULLIF({}, 1) IS NULL",
    "COALESCE({}, 1) = 1",
    "GREATEST({}, 1) = 1",
    "CASE WHEN id = 1 THEN {} ELSE 1 END = 1",
    "CASE {} WHEN 1 THEN 1 END = 1",
    "({}, 1) = (1, 1)",
    "{}::varchar = 'x'",
    "{}::char(2) = 'x'",
    "{}::integer = 3",
    "{}::smallint = 3",
    "{}::boolean",
    "{}::numeric = 3",
    "{}::numeric(3,1) = 3",
    "{}::real = 3",
    "{}::date = DATE '2020-01-01'",
    "{}::timestamp = DATE '2020-01-01'",
    "{} + 1 > 1",
    "- {} > 1",
    "{} * {} > 1",
    "{} / 2 = 1",
    "{} % 2 = 1",
    "ABS({}) = 1",
    "SIGN({}) = 1",
    "ROUND({}) = 1",
    "FLOOR({}) = 1",
    "SQRT({}) = 1",
    "LN({}) = 1",
    "EXP({}) = 1",
    "POWER({}, 2) = 1",
    "WIDTH_BUCKET({}, 1, 2, 3) = 1",
    "TRUNC({}, 1) = 1",
    "EXTRACT(YEAR FROM {}) = 1",
    "DATE_TRUNC('day', {}) = DATE '2020-01-01'",
    "{} + INTERVAL '1 month' > DATE '2020-01-01'",
    "AGE({}) > INTERVAL '1 day'",
    "{} - DATE '2020-01-01' = 3",
    "MAKE_DATE({}, 1, 1) = DATE '2020-01-01'",
    "{} AT TIME ZONE 'UTC' > DATE '2020-01-01'",
]


@pytest.fixture(scope="module")
def engine() -> Iterator[duckdb.DuckDBPyConnection]:
    values = ", ".join(f"{value} AS {name}" for name, (_, value) in COLUMNS.items())
    types = {"double precision": "DOUBLE"}
    columns = ", ".join(f"{name} {types.get(type, type)}" for name, (type, _) in COLUMNS.items())
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (id INTEGER, {columns})")
        connection.execute(f"INSERT INTO t SELECT 1, {values}")
        yield connection


@pytest.mark.parametrize("column", COLUMNS)
def test_what_is_not_refused_does_not_fail_at_the_engine(
    engine: duckdb.DuckDBPyConnection, column: str
) -> None:
    answered = 0
    for condition in CONDITIONS:
        try:
            found = dp4sql.explain(
                POLICY, f"SELECT COUNT(*) FROM t WHERE {condition.replace('{}', column)}"
            )
        except Dp4sqlError:
            continue
        for read in found.reads:
            engine.execute(read).fetchall()
            answered += 1
    assert answered


@pytest.mark.parametrize(
    "condition",
    ["w IS TRUE", "w IS NOT FALSE", "n IS TRUE", "LEFT(x, 3) = 'x'", "RIGHT(n, 1) = '0'"],
)
def test_other_types_are_refused(condition: str) -> None:
    with pytest.raises(DatatypeMismatch):
        dp4sql.explain(POLICY, f"SELECT COUNT(*) FROM t WHERE id = 5 AND {condition}")


@pytest.mark.parametrize("text", ["CAST(s AS text)", "s || ''", "CONCAT(s)"])
def test_intervals_are_no_texts(text: str) -> None:
    """'1 month' is equal to '30 days': which of the two stands for a group depends on the order of rows, and a
    value that goes by it would move twice as far as its bound."""
    with pytest.raises(Unsupported, match="interval"):
        dp4sql.explain(
            POLICY,
            f"SELECT SUM(CASE WHEN {text} = '30 days' THEN 1 ELSE -1 END) FROM (SELECT DISTINCT s FROM t) q",
        )
