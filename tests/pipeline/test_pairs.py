"""CORR, COVAR_POP, REGR_SLOPE and the like: where noise is small, what a database says."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import duckdb
import pytest

import dp4sql
from dp4sql.mechanisms.stages import Release
from dp4sql.pipeline import Pipeline
from dp4sql.pipeline.preparation import prepare
from dp4sql.settings import Settings
from tests.pipeline.conftest import POLICY, at_epsilon

FUNCTIONS = (
    "CORR",
    "COVAR_POP",
    "COVAR_SAMP",
    "REGR_COUNT",
    "REGR_AVGX",
    "REGR_AVGY",
    "REGR_SXX",
    "REGR_SYY",
    "REGR_SXY",
    "REGR_SLOPE",
    "REGR_INTERCEPT",
    "REGR_R2",
)
ROWS = {
    "columns that may be NULL": ("grade, review", "FROM enrollment"),
    "exact columns": ("salary, age", "FROM faculty"),
    "expressions": ("salary * 1.5, age::double precision / 7", "FROM faculty"),
    "a column with itself": ("grade, grade", "FROM enrollment"),
    "public rows": ("sid, fid", "FROM section"),
    "groups": (
        "grade, review",
        "FROM enrollment JOIN student USING (uid) GROUP BY major ORDER BY major",
    ),
    # Whole numbers: of others a sum is taken in steps of a millionth of their range.
    "rows of a subquery": (
        "n, u",
        "FROM (SELECT uid, COUNT(*) AS n, SUM(review) AS u FROM enrollment GROUP BY uid) t",
    ),
}


@pytest.fixture
def silent(database: Path, tmp_path: Path) -> Pipeline:
    return at_epsilon(database, tmp_path, 10**10)


@pytest.mark.parametrize(("arguments", "rows"), ROWS.values(), ids=ROWS)
def test_they_say_what_the_database_says(
    silent: Pipeline, database: Path, arguments: str, rows: str
) -> None:
    items = ", ".join(f"{function}({arguments})" for function in FUNCTIONS)
    sql = f"SELECT {items} {rows}"
    found = asyncio.run(silent.query(sql, (), Settings())).rows
    asyncio.run(silent.close())
    with duckdb.connect(str(database), read_only=True) as connection:
        expected = connection.execute(sql).fetchall()
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        for function, a, b in zip(FUNCTIONS, mine, theirs, strict=True):
            assert math.isclose(float(a), b, rel_tol=1e-6, abs_tol=1e-6), function  # type: ignore[arg-type]


def test_a_filter_counts_rows_where_both_are_known(silent: Pipeline, database: Path) -> None:
    kept = "FILTER (WHERE grade > 50)"
    sql = f"SELECT REGR_COUNT(grade, review) {kept}, CORR(grade, review) {kept} FROM enrollment"
    ((count, correlation),) = asyncio.run(silent.query(sql, (), Settings())).rows
    asyncio.run(silent.close())
    with duckdb.connect(str(database), read_only=True) as connection:
        ((n, r),) = connection.execute(sql).fetchall()
    assert count == n
    assert math.isclose(float(correlation), r, abs_tol=1e-6)  # type: ignore[arg-type]


def test_without_spread_there_is_none(silent: Pipeline) -> None:
    sql = "SELECT CORR(1, sid), REGR_SLOPE(sid, 1), REGR_SXX(sid, 1), COVAR_SAMP(sid, sid) FROM section WHERE sid = 7"
    ((corr, slope, sxx, covariance),) = asyncio.run(silent.query(sql, (), Settings())).rows
    asyncio.run(silent.close())
    assert (corr, slope, sxx, covariance) == (None, None, 0.0, None)


def test_they_share_what_they_measure() -> None:
    policies = dp4sql.load_policy(POLICY)

    def measured(items: str) -> list[tuple[str, int, int]]:
        plan = prepare(policies, f"SELECT {items} FROM enrollment", ()).plan
        (release,) = (stage for stage in plan.stages if isinstance(stage, Release))
        quantities = (m.quantity for m in release.measurements)
        return [(q.kind, q.low, q.high) for q in quantities]

    every = ", ".join(f"{function}(grade, review)" for function in FUNCTIONS)
    # The middle of 0 to 100 is 50, that of 1 to 5 is 3.
    assert sorted(measured(f"{every}, CORR(review, grade)")) == [
        ("count", 0, 1),
        ("sum", -100, 100),
        ("sum", -50, 50),
        ("sum", -2, 2),
        ("sum", 0, 4),
        ("sum", 0, 2500),
    ]
    assert len(measured("COVAR_POP(grade, review)")) == 4
    assert len(measured("REGR_SLOPE(grade, review)")) == 5
    assert len(measured("REGR_AVGX(grade, review)")) == 2
