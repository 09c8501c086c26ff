"""How exact answers are at epsilon 1, and whether their error bars tell: python -m benchmarks.accuracy

On the university that comes with dp4sql, each query RUNS times: the median of |answer - truth| / |truth| over
its rows, the median of what <name>_ci95 says relative to the truth, and in how many rows the truth lies within.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import duckdb

import dp4sql
from dp4sql.data import university
from dp4sql.pipeline import Pipeline
from dp4sql.settings import Settings

POLICY: Final = Path(__file__).parents[2] / "policies" / "university.yaml"
BARS: Final = Settings(error_columns=True, reuse="off")
STUDENTS: Final = "FROM enrollment e JOIN student s ON e.uid = s.uid GROUP BY s.major"

#: The first column of each is looked at; what stands beside it shares epsilon and measurements.
QUERIES: Final = {
    "count": "SELECT COUNT(*) AS x FROM enrollment WHERE grade > 80",
    "count by group": f"SELECT COUNT(*) AS x, s.major {STUDENTS}",
    "sum": f"SELECT SUM(e.grade) AS x, s.major {STUDENTS}",
    "sum beside its count": f"SELECT SUM(e.grade) AS x, COUNT(e.grade) AS n, s.major {STUDENTS}",
    "sum beside its mean": f"SELECT SUM(e.grade) AS x, AVG(e.grade) AS y, s.major {STUDENTS}",
    "mean": "SELECT AVG(grade) AS x FROM enrollment",
    "mean by group": f"SELECT AVG(e.grade) AS x, s.major {STUDENTS}",
    "deviation": "SELECT STDDEV(grade) AS x FROM enrollment",
    "ratio": "SELECT 1.0 * COUNT(*) FILTER (WHERE grade > 80) / COUNT(*) AS x FROM enrollment",
    "share of all": "SELECT 1.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS x, major FROM student GROUP BY major",
}


def rows(pipeline: Pipeline, database: Path, sql: str, runs: int) -> Iterator[tuple[float, float]]:
    """|answer - truth| and half-width of each row in each run, relative to the truth."""
    with duckdb.connect(str(database), read_only=True) as plain:
        truth = {row[1:] if "major" in sql else (): row[0] for row in _keyed(plain, sql)}
    for _ in range(runs):
        released = asyncio.run(pipeline.query(sql, settings=BARS))
        for row in released.rows:
            found: list[Any] = list(row)
            true = float(truth[(found[-1],) if "major" in sql else ()])
            yield abs(float(found[0]) - true) / abs(true), float(found[1]) / abs(true)


def _keyed(plain: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    """The first column, and the major where there is one."""
    found = plain.execute(sql).fetchall()
    return [(row[0], row[-1]) if "major" in sql else row for row in found]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy", description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    policy = dp4sql.load_policy(POLICY)
    free = replace(policy, policies=tuple(replace(p, budget=None) for p in policy.policies))
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "university.duckdb"
        university.generate(database)
        pipeline = dp4sql.open_pipeline(policy=free, database=f"duckdb:///{database}")
        print(f"{'query':24}{'error':>10}{'stated':>10}{'within':>10}")
        for name, sql in QUERIES.items():
            pairs = list(rows(pipeline, database, sql, runs))
            error = statistics.median(e for e, _ in pairs)
            stated = statistics.median(w for _, w in pairs)
            within = sum(e <= w for e, w in pairs) / len(pairs)
            print(f"{name:24}{error:>9.2%}{stated:>10.2%}{within:>10.1%}")
        asyncio.run(pipeline.close())


if __name__ == "__main__":
    main()
