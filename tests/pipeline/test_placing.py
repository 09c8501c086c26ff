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
        # Noise decides which groups count: those around the limit, and they are no larger than that.
        (f"SELECT SUM(n) FROM {MAJORS} WHERE n > 5", ["COUNT(*)"]),
        (f"SELECT AVG(n) FROM {MAJORS} WHERE n > 5", ["COUNT(*)", "COUNT(*)"]),
        (f"SELECT SUM(n) FROM {MAJORS} WHERE n > 3000", ["SUM(count)"]),
        (f"SELECT SUM(n) FROM {MAJORS} WHERE n % 3 > 1", ["SUM(count)"]),
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


MEANS = "SELECT AVG(g) AS x FROM (SELECT major, AVG(grade) AS g FROM enrollment JOIN student USING (uid) GROUP BY major"
BINS = "AVG(g): over all public bins of the groups below it, those without rows among them"


def test_means_of_means_are_of_released_ones() -> None:
    sql = f"{MEANS}) t"
    assert sorted(m.kind for m in measured(sql)) == ["count", "sum"]
    assert max(m.scale for m in measured(sql)) < 1200 + 1


def test_means_of_means_with_having_are_too() -> None:
    sql = f"{MEANS} HAVING COUNT(*) > 200) t"
    assert {m.kind for m in measured(sql)} == {"count", "sum"}
    assert max(m.scale for m in measured(sql)) < 1800 + 1


def remarks(sql: str) -> tuple[str, ...]:
    return dp4sql.explain(POLICY, sql).remarks


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        (f"{MEANS}) t", f"{BINS}; HAVING COUNT(*) > 132 there leaves such bins out"),
        (
            f"{MEANS} HAVING COUNT(*) > 5) t",
            f"{BINS}; HAVING COUNT(*) > 108 there leaves such bins out",
        ),
        (f"{MEANS} HAVING COUNT(*) > 108) t", None),
        (f"SELECT MIN(n) FROM {MAJORS}", "MIN(n): over all public bins"),
        (
            f"SELECT (SELECT MIN(n) FROM {MAJORS}) + COUNT(*) FROM student",
            "MIN(n): over all public bins",
        ),
        (f"SELECT MIN(n) FROM {MAJORS} WHERE n > 2", "MIN(n): over all public bins"),
        (f"SELECT MIN(n) FROM {MAJORS} WHERE n >= 3", None),
        (f"SELECT MAX(n) FROM {MAJORS}", None),
        (f"SELECT MAX(n - 1) FROM {MAJORS}", "MAX(n - 1): over all public bins"),
        (f"SELECT SUM(2 * n), AVG(n), COUNT(*) FROM {MAJORS}", None),
        (f"SELECT COUNT(*) FROM {MAJORS}", None),
        ("SELECT major, COUNT(*) FROM student GROUP BY major", None),
    ],
)
def test_bins_without_rows_are_spoken_of_where_they_count(sql: str, wanted: str | None) -> None:
    found = remarks(sql)
    assert found == () if wanted is None else found[0].startswith(wanted)


def test_an_answer_says_so_itself(pipeline: Pipeline) -> None:
    assert any(BINS in notice for notice in asyncio.run(pipeline.query(f"{MEANS}) t")).notices)


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
