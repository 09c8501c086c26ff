"""MIN, MAX, percentiles and spread of private rows: near the truth with little noise, sane with none."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import dp4sql
from dp4sql.data import university
from dp4sql.pipeline import Pipeline

POLICY = Path(__file__).parents[2] / "policies" / "university.yaml"
SELECTED = "MIN(grade), MAX(grade), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY grade), STDDEV(grade), VAR_POP(grade)"


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    """Epsilon 1000, so that what is measured shows."""
    folder = tmp_path_factory.mktemp("statistics")
    university.generate(folder / "university.duckdb")
    policy = dp4sql.load_policy(POLICY)
    loud = replace(
        policy,
        policies=tuple(replace(p, epsilon=Fraction(1000), budget=None) for p in policy.policies),
    )
    return dp4sql.open_pipeline(policy=loud, database=f"duckdb:///{folder}/university.duckdb")


def rows(pipeline: Pipeline, sql: str) -> list[tuple[float, ...]]:
    released = asyncio.run(pipeline.query(sql))
    return [tuple(float(v) for v in row) for row in released.rows]  # type: ignore[arg-type]


def truth(pipeline: Pipeline, sql: str) -> list[tuple[float, ...]]:
    with duckdb.connect(
        pipeline.backend.identity.removeprefix("duckdb://"), read_only=True
    ) as plain:
        return [tuple(float(v) for v in row) for row in plain.execute(sql).fetchall()]


def test_without_groups(pipeline: Pipeline) -> None:
    sql = f"SELECT {SELECTED} FROM enrollment"
    (found,), (exact,) = rows(pipeline, sql), truth(pipeline, sql)
    for got, want, slack in zip(found, exact, (6, 6, 1.5, 0.3, 5), strict=True):
        assert abs(got - want) <= slack


def test_by_group(pipeline: Pipeline) -> None:
    sql = """SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY grade), STDDEV(grade)
             FROM enrollment JOIN student USING (uid) GROUP BY major ORDER BY major"""
    found, exact = rows(pipeline, sql), truth(pipeline, sql)
    assert len(found) == len(exact) == 8
    for (q, s), (want_q, want_s) in zip(found, exact, strict=True):
        assert abs(q - want_q) <= 3
        assert abs(s - want_s) <= 1


def test_over_nothing_they_stay_in_range(pipeline: Pipeline) -> None:
    (found,) = rows(pipeline, f"SELECT {SELECTED} FROM enrollment WHERE 1 = 0")
    assert all(0 <= value <= 2500 * 2 for value in found)
    assert all(value <= 100 for value in found[:3])


def test_a_median_is_charged_its_loss(pipeline: Pipeline) -> None:
    found = dp4sql.explain(
        POLICY, "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY grade) FROM enrollment"
    )
    (measurement,) = found.aggregates[0].measurements
    assert measurement.bounds["student"] == 12
    assert measurement.scale == 24
    assert found.charges["student"] == 1


@pytest.mark.parametrize("share", ["0", "0.25", "0.3", "0.5", "0.75", "1"])
def test_percentiles_of_public_rows_in_descending_order(pipeline: Pipeline, share: str) -> None:
    """The first value, in that order, at which the share is reached; 0.25 of four rows is the first one."""
    ((largest, smallest),) = rows(
        pipeline,
        f"""SELECT PERCENTILE_DISC({share}) WITHIN GROUP (ORDER BY x DESC),
            PERCENTILE_DISC({share}) WITHIN GROUP (ORDER BY x)
            FROM (VALUES (10), (20), (30), (40)) AS t(x)""",
    )
    place = max(1, math.ceil(Fraction(share) * 4))
    assert (largest, smallest) == (50 - 10 * place, 10 * place)
