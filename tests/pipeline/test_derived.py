"""dp4sql.reuse = derived: answers that follow from those that are kept, and no others."""

from __future__ import annotations

import asyncio
import copy
import datetime
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import dp4sql
from dp4sql.mechanisms.kept.derived import wider
from dp4sql.noise import half_width
from dp4sql.pipeline import Pipeline
from dp4sql.settings import Settings
from tests.pipeline.test_repeats import MAJORS, ask, said, spent

POLICY = {
    "dp4sql": 1,
    "tables": {
        "person": {
            "key": ["id"],
            "columns": {
                "id": "integer",
                "kind": {"type": "text", "domain": ["a", "b", "c"], "other": "rest"},
                "stars": {"type": "integer", "domain": [1, 2, 3], "nullable": True},
                "gone": {"type": "boolean", "nullable": True},
                "born": {"type": "date", "domain": ["2000-01-01", "2000-01-02"]},
                "cost": {"type": "numeric(6,2)", "range": [0, 100], "nullable": True},
            },
        }
    },
    "policies": {"person": {"entity": "person", "epsilon": 1, "labels": {"person": "del"}}},
}
WIDE = "SELECT kind, stars, gone, COUNT(*) AS n, SUM(cost) AS s FROM person WHERE id > 3 GROUP BY kind, stars, gone"
FROM = "FROM person WHERE id > 3"


@pytest.fixture
def people(tmp_path: Path) -> Iterator[Pipeline]:
    with duckdb.connect(str(tmp_path / "people.duckdb")) as db:
        db.execute(
            "CREATE TABLE person AS SELECT i::INTEGER AS id, chr((97 + i % 5)::INTEGER) AS kind, "
            "nullif(i % 4, 0)::INTEGER AS stars, nullif(i % 3, 0) = 1 AS gone, "
            "DATE '2000-01-01' + (i % 2)::INTEGER AS born, (i % 90)::DECIMAL(6,2) AS cost FROM range(400) t(i)"
        )
    opened = dp4sql.open_pipeline(
        policy=POLICY, database=f"duckdb:///{tmp_path}/people.duckdb", ledger=tmp_path / "ledger"
    )
    yield opened
    asyncio.run(opened.close())


Groups = dict[tuple[Any, ...], tuple[int, Decimal]]


def kept(people: Pipeline) -> Groups:
    """The noisy count and sum of each group of WIDE."""
    rows = ask(people, WIDE).rows
    return {tuple(row[:3]): (row[3], row[4]) for row in rows}  # type: ignore[misc]


def free(
    pipeline: Pipeline, sql: str, epsilon: str = "0.5"
) -> tuple[list[tuple[object, ...]], str]:
    before = spent(pipeline)
    answer = ask(pipeline, sql, reuse="derived", epsilon=epsilon)
    assert spent(pipeline) == before, said(answer)
    return answer.rows, said(answer)  # type: ignore[return-value]


def test_some_of_the_groups(pipeline: Pipeline) -> None:
    counts = dict(ask(pipeline, MAJORS).rows)
    for condition, wanted in (
        ("major IN ('CS', 'Math')", {"CS", "Math"}),
        ("major = 'CS'", {"CS"}),
        ("NOT (major = 'CS' OR major = 'Math')", set(counts) - {"CS", "Math"}),
        ("major <> 'CS'", set(counts) - {"CS"}),
    ):
        sql = f"SELECT major, COUNT(*) AS n FROM student WHERE {condition} GROUP BY major"
        rows, notice = free(pipeline, sql, "1")
        assert dict(rows) == {m: counts[m] for m in wanted}
        assert "taken from an answer released" in notice
        assert "noise scale 1," in notice
        assert "up to" not in notice


def test_a_group_without_groups(pipeline: Pipeline) -> None:
    counts = dict(ask(pipeline, MAJORS).rows)
    rows, _ = free(pipeline, "SELECT COUNT(*) FROM student WHERE major = 'CS'", "1")
    assert rows == [(counts["CS"],)]


def test_sums_over_groups(people: Pipeline) -> None:
    groups = kept(people)
    assert len(groups) == 4 * 4 * 3
    rows, notice = free(people, f"SELECT COUNT(*) AS n, SUM(cost) AS s {FROM}")
    assert rows == [tuple(map(sum, zip(*groups.values(), strict=True)))]
    assert "up to 48 noisy numbers" in notice
    rows, notice = free(people, f"SELECT stars, SUM(cost) {FROM} GROUP BY stars")
    assert dict(rows) == {  # type: ignore[arg-type]
        stars: sum(s for (_, other, _), (_, s) in groups.items() if other == stars)
        for stars in (1, 2, 3, None)
    }
    assert "up to 12 noisy numbers" in notice


