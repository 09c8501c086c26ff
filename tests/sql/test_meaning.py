"""The SQL that runs means what the client's SQL means: joins keep their order where order matters."""

from __future__ import annotations

import datetime

import duckdb
import pytest

import dp4sql
from dp4sql.algebra.types import TIMESTAMP, TIMESTAMPTZ
from dp4sql.pipeline.preparation import explain
from dp4sql.sql.dialects import POSTGRES
from dp4sql.sql.literals import read

INTEGER = {"type": "integer", "range": [0, 9]}
TABLES = {name: {"key": [name], "rows": 3, "columns": {name: INTEGER}} for name in "abc"}
POLICY = {
    "dp4sql": 1,
    "tables": TABLES,
    "policies": {
        f"p{name}": {"entity": name, "epsilon": 1, "labels": {name: "del"}} for name in "abc"
    },
}


@pytest.mark.parametrize("column", ["a", "b", "c", "*"])
@pytest.mark.parametrize(
    "source",
    [
        "a CROSS JOIN b LEFT JOIN c ON a = c",
        "a CROSS JOIN b RIGHT JOIN c ON a = c",
        "a CROSS JOIN b FULL JOIN c ON a = c",
        "a, b RIGHT JOIN c ON b = c",
        "a, b FULL JOIN c ON b = c",
        "a RIGHT JOIN b ON a = b CROSS JOIN c",
    ],
)
def test_outer_joins_pad_what_stands_before_them(source: str, column: str) -> None:
    sql = f"SELECT COUNT({column}) FROM {source}"
    (read,) = dp4sql.explain(POLICY, sql).reads
    with duckdb.connect() as engine:
        for table, rows in {"a": [1, 2], "b": [2, 3], "c": [1, 4, 5]}.items():
            engine.execute(f"CREATE TABLE {table} ({table} INTEGER)")
            engine.executemany(f"INSERT INTO {table} VALUES (?)", [[row] for row in rows])
        assert engine.execute(read).fetchall() == engine.execute(sql).fetchall()


PARENTS = {
    "dp4sql": 1,
    "tables": {
        "p": {
            "key": ["k"],
            "rows": 9,
            "columns": {"k": INTEGER, "x": {**INTEGER, "nullable": True}},
        },
        "c": {
            "key": ["id"],
            "foreign_keys": {"k": "p"},
            "max_frequency": {"k": 3, "y": 3},
            "columns": {
                "id": INTEGER,
                "k": {**INTEGER, "nullable": True},
                "y": {**INTEGER, "nullable": True},
            },
        },
    },
    "policies": {"owner": {"entity": "p", "epsilon": 1, "labels": {"p": "del", "c": "del"}}},
}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(*) FROM p WHERE x = 1 OR EXISTS (SELECT 1 FROM c WHERE c.k = p.k)",
        "SELECT COUNT(*) FROM p WHERE x = 1 OR NOT EXISTS (SELECT 1 FROM c WHERE c.k = p.k AND y > 1)",
        "SELECT COUNT(*) FROM p WHERE NOT (x = 1 OR EXISTS (SELECT 1 FROM c WHERE c.k = p.k))",
        "SELECT COUNT(*) FROM p WHERE k > 3 OR x IN (SELECT y FROM c)",
        "SELECT COUNT(*) FROM p WHERE k > 3 OR (x = ANY (SELECT y FROM c) AND k IN (SELECT k FROM c))",
        "SELECT COUNT(*) FROM c WHERE y > 1 OR k IN (SELECT k FROM p WHERE x > 1)",
        "SELECT COUNT(*) FROM c WHERE y > 1 OR EXISTS (SELECT 1 FROM p WHERE p.k = c.k AND x > 1)",
        "SELECT COUNT(*) FROM c WHERE y > 1 OR NOT EXISTS (SELECT 1 FROM p WHERE p.k = c.k AND x > 1)",
        "SELECT COUNT(*) FROM p WHERE k > 3 OR k IN (SELECT k FROM c GROUP BY k HAVING COUNT(*) > 1)",
        "SELECT COUNT(*) FROM p WHERE k > 3 OR 1 < (SELECT COUNT(*) FROM c WHERE c.k = p.k)",
        "SELECT SUM(CASE WHEN EXISTS (SELECT 1 FROM c WHERE c.k = p.k) THEN 1 ELSE 0 END) FROM p",
        "SELECT COUNT(*) FILTER (WHERE NOT EXISTS (SELECT 1 FROM c WHERE c.k = p.k)) FROM p",
        "SELECT SUM((SELECT MAX(y) FROM c WHERE c.k = p.k)) FROM p",
        "SELECT COUNT(*) FROM p WHERE (k = 1 AND EXISTS (SELECT 1 FROM c WHERE c.k = p.k)) "
        "OR (k = 2 AND NOT EXISTS (SELECT 1 FROM c WHERE c.k = p.k))",
    ],
)
def test_subqueries_within_expressions(query: str) -> None:
    (read,) = dp4sql.explain(PARENTS, query).reads
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE p (k INTEGER, x INTEGER)")
        engine.execute("CREATE TABLE c (id INTEGER, k INTEGER, y INTEGER)")
        engine.executemany(
            "INSERT INTO p VALUES (?, ?)", [(1, 1), (2, None), (3, 2), (4, 3), (5, 5), (6, None)]
        )
        engine.executemany(
            "INSERT INTO c VALUES (?, ?, ?)",
            [(1, 1, 1), (2, 1, 2), (3, 2, None), (4, None, 3), (5, None, None), (6, 5, 2)],
        )
        assert engine.execute(read).fetchall() == engine.execute(query).fetchall()


