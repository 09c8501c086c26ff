"""`enforce: truncate`: the bound holds whatever the engine holds, and displaced rows count.

Random shops whose data breaks the bound; the SQL that the proxy renders runs on both neighbours, so that
the truncation tried is the one that runs.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import duckdb
import pytest

import dp4sql
from dp4sql.errors import NoBins, PolicyError
from dp4sql.sql.dialects import DUCKDB
from dp4sql.sql.render.truncation import table_source

COLUMNS = {
    "buyer": ("b", "city"),
    "sale": ("s", "b", "shop", "amount"),
    "item": ("s", "n", "price"),
}
QUERIES = [
    "SELECT COUNT(*) FROM sale",
    "SELECT SUM(amount) FROM sale",
    "SELECT shop, COUNT(*) FROM sale GROUP BY shop",
    "SELECT COUNT(DISTINCT shop) FROM sale",
    "SELECT city, SUM(amount) FROM sale JOIN buyer USING (b) GROUP BY city",
    "SELECT COUNT(*) FROM buyer WHERE EXISTS (SELECT 1 FROM sale WHERE sale.b = buyer.b AND amount > 3)",
    "SELECT SUM(price) FROM item",
    "SELECT shop, COUNT(*) FROM item JOIN sale USING (s) GROUP BY shop",
    "SELECT COUNT(*) FROM (SELECT b, COUNT(*) AS n FROM sale GROUP BY b HAVING COUNT(*) > 1) AS x",
]
Tables = Mapping[str, list[tuple[int | None, ...]]]


def shop(sale: dict[str, Any], labels: dict[str, Any], items: bool = True) -> dict[str, Any]:
    """Buyers own sales, and these items. Five items a sale, at most."""
    tables: dict[str, Any] = {
        "buyer": {
            "key": ["b"],
            "columns": {"b": "integer", "city": {"type": "integer", "domain": [1, 2]}},
        },
        "sale": {
            "key": ["s"],
            "foreign_keys": {"b": "buyer"},
            "max_frequency": sale,
            "columns": {
                "s": "integer",
                "b": {"type": "integer", "nullable": True},
                "shop": {"type": "integer", "domain": [1, 2, 3]},
                "amount": {"type": "integer", "range": [0, 5]},
            },
        },
    }
    if items:
        tables["item"] = {
            "key": ["s", "n"],
            "foreign_keys": {"s": "sale"},
            "max_frequency": {"s": 5},
            "columns": {
                "s": "integer",
                "n": "integer",
                "price": {"type": "integer", "range": [0, 9]},
            },
        }
        labels = {**labels, "item": "del"}
    policy = {"entity": "buyer", "epsilon": 1, "labels": {"buyer": "del", **labels}}
    return {"dp4sql": 1, "tables": tables, "policies": {"p": policy}}


TRUNCATED = {"rows": 2, "enforce": "truncate"}
POLICIES: dict[str, dict[str, Any]] = {
    "by owner": shop({"b": TRUNCATED}, {"sale": "del"}),
    "by shop": shop({"shop": TRUNCATED, "b": 4}, {"sale": "del"}, items=False),
    "moving": shop({"shop": TRUNCATED, "b": 4}, {"sale": {"rep": ["b", "shop"]}}, items=False),
}


def filled(rng: random.Random, with_items: bool) -> Tables:
    buyers = [(b, rng.randint(1, 2)) for b in range(1, 4)]
    owners = [b for b, _ in buyers for _ in range(rng.randint(0, 4))]
    owners += [None] * rng.randint(0, 2)  # type: ignore[list-item]
    sales = [(i, b, rng.randint(1, 3), rng.randint(0, 5)) for i, b in enumerate(owners)]
    items = [(s, n, rng.randint(0, 9)) for s, *_ in sales for n in range(rng.randint(0, 3))]
    return {"buyer": buyers, "sale": sales, **({"item": items} if with_items else {})}


def without(rng: random.Random, tables: Tables, who: int, moves: bool) -> Tables:
    """The neighbour in which buyer `who` is gone; sales go as well, or move elsewhere."""
    buyers = [row for row in tables["buyer"] if row[0] != who]
    keep = [row for row in tables["sale"] if row[1] != who]
    if moves:
        spare = [b for b, _ in buyers for _ in range(4 - sum(r[1] == b for r in keep))]
        rng.shuffle(spare)
        keep += [
            (s, spare.pop() if spare else None, rng.randint(1, 3), amount)
            for s, b, _, amount in tables["sale"]
            if b == who
        ]
    sales = {row[0] for row in keep}
    items = [row for row in tables.get("item", []) if row[0] in sales]
    return {"buyer": buyers, "sale": keep, **({"item": items} if "item" in tables else {})}


def answers(
    connection: duckdb.DuckDBPyConnection,
    tables: Tables,
    views: Mapping[str, str],
    asked: list[str],
) -> list[dict[Any, float]]:
    """What the queries say of the rows that the proxy would see of `tables`."""
    connection.execute("SET search_path = 'main'")
    for name, rows in tables.items():
        columns = ", ".join(f"{c} INTEGER" for c in COLUMNS[name])
        connection.execute(f"CREATE OR REPLACE TABLE {name} ({columns})")
        if rows:
            connection.executemany(
                f"INSERT INTO {name} VALUES ({', '.join('?' for _ in rows[0])})", rows
            )
    for name, source in views.items():
        connection.execute(f"CREATE OR REPLACE TABLE seen.{name} AS SELECT * FROM {source} AS t")
    connection.execute("SET search_path = 'seen'")
    return [
        {row[:-1]: float(row[-1] or 0) for row in connection.execute(sql).fetchall()}
        for sql in asked
    ]


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_no_neighbours_are_further_apart_than_the_bound(name: str) -> None:
    policies = dp4sql.load_policy(POLICIES[name])
    tables = policies.schema.tables
    views = {t: table_source(table, DUCKDB) for t, table in tables.items()}
    asked = [sql for sql in QUERIES if "item" in tables or "item" not in sql]
    bounds = [dp4sql.explain(policies, sql).aggregates[-1].bounds["p"] for sql in asked]
    most = [0.0] * len(asked)
    rng = random.Random(5)
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA seen")
        for _ in range(25):
            before = filled(rng, "item" in tables)
            after = without(rng, before, rng.randint(1, 3), moves=name == "moving")
            pairs = (answers(connection, side, views, asked) for side in (before, after))
            for i, (a, b) in enumerate(zip(*pairs, strict=True)):
                distance = sum(abs(a.get(k, 0) - b.get(k, 0)) for k in a.keys() | b.keys())
                assert distance <= bounds[i], (asked[i], before, after)
                most[i] = max(most[i], distance)
    assert most[0] >= 2, "the databases tried show nothing"


def test_a_displaced_row_is_replaced_and_not_deleted() -> None:
    """One sale less in a shop lets another one in: the count may stay, the sum and the groups move."""
    policies = dp4sql.load_policy(POLICIES["by shop"])
    found = dp4sql.explain(policies, "SELECT SUM(amount) FROM sale")
    assert "X-Trunc" in found.derivations["p"]
    assert found.aggregates[0].bounds["p"] == 4 * 5
    owner = dp4sql.explain(dp4sql.load_policy(POLICIES["by owner"]), "SELECT SUM(amount) FROM sale")
    assert "X-Trunc" not in owner.derivations["p"]
    assert owner.aggregates[0].bounds["p"] == 2 * 5


def test_no_bins_come_from_rows_that_private_values_pick() -> None:
    """The numbers of sales are public where they only move, but which sales are kept follows from where they move."""
    sql = "SELECT s, COUNT(*) FROM sale GROUP BY s"
    moving = shop({"b": 4}, {"sale": {"rep": ["b", "shop"]}}, items=False)
    assert dp4sql.explain(dp4sql.load_policy(moving), sql).public
    with pytest.raises(NoBins):
        dp4sql.explain(dp4sql.load_policy(POLICIES["moving"]), sql)


@pytest.mark.parametrize(
    ("content", "found", "hint"),
    [
        (
            shop({"b": TRUNCATED}, {"sale": {"rep": ["b"]}}, items=False),
            "any number of its rows may move",
            "label sale del under policy p",
        ),
        (
            shop({"shop": TRUNCATED, "b": 4}, {"sale": "del"}),
            "lets rows of others in and out under policy p, and item refers to sale",
            "truncate by the reference to the owner",
        ),
        (
            shop({"shop": TRUNCATED}, {"sale": "del"}, items=False),
            "any number of its rows may make room for others",
            "declare max_owned or a trusted bound",
        ),
        (
            shop({"b": TRUNCATED, "shop": TRUNCATED}, {"sale": "del"}, items=False),
            "sale is truncated twice, by b and by shop",
            "truncate by one bound, and trust the other",
        ),
    ],
)
def test_a_truncation_that_bounds_nothing_is_refused(
    content: dict[str, Any], found: str, hint: str
) -> None:
    with pytest.raises(PolicyError) as caught:
        dp4sql.load_policy(content)
    (problem,) = caught.value.problems
    assert found in problem.found
    assert hint in problem.hint
    assert problem.rule in ("truncation", None)


@pytest.mark.parametrize("column", ["place", "Place", "PLACE"])
def test_a_column_called_like_the_rank_does_not_stand_in_for_it(column: str) -> None:
    """DuckDB takes the first column of a name: every row whose own place was low enough was kept."""
    sale = {
        "key": ["s"],
        "max_frequency": {"b": TRUNCATED},
        "columns": {"s": "integer", "b": "integer", column: "integer", "place1": "integer"},
    }
    policies = dp4sql.load_policy(
        {
            "dp4sql": 1,
            "tables": {"sale": sale},
            "policies": {"p": {"entity": "sale", "epsilon": 1, "labels": {"sale": "del"}}},
        }
    )
    source = table_source(policies.schema.table("sale"), DUCKDB)
    with duckdb.connect() as connection:
        connection.execute(
            f'CREATE TABLE sale AS SELECT i AS s, 1 AS b, 0 AS "{column}", 0 AS place1 FROM range(9) AS r(i)'
        )
        assert connection.execute(f"SELECT COUNT(*) FROM {source} AS t").fetchone() == (2,)
