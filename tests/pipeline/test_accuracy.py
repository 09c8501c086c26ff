"""What keeps noise small at the same epsilon, each with the noise that there would be without it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import dp4sql
from dp4sql.mechanisms.explain import MeasurementReport
from dp4sql.pipeline import Pipeline
from dp4sql.pipeline.preparation import explain
from dp4sql.settings import Settings

POLICY = Path(__file__).parents[2] / "policies" / "university.yaml"


def measurements(sql: str, policy: Any = POLICY) -> dict[str, list[MeasurementReport]]:
    """By output column."""
    found = dp4sql.explain(policy, sql)
    return {a.name: list(a.measurements) for a in found.aggregates}


def scales(sql: str, policy: Any = POLICY) -> list[Fraction]:
    return [m.scale for parts in measurements(sql, policy).values() for m in parts]


def shop() -> dict[str, Any]:
    """Cards of a shop, and visits with them, at most five each."""
    return {
        "dp4sql": 1,
        "tables": {
            "card": {"key": ["card"], "columns": {"card": {"type": "integer"}}},
            "visit": {
                "key": ["id"],
                "foreign_keys": {"card": "card"},
                "max_frequency": {"card": 5},
                "columns": {
                    "id": {"type": "integer"},
                    "card": {"type": "integer"},
                    "spent": {"type": "numeric(10,2)", "range": [0, 1000]},
                    "year": {"type": "integer", "range": [1990, 2010]},
                },
            },
        },
        "policies": {
            "card": {"entity": "card", "epsilon": 1.0, "labels": {"card": "del", "visit": "del"}}
        },
    }


def test_means_are_centred() -> None:
    """The range of a year is far from zero: its sum moves by 2010, the centred one by 10."""
    plain = measurements("SELECT SUM(year) AS x FROM visit", shop())["x"][0]
    centred = measurements("SELECT AVG(year) AS x FROM visit", shop())["x"][0]
    assert (plain.bounds["card"], centred.bounds["card"]) == (5 * 2010, 5 * 10)
    assert centred.center == 2000


def test_sums_are_centred_beside_their_count() -> None:
    """Alone the plain sum is best. Beside a count: two scales at half of epsilon each, added as variances."""
    (alone,) = scales("SELECT SUM(year) AS x FROM visit", shop())
    total, count = measurements("SELECT SUM(year) AS x, COUNT(*) AS n FROM visit", shop())["x"]
    both = total.scale**2 + (total.center * count.scale) ** 2
    assert both < (2 * alone) ** 2
    spent = "SELECT SUM(spent) AS x, COUNT(*) AS n FROM visit"
    (only,) = scales("SELECT SUM(spent) AS x FROM visit", shop())
    total, count = measurements(spent, shop())["x"]
    assert total.scale**2 + (total.center * count.scale) ** 2 == (2 * only) ** 2 / 2


def test_a_sum_beside_its_mean_is_not_measured_again() -> None:
    assert len(set(scales("SELECT SUM(year) AS x, AVG(year) AS y FROM visit", shop()))) == 2
    total, _ = measurements("SELECT SUM(year) AS x, AVG(year) AS y FROM visit", shop())["x"]
    assert total.losses["card"] == Fraction(1, 2)


def test_an_error_that_is_asked_for_is_that_of_the_plain_sum() -> None:
    """Put together, each part would have to be better than the whole."""
    sql = "SELECT SUM(year) AS x, COUNT(*) AS n FROM visit"
    found = explain(dp4sql.load_policy(shop()), sql, Settings(target_error=Fraction(5000)))
    (total,) = found.aggregates[0].measurements
    assert total.center == 0
    assert 4900 < total.half_width <= 5000


def test_a_centred_sum_says_what_the_plain_one_says(database: Path, tmp_path: Path) -> None:
    """With so much epsilon that both are nearly the truth."""
    policy = dp4sql.load_policy(POLICY)
    loud = replace(
        policy,
        policies=tuple(replace(p, epsilon=Fraction(1000), budget=None) for p in policy.policies),
    )
    opened = dp4sql.open_pipeline(
        policy=loud, database=f"duckdb:///{database}", ledger=tmp_path / "ledger"
    )
    sql = "SELECT uid, SUM(grade) AS s FROM enrollment GROUP BY uid"
    beside = sql.replace("AS s", "AS s, COUNT(grade) AS n")
    plain = asyncio.run(opened.query(sql)).rows
    centred = asyncio.run(opened.query(beside)).rows
    assert len(measurements(beside)["s"]) == 2
    pairs = [(float(a), float(b)) for (_, a), (_, b, _) in zip(plain, centred, strict=True)]  # type: ignore[arg-type]
    assert sum(a for a, _ in pairs) > 100_000
    assert max(abs(a - b) for a, b in pairs) < 150


def test_filters_on_the_sum_itself_may_make_the_plain_sum_better() -> None:
    """A changed amount moves the centred sum by the whole width as well, and the count on top."""
    sql = "SELECT SUM(amount) AS x, COUNT(*) AS n FROM scholarship WHERE amount > 10"
    assert len(measurements(sql)["x"]) == 1


def test_equal_measurements_are_taken_once() -> None:
    sql = "SELECT COUNT(*) AS n, COUNT(spent) AS m, AVG(spent) AS x, STDDEV(spent) AS s FROM visit"
    found = measurements(sql, shop())
    assert len({m.sql for parts in found.values() for m in parts}) == 3
    assert found["n"] == found["m"] == [found["x"][1]] == [found["s"][2]]
    assert found["n"][0].losses["card"] == Fraction(1, 3)


def test_without_groups_a_replaced_row_counts_once() -> None:
    """Replaced rows leave one group and enter another; a lone count moves by max(a, d), not a + d."""
    lone = measurements("SELECT COUNT(*) AS n FROM enrollment WHERE grade > 80")["n"][0]
    grouped = measurements(
        "SELECT uid, COUNT(*) AS n FROM enrollment WHERE grade > 80 GROUP BY uid"
    )
    assert lone.bounds["student"] * 2 == grouped["n"][0].bounds["student"] == 12


def test_bins_of_public_columns_are_those_that_occur_together(pipeline: Pipeline) -> None:
    sql = """SELECT s.sid, s.fid, s.title, COUNT(*) AS n FROM section s JOIN enrollment e ON s.sid = e.sid
             WHERE e.grade > 50 GROUP BY s.sid, s.fid, s.title"""
    ((sections,),) = asyncio.run(pipeline.query("SELECT COUNT(*) FROM section")).rows
    assert len(asyncio.run(pipeline.query(sql)).rows) == sections


def test_a_declared_number_of_owned_rows_bounds_more_than_frequencies() -> None:
    sql = "SELECT COUNT(*) AS n FROM visit"
    owned = shop()
    owned["policies"]["card"]["max_owned"] = {"visit": 3}
    assert (scales(sql, shop()), scales(sql, owned)) == ([5], [3])


def test_units_add_no_noise() -> None:
    """Cents are counted as integers: the scale is bound over epsilon, exactly."""
    (scale,) = scales("SELECT SUM(spent) AS x FROM visit", shop())
    assert scale == 5000
    coarse = shop()
    coarse["tables"]["visit"]["columns"]["spent"]["unit"] = 5
    assert scales("SELECT SUM(spent) AS x FROM visit", coarse) == [5000]


def test_what_cannot_move_is_exact_and_takes_no_share() -> None:
    """How many awards there are is public, who got how much is not."""
    found = measurements("SELECT COUNT(*) AS n, AVG(amount) AS x FROM scholarship")
    assert found["n"][0].scale == 0
    assert found["x"][1].scale == 0
    assert found["x"][0].losses["student"] == 1
