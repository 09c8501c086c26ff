"""Faults that users of such systems have met, one test each: what was asked, and what a right proxy does."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

import dp4sql
from dp4sql.data import tpch, university
from dp4sql.errors import BudgetExceeded, DatatypeMismatch, Dp4sqlError
from dp4sql.pipeline import Pipeline
from dp4sql.policy.labels import PolicySet
from tests.wire.live import proxy

POLICIES = Path(__file__).parents[2] / "policies"
Row = tuple[Any, ...]


def policy(name: str, **changes: Any) -> PolicySet:
    """A shipped policy, without budgets unless `changes` has one."""
    found = dp4sql.load_policy(POLICIES / f"{name}.yaml")
    each = tuple(replace(p, **{"budget": None, **changes}) for p in found.policies)
    return replace(found, policies=each)


LOUD = {"epsilon": Fraction(10**6)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("reported")
    university.generate(found / "university.duckdb")
    tpch.generate(found / "tpch.duckdb", "0.01")
    return found


class Asked:
    """A shipped policy on its data: answers, truth and bounds."""

    def __init__(self, folder: Path, ledger: Path, file: str, data: str, **changes: Any) -> None:
        self.path = folder / f"{data}.duckdb"
        self.policy = policy(file, **changes)
        self.pipeline: Pipeline = dp4sql.open_pipeline(
            policy=self.policy, database=f"duckdb:///{self.path}", ledger=ledger / f"{file}.ledger"
        )

    def rows(self, sql: str) -> list[Row]:
        return asyncio.run(self.pipeline.query(sql)).rows

    def notices(self, sql: str) -> tuple[str, ...]:
        return asyncio.run(self.pipeline.query(sql)).notices

    def truth(self, sql: str) -> list[Row]:
        with duckdb.connect(str(self.path), read_only=True) as plain:
            return plain.execute(sql).fetchall()

    def bounds(self, sql: str, name: str = "student") -> list[Fraction]:
        return [a.bounds[name] for a in dp4sql.explain(self.policy, sql).aggregates]

    def spent(self, entity: str = "student") -> Fraction:
        return self.pipeline.ledger.spent(self.pipeline.backend.identity, entity, entity)


@pytest.fixture
def asked(folder: Path, tmp_path: Path) -> Iterator[Asked]:
    found = Asked(folder, tmp_path, "university", "university")
    yield found
    asyncio.run(found.pipeline.close())


@pytest.fixture
def exact(folder: Path, tmp_path: Path) -> Iterator[Asked]:
    """So large an epsilon that answers are the truth."""
    found = Asked(folder, tmp_path, "university", "university", **LOUD)
    yield found
    asyncio.run(found.pipeline.close())


@pytest.fixture
def trade(folder: Path, tmp_path: Path) -> Iterator[Asked]:
    found = Asked(folder, tmp_path, "tpch", "tpch")
    yield found
    asyncio.run(found.pipeline.close())


# ---------------------------------------------------------------- bounds


def test_the_summed_expression_is_bounded_and_not_the_column_in_it(asked: Asked) -> None:
    weighed = "SELECT SUM(CASE WHEN uid = 7 THEN 1000000 ELSE 0 END) FROM student"
    assert asked.bounds(weighed) == [1_000_000]


def test_an_average_pays_for_its_sum_and_its_count(asked: Asked) -> None:
    explained = dp4sql.explain(asked.policy, "SELECT AVG(grade) FROM enrollment")
    (average,) = explained.aggregates
    assert [m.kind for m in average.measurements] == ["sum", "count"]
    assert all(m.losses["student"] > Fraction(1, 4) for m in average.measurements)
    assert explained.charges["student"] == 1


def test_counts_of_different_things_stay_different(exact: Asked) -> None:
    sql = """SELECT COUNT(*) AS a, COUNT(review) AS b, COUNT(grade) AS c, COUNT(DISTINCT uid) AS d
             FROM enrollment"""
    (found,) = exact.rows(sql)
    assert found == exact.truth(sql)[0]
    assert len(set(found)) == 4


def test_a_private_column_without_a_range_is_not_summed(trade: Asked) -> None:
    with pytest.raises(Dp4sqlError) as caught:
        trade.rows("SELECT SUM(l_orderkey) FROM lineitem")
    assert "range" in f"{caught.value.message} {caught.value.hint}"
    assert trade.spent("customer") == trade.spent("supplier") == 0


def test_tables_that_share_the_private_key_join_at_the_price_of_one(folder: Path) -> None:
    joined = "SELECT COUNT(*) FROM enrollment JOIN student ON enrollment.uid = student.uid"
    found = dp4sql.explain(policy("university_u"), joined)
    assert found.aggregates[0].bounds["student"] == 6


def test_a_customer_may_have_many_orders(trade: Asked) -> None:
    sql = """SELECT COUNT(*) FROM orders JOIN customer ON o_custkey = c_custkey
             WHERE c_mktsegment = 'BUILDING'"""
    assert trade.bounds(sql, "customer") == [41]


def test_ownership_travels_through_foreign_keys(trade: Asked) -> None:
    sql = "SELECT l_shipmode, COUNT(*) AS n FROM lineitem GROUP BY l_shipmode"
    assert trade.bounds(sql, "customer") == [41 * 7]


def test_a_range_of_one_value_is_exact_and_has_an_interval(trade: Asked) -> None:
    sql = "SELECT SUM(o_shippriority) AS s FROM orders"
    (sum_,) = dp4sql.explain(trade.policy, sql).aggregates
    assert sum_.measurements[0].half_width == 0
    assert trade.rows(sql) == [(0,)]
    assert not any("nan" in notice.lower() for notice in trade.notices(sql))


@pytest.mark.parametrize(
    "counted",
    ["TRY_CAST(name AS INTEGER)", "CAST(name AS INTEGER)", "CASE WHEN name LIKE 'A%' THEN 1 END"],
)
def test_what_becomes_null_is_private_under_a_known_size(counted: str) -> None:
    people = {
        "dp4sql": 1,
        "tables": {
            "faculty": {
                "key": ["fid"],
                "rows": 100,
                "columns": {"fid": "integer", "name": "text", "salary": "integer"},
            }
        },
        "policies": {
            "p": {"entity": "faculty", "epsilon": 1, "labels": {"faculty": {"rep": "all"}}}
        },
    }
    found = dp4sql.explain(dp4sql.load_policy(people), f"SELECT COUNT({counted}) FROM faculty")
    assert found.aggregates[0].bounds["p"] == 1


def test_a_bin_that_is_null_is_private_under_a_known_size(asked: Asked) -> None:
    sql = "SELECT COUNT(CASE WHEN salary > 100000 THEN 1 END) FROM faculty"
    assert asked.bounds(sql, "faculty") == [1]


# ---------------------------------------------------------------- answers


def test_having_is_never_dropped(asked: Asked) -> None:
    with pytest.raises(Dp4sqlError) as caught:
        asked.rows("SELECT major, COUNT(*) AS n FROM student GROUP BY major HAVING nosuch > 1")
    assert caught.value.sqlstate == "42703"
    assert asked.spent() == 0


def test_all_public_groups_are_answered(asked: Asked) -> None:
    sql = "SELECT sid, COUNT(*) AS n FROM enrollment GROUP BY sid"
    assert len(asked.rows(sql)) == university.SECTIONS


def test_private_groups_are_refused_and_not_left_out(asked: Asked) -> None:
    with pytest.raises(Dp4sqlError) as caught:
        asked.rows("SELECT name, COUNT(*) AS n FROM student GROUP BY name")
    assert "student.name" in caught.value.message


def test_nothing_is_one_row_of_noise(asked: Asked) -> None:
    ((total, count),) = asked.rows("SELECT SUM(amount), COUNT(*) FROM scholarship WHERE 1 = 0")
    assert abs(total) < 100_000 * 40
    assert count == 0  # how many awards there are is public


def test_quoted_names_keep_their_labels(asked: Asked) -> None:
    view = 'WITH "grades-2026" AS (SELECT uid, grade AS "final-grade" FROM enrollment)'
    quoted = f'{view} SELECT AVG("final-grade") AS "the mean" FROM "grades-2026"'
    assert asked.bounds(quoted) == asked.bounds("SELECT AVG(grade) FROM enrollment") == [600]
    with pytest.raises(Dp4sqlError) as caught:
        asked.rows(f'{view} SELECT "final-grade" FROM "grades-2026"')
    assert caught.value.sqlstate == "42501"


def test_quoted_names_of_tables_in_the_policy(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "d.duckdb")) as connection:
        connection.execute('CREATE TABLE "grades-2026" (uid INTEGER, "final-grade" INTEGER)')
        connection.execute('INSERT INTO "grades-2026" VALUES (1, 50), (2, 70)')
    content = {
        "dp4sql": 1,
        "tables": {
            "grades-2026": {
                "key": ["uid"],
                "columns": {
                    "uid": "integer",
                    "final-grade": {"type": "integer", "range": [0, 100]},
                },
            }
        },
        "policies": {
            "p": {"entity": "grades-2026", "epsilon": 10**6, "labels": {"grades-2026": "del"}}
        },
    }
    pipeline = dp4sql.open_pipeline(policy=content, database=f"duckdb:///{tmp_path}/d.duckdb")
    ((mean,),) = asyncio.run(pipeline.query('SELECT AVG("final-grade") FROM "grades-2026"')).rows
    assert float(mean) == pytest.approx(60, abs=0.01)  # type: ignore[arg-type]


def test_small_counts_are_not_biased(asked: Asked) -> None:
    sql = "SELECT COUNT(*) FROM student WHERE uid = 1 AND uid <> {}"  # a repeat is not drawn again
    found = [asked.rows(sql.format(-n))[0][0] for n in range(300)]
    assert min(found) < 0
    assert abs(statistics.mean(found) - 1) < 0.9  # the noise of the mean is 0.08


def test_shares_of_a_budget_add_up(folder: Path, tmp_path: Path) -> None:
    tenths = {"budget": Fraction(1), "epsilon": Fraction("0.1")}
    asked = Asked(folder, tmp_path, "university", "university", **tenths)
    for n in range(10):
        asked.rows(f"SELECT COUNT(*) FROM student WHERE uid > {n}")
    with pytest.raises(BudgetExceeded):
        asked.rows("SELECT COUNT(*) FROM student")
    assert asked.spent() == 1


def test_answers_lie_on_a_grid(trade: Asked) -> None:
    sql = "SELECT SUM(l_extendedprice * (1 - l_discount)) AS r FROM lineitem"
    ((revenue,),) = trade.rows(sql)
    assert isinstance(revenue, Decimal)
    assert (revenue * 10**4) % 1 == 0


def test_public_keys_are_exact_and_free(trade: Asked) -> None:
    sql = "SELECT DISTINCT n_name FROM nation ORDER BY n_name"
    assert [name for (name,) in trade.rows(sql)] == [name for (name,) in trade.truth(sql)]
    assert trade.spent("customer") == trade.spent("supplier") == 0


def test_the_noise_of_an_average_does_not_know_the_true_count(asked: Asked) -> None:
    scales = [
        [m.scale for m in dp4sql.explain(asked.policy, sql).aggregates[0].measurements]
        for sql in (
            "SELECT AVG(amount) FROM scholarship WHERE uid > 100000",
            "SELECT AVG(amount) FROM scholarship WHERE uid > 0",
        )
    ]
    assert scales[0] == scales[1]
    for _ in range(5):
        ((mean,),) = asked.rows("SELECT AVG(amount) FROM scholarship WHERE uid > 100000")
        assert 0 <= mean <= 50_000


def test_an_alias_in_group_by_and_whole_division(exact: Asked) -> None:
    found = exact.rows("SELECT grade / 10 AS bucket, COUNT(*) AS n FROM enrollment GROUP BY bucket")
    wanted = exact.truth("SELECT grade // 10 AS bucket, COUNT(*) AS n FROM enrollment GROUP BY 1")
    assert {k: n for k, n in found if n} == dict(wanted)
    assert [k for k, _ in found] == [*range(11), None]


def test_dates_are_not_averaged(trade: Asked) -> None:
    with pytest.raises(DatatypeMismatch) as caught:
        trade.rows("SELECT AVG(o_orderdate) FROM orders")
    assert "EXTRACT" in (caught.value.hint or "")


def test_several_aggregates_over_one_grouping_share_epsilon(asked: Asked) -> None:
    sql = """SELECT major, COUNT(*) AS n, AVG(e.grade) AS g, SUM(e.review) AS r
             FROM student s JOIN enrollment e ON s.uid = e.uid GROUP BY major"""
    explained = dp4sql.explain(asked.policy, sql)
    shares = {
        (m.kind, m.sql): m.losses["student"] for a in explained.aggregates for m in a.measurements
    }
    assert sum(shares.values()) == 1
    assert len(asked.rows(sql)) == 8
    assert asked.spent() == 1


# ---------------------------------------------------------------- over the wire


def test_catalogs_hold_no_sizes(tmp_path: Path) -> None:
    sql = "SELECT relname, reltuples FROM pg_class WHERE relname = ANY (%s) ORDER BY 1"
    with proxy(tmp_path) as running:
        where = f"host=127.0.0.1 port={running.port} dbname=university user=ann"
        with psycopg.connect(where, autocommit=True) as client:
            found = client.execute(sql, [["student", "scholarship"]]).fetchall()
            assert [name for name, _ in found] == ["scholarship", "student"]
            assert len({size for _, size in found}) == 1
            with pytest.raises(psycopg.Error) as caught:
                client.execute("EXPLAIN ANALYZE SELECT COUNT(*) FROM student WHERE major = 'CS'")
            assert caught.value.sqlstate == "0A000"
            plan = "\n".join(
                line for (line,) in client.execute("EXPLAIN SELECT COUNT(*) FROM student")
            )
        for word in ("cost=", "rows=", "actual time"):
            assert word not in plan