CONDITIONS = [
    "stars <> 2",
    "NOT stars = 2",
    "stars IN (1, 7)",
    "NOT (stars IN (1) AND gone = true)",
    "(stars = 1 OR gone = true)",
    "gone <> false AND stars = 3",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_are_decided_as_in_sql(people: Pipeline, condition: str) -> None:
    groups = kept(people)
    rows, _ = free(people, f"SELECT COUNT(*) {FROM} AND {condition}")
    with duckdb.connect() as db:

        def meets(group: tuple[Any, ...]) -> bool:
            sql = f"SELECT {condition} FROM (SELECT ?::VARCHAR kind, ?::INT stars, ?::BOOL gone)"
            return db.execute(sql, group).fetchall() == [(True,)]

        assert rows == [(sum(n for group, (n, _) in groups.items() if meets(group)),)]


def test_without_noise_it_is_what_would_be_read(people: Pipeline) -> None:
    """At an epsilon that leaves nearly no noise, derived answers are the answers."""
    loud = tuple(replace(p, epsilon=Fraction(10**10)) for p in people.policy.policies)
    people = people.renewed(replace(people.policy, policies=loud))
    ask(people, WIDE.replace("SUM(cost) AS s", "SUM(cost), VARIANCE(cost)"))
    tails = [f" AND {c}" for c in CONDITIONS] + [" AND kind <> 'a'", ""]
    derived = 0
    for keys in ("", "stars", "kind, gone", "gone, stars, kind"):
        for tail in tails:
            tail += f" GROUP BY {keys}" if keys else ""
            sql = (
                f"SELECT {keys}{', ' * bool(keys)}COUNT(*), SUM(cost), VARIANCE(cost) {FROM}{tail}"
            )
            taken = ask(people, sql, reuse="derived")
            derived += "from an answer" in said(taken)
            assert taken.rows == ask(people, sql, reuse="off").rows, sql
    assert derived > 20


def test_what_a_domain_calls_other_is_a_group_and_no_value(people: Pipeline) -> None:
    groups = kept(people)
    rows, _ = free(people, f"SELECT kind, COUNT(*) {FROM} GROUP BY kind")
    assert {kind for kind, _ in rows} == {"a", "b", "c", "rest"}
    assert sum(n for _, n in rows) == sum(n for n, _ in groups.values())  # type: ignore[misc]
    charged = ask(
        people, f"SELECT COUNT(*) {FROM} AND kind = 'rest'", reuse="derived", epsilon="0.1"
    )
    assert "from an answer" not in said(charged)


@pytest.mark.parametrize("condition", ["kind = 'e'", "kind IN ('a', 'e')"])
def test_a_value_that_the_query_lists_is_no_other(people: Pipeline, condition: str) -> None:
    rows = ask(people, f"SELECT kind, COUNT(*) FROM person WHERE {condition} GROUP BY kind").rows
    counts: dict[Any, Any] = dict(rows)  # type: ignore[arg-type]
    assert "rest" not in counts
    assert abs(counts["e"] - 80) < 60


def test_public_values_are_no_other(tmp_path: Path) -> None:
    policy: Any = copy.deepcopy(POLICY)
    policy["policies"]["person"] |= {"labels": {"person": {"rep": ["cost"]}}, "epsilon": 1000}
    with duckdb.connect(str(tmp_path / "people.duckdb")) as db:
        db.execute(
            "CREATE TABLE person AS SELECT 1 AS id, 'e' AS kind, 1 AS stars, true AS gone, "
            "DATE '2000-01-01' AS born, 70::DECIMAL(6,2) AS cost"
        )
    opened = dp4sql.open_pipeline(
        policy=policy, database=f"duckdb:///{tmp_path}/people.duckdb", ledger=tmp_path / "ledger"
    )
    sql = "SELECT kind, SUM(cost) FROM person GROUP BY kind"
    rows: Any = ask(opened, sql, epsilon="1000").rows
    assert [kind for kind, _ in rows] == ["e"]
    assert abs(rows[0][1] - 70) < 10
    asyncio.run(opened.close())


def test_dates(people: Pipeline) -> None:
    days = dict(ask(people, "SELECT born, COUNT(*) FROM person GROUP BY born").rows)  # type: ignore[arg-type]
    rows, _ = free(people, "SELECT COUNT(*) FROM person WHERE born = DATE '2000-01-02'")
    assert rows == [(days[datetime.date(2000, 1, 2)],)]


def test_the_noise_of_a_sum_is_said(pipeline: Pipeline) -> None:
    ask(pipeline, MAJORS)
    _, notice = free(pipeline, "SELECT COUNT(*) AS n FROM student", "1")
    assert "n: noise scale 2.829, 95 % within +-8" in notice


NOT_DERIVED = [
    "SELECT COUNT(DISTINCT uid) FROM student",
    "SELECT COUNT(*) FROM student WHERE uid > 5",
    "SELECT COUNT(*) FROM student WHERE major LIKE 'C%'",
    "SELECT COUNT(*) FROM student WHERE major > 'CS'",
    "SELECT COUNT(*) FROM student WHERE major = 'CS' AND uid = 5",
    "SELECT uid, COUNT(*) FROM student WHERE uid IN (1, 2) GROUP BY uid",
    "SELECT COUNT(*) FROM student s JOIN scholarship USING (uid) WHERE amount > 5",
    "SELECT COUNT(*) FROM faculty WHERE age > 40",
]


@pytest.mark.parametrize("sql", NOT_DERIVED)
def test_what_does_not_follow_is_charged(pipeline: Pipeline, sql: str) -> None:
    ask(pipeline, MAJORS)
    before = sum(spent(pipeline).values())
    answer = ask(pipeline, sql, reuse="derived", epsilon="0.05")
    assert sum(spent(pipeline).values()) > before
    assert "from an answer" not in said(answer)


def test_groups_that_leave_rows_out_are_not_added_up(pipeline: Pipeline) -> None:
    """IN lists some values: their sum is that of the rows with those values, and of no others."""
    ask(
        pipeline, "SELECT major, COUNT(*) FROM student WHERE major IN ('CS', 'Math') GROUP BY major"
    )
    whole = ask(pipeline, "SELECT COUNT(*) FROM student", reuse="derived", epsilon="0.1")
    assert "from an answer" not in said(whole)
    some = "SELECT COUNT(*) FROM student WHERE major IN ('CS', 'Math')"
    _, notice = free(pipeline, some, "0.1")
    assert "added up from an answer" in notice
    # Bins of a range leave out what lies outside, and public bins what has no public row.
    ask(pipeline, "SELECT age, COUNT(*) FROM faculty GROUP BY age")
    aged = ask(
        pipeline, "SELECT COUNT(*) FROM faculty WHERE age = 40", reuse="derived", epsilon="0.01"
    )
    assert "from an answer" not in said(aged)


def test_more_noise_than_is_asked_for_is_not_taken(pipeline: Pipeline) -> None:
    ask(pipeline, MAJORS, epsilon="0.5")
    some = "SELECT COUNT(*) FROM student WHERE major = 'CS'"
    before = spent(pipeline)["student"]
    assert "from an answer" not in said(ask(pipeline, some, reuse="derived"))
    assert spent(pipeline)["student"] == before + 1


def test_only_when_it_is_asked_for(pipeline: Pipeline) -> None:
    ask(pipeline, MAJORS)
    ask(pipeline, "SELECT COUNT(*) FROM student WHERE major = 'CS'")
    assert spent(pipeline)["student"] == 2


def test_explain_says_so(pipeline: Pipeline) -> None:
    ask(pipeline, MAJORS)
    text = pipeline.explain(
        "SELECT COUNT(*) FROM student WHERE major = 'CS'", settings=Settings(reuse="derived")
    )
    assert "taken from an answer released" in text


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(1, 2), Fraction(1), Fraction(7, 2), 20])
@pytest.mark.parametrize("most", [2, 3, 8, 40])
def test_the_wider_scale_covers_the_sum(scale: Fraction | int, most: int) -> None:
    """Against the exact law of the sum, by convolution."""
    q = np.exp(-1 / float(scale))
    reach = int(40 * float(scale)) + 20
    one = (1 - q) / (1 + q) * q ** np.abs(np.arange(-reach, reach + 1))
    law = one
    for _ in range(most - 1):
        law = np.convolve(law, one)
    middle, h = len(law) // 2, half_width(wider(Fraction(scale), most))
    assert law[middle - h : middle + h + 1].sum() >= 0.95
