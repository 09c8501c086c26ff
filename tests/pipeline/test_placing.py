"""A SUM or AVG over groups is released where it has less noise: here, or at the groups."""

from __future__ import annotations

import asyncio
from pathlib import Path

import duckdb
import pytest

import dp4sql
from dp4sql.mechanisms.explain import MeasurementReport
from dp4sql.pipeline import Pipeline

POLICY = Path(__file__).parents[2] / "policies" / "university.yaml"
MAJORS = "(SELECT major, COUNT(*) AS n FROM student GROUP BY major) t"
GRADES = "(SELECT grade, COUNT(*) AS n FROM enrollment GROUP BY grade) t"


def measured(sql: str) -> list[MeasurementReport]:
    return [m for a in dp4sql.explain(POLICY, sql).aggregates for m in a.measurements]


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        (f"SELECT SUM(n) FROM {MAJORS}", ["COUNT(*)"]),
        (f"SELECT SUM(2 * n) FROM {MAJORS} WHERE major <> 'CS'", ["COUNT(*)"]),
        # The groups that there are tell how many the mean is of.
        (f"SELECT AVG(n) FROM {MAJORS}", ["COUNT(*)", "COUNT(*)"]),
        (f"SELECT COUNT(*), AVG(n), SUM(n) FROM {GRADES}", ["COUNT(*)", "COUNT(*)", "COUNT(*)"]),
        # What is added to each group is not added to bins without rows.
        (f"SELECT SUM(n + 1) FROM {MAJORS}", ["SUM(arg)"]),
        # Noise would decide which groups count.
        (f"SELECT SUM(n) FROM {MAJORS} WHERE n > 5", ["SUM(count)"]),
        # Students are no public bins.
        (
            "SELECT SUM(n) FROM (SELECT uid, COUNT(*) AS n FROM enrollment GROUP BY uid) t",
            ["SUM(count)"],
        ),
        # More than a hundred bins with the noise of twelve rows, against the twelve rows that move.
        (
            "SELECT SUM(least(n, 1)) FROM (SELECT grade, COUNT(*) AS n FROM enrollment GROUP BY grade) t",
            ["SUM(arg)"],
        ),
    ],
)
def test_the_place_with_less_noise(sql: str, wanted: list[str]) -> None:
    assert sorted(m.sql for m in measured(sql)) == sorted(wanted)


def test_means_of_means_are_of_released_ones() -> None:
    sql = "SELECT AVG(g) FROM (SELECT major, AVG(grade) AS g FROM enrollment JOIN student USING (uid) GROUP BY major) t"
    assert sorted(m.kind for m in measured(sql)) == ["count", "sum"]
    assert max(m.scale for m in measured(sql)) < 1200 + 1


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT SUM(n), AVG(n), COUNT(*) FROM {GRADES}",
        "SELECT grade, SUM(n), AVG(n), COUNT(*) FROM (SELECT grade, review, COUNT(*) AS n FROM enrollment "
        "GROUP BY grade, review) t GROUP BY grade ORDER BY grade",
    ],
)
def test_the_answer_is_the_same(database: Path, loud: Pipeline, sql: str) -> None:
    """Bins without rows, NULLs among them, change neither the mean nor the count."""
    released = asyncio.run(loud.query(sql)).rows
    with duckdb.connect(str(database), read_only=True) as plain:
        truth = {row[:-3]: row[-3:] for row in plain.execute(sql).fetchall()}
    for *key, total, mean, count in released:
        expected = truth.get(tuple(key), (0, 0, 0))
        assert (total, count) == (expected[0], expected[2])
        assert float(mean) == pytest.approx(float(expected[1]))
