"""A bound takes a view of public rows for fixed. Among equal rows an engine takes which it likes, so all columns
decide: the same rows, stored in another order, give the same view."""

from __future__ import annotations

import duckdb
import pytest

import dp4sql
from dp4sql.errors import Unsupported

POLICY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "t": {"key": ["id"], "columns": {"id": "integer", "kind": "integer"}},
            "w": {"key": ["kind"], "rows": 10, "columns": {"kind": "integer", "label": "text"}},
        },
        "policies": {"p": {"entity": "t", "epsilon": 1, "labels": {"t": "del", "w": "pub"}}},
    }
)
FULL = "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
VIEWS = [
    "SELECT kind FROM w ORDER BY label LIMIT 4",
    "SELECT kind, 7 AS n FROM w LIMIT 3 OFFSET 2",
    "SELECT kind FROM (SELECT kind, label FROM w LIMIT 5) a ORDER BY label LIMIT 2",
    "SELECT DISTINCT ON (label) kind FROM w",
    "SELECT DISTINCT ON (label) kind FROM w ORDER BY label DESC",
    "SELECT kind FROM (SELECT kind, ROW_NUMBER() OVER (ORDER BY label) AS n FROM w) a WHERE n < 4",
    "SELECT LAG(kind) OVER (ORDER BY label) AS kind FROM w",
    "SELECT FIRST_VALUE(kind) OVER (PARTITION BY label) AS kind FROM w",
    "SELECT LAST_VALUE(kind) OVER (ORDER BY label) AS kind FROM w",
    f"SELECT LAST_VALUE(kind) OVER (ORDER BY label {FULL}) AS kind FROM w",
    "SELECT SUM(kind) OVER (ORDER BY label ROWS 1 PRECEDING) AS kind FROM w",
]
TIED = [(i, "even" if i % 2 == 0 else "odd") for i in range(10)]


def _kinds(sql: str, rows: list[tuple[int, str]]) -> list[int]:
    """How often each kind meets the view."""
    (read,) = dp4sql.explain(POLICY, sql).reads
    found = []
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE w (kind INTEGER, label VARCHAR)")
        connection.executemany("INSERT INTO w VALUES (?, ?)", rows)
        for kind in range(20):
            connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT 1 AS id, {kind} AS kind")
            found.append(connection.execute(read).fetchall()[0][0])
    return found


@pytest.mark.parametrize("view", VIEWS)
def test_the_order_of_storage_decides_nothing(view: str) -> None:
    sql = f"SELECT COUNT(*) FROM t JOIN ({view}) v ON t.kind = v.kind"
    found = _kinds(sql, TIED)
    assert sum(found) > 0
    assert _kinds(sql, TIED[::-1]) == found
    assert _kinds(sql, TIED[5:] + TIED[:5]) == found


def test_ranks_and_running_sums_keep_their_peers() -> None:
    ranks = "SELECT RANK() OVER (ORDER BY label) AS kind FROM w"
    sums = "SELECT COUNT(*) OVER (ORDER BY label) AS kind FROM w"
    count = "SELECT COUNT(*) FROM t JOIN ({}) v ON t.kind = v.kind"
    assert [i for i, n in enumerate(_kinds(count.format(ranks), TIED)) if n] == [1, 6]
    assert [i for i, n in enumerate(_kinds(count.format(sums), TIED)) if n] == [5, 10]


def test_one_of_many_peers_is_refused() -> None:
    view = "SELECT NTH_VALUE(kind, 2) OVER (ORDER BY label) AS kind FROM w"
    with pytest.raises(Unsupported, match="several rows that may be equal"):
        dp4sql.explain(POLICY, f"SELECT COUNT(*) FROM t JOIN ({view}) v ON t.kind = v.kind")


PARTLY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "w": {
                "key": ["kind"],
                "rows": 10,
                "columns": {"kind": "integer", "label": "text", "pay": "integer"},
            },
        },
        "policies": {"p": {"entity": "w", "epsilon": 1, "labels": {"w": {"rep": ["pay"]}}}},
    }
)
SHOWN = [
    "SELECT kind FROM w",
    "SELECT label, kind FROM w ORDER BY label",
    "SELECT kind FROM w ORDER BY label DESC",
    "SELECT kind FROM w LIMIT 3",
    "SELECT kind, 1 FROM w ORDER BY label OFFSET 2",
    "SELECT DISTINCT label FROM w",
    "SELECT kind FROM (SELECT kind, label FROM w ORDER BY label) a",
    "SELECT a.kind, b.kind FROM w a JOIN w b ON a.label = b.label",
    "SELECT kind FROM w UNION ALL SELECT kind + 1 FROM w",
    "SELECT label, COUNT(*) FROM w GROUP BY label",
]


@pytest.mark.parametrize("sql", SHOWN)
def test_public_columns_come_in_no_order_of_private_ones(sql: str) -> None:
    """Tables are stored by pay as often as not: the order of their rows is that of what is private."""
    (read,) = dp4sql.explain(PARTLY, sql).reads
    found = []
    for rows in (TIED, TIED[::-1], TIED[5:] + TIED[:5]):
        with duckdb.connect() as connection:
            connection.execute("CREATE TABLE w (kind INTEGER, label VARCHAR, pay INTEGER)")
            connection.executemany("INSERT INTO w VALUES (?, ?, 0)", rows)
            found.append(connection.execute(read).fetchall())
    assert found[0]
    assert found[1:] == found[:1] * 2