@pytest.mark.parametrize("negation", ["", "NOT "])
@pytest.mark.parametrize(
    "test",
    [
        "x = ANY(ARRAY[1, 2])",
        "x = ANY(ARRAY[1, NULL])",
        "x <> ALL(ARRAY[1, 2])",
        "x <> ALL(ARRAY[1, NULL])",
        "x > ALL(ARRAY[1, 2])",
        "x >= ANY(ARRAY[2, 3])",
        "x <> ANY(ARRAY[2, 3])",
        "x = ANY(ARRAY[]::INT[])",
        "x > ALL(ARRAY[]::INT[])",
        "x = ANY(ARRAY[k, 2])",
    ],
)
def test_comparisons_with_arrays(negation: str, test: str) -> None:
    query = f"SELECT COUNT(*) FROM p WHERE {negation}({test})"
    (read,) = dp4sql.explain(PARENTS, query).reads
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE p (k INTEGER, x INTEGER)")
        rows = [(1, 1), (2, None), (3, 2), (4, 3), (5, 5), (6, None)]
        engine.executemany("INSERT INTO p VALUES (?, ?)", rows)
        assert engine.execute(read).fetchall() == engine.execute(query).fetchall()


def test_a_real_is_compared_with_a_list_as_with_one_number() -> None:
    """In double precision: narrowed to reals, 0.1 would be found and 1e-38 would be NULL."""
    columns = {"id": INTEGER, "r": "real"}
    policy = {
        "dp4sql": 1,
        "tables": {"t": {"key": ["id"], "columns": columns}},
        "policies": {"p": {"entity": "t", "epsilon": 1, "labels": {"t": "del"}}},
    }
    sql = "SELECT COUNT(*) FROM t WHERE r NOT IN (0.1, 0.00000000000000000000000000000000000001)"
    (ran,) = explain(dp4sql.load_policy(policy), sql, dialect=POSTGRES).reads
    assert "DOUBLE PRECISION" in ran
    assert "REAL" not in ran


def test_a_zone_in_a_timestamp_without_one_is_passed_over() -> None:
    midnight = datetime.datetime(2020, 1, 1)
    assert read("2020-01-01 00:00:00+02", TIMESTAMP) == midnight
    assert read("2020-01-01 00:00:00+02", TIMESTAMPTZ) != midnight
