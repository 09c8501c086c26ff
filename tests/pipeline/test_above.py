"""What stands above a release: released rows are combined as the query says, at no further charge."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dp4sql
from dp4sql.data import university
from dp4sql.pipeline import Pipeline
from dp4sql.settings import Settings
from tests.coverage.table import noise, policy

QUERIES = {
    "arithmetic": "SELECT 2 * COUNT(*) + SUM(amount) / 1000.0 - 10 AS x FROM scholarship",
    "ratio": "SELECT major, 100.0 * COUNT(*) / (SELECT COUNT(*) FROM student) AS share FROM student GROUP BY major",
    "having": "SELECT major, COUNT(*) AS n FROM student GROUP BY major HAVING COUNT(*) > 90 AND major <> 'Math'",
    "order and limit": """SELECT major, COUNT(*) AS n FROM student GROUP BY major
                          ORDER BY n DESC, major LIMIT 3 OFFSET 1""",
    "distinct": "SELECT DISTINCT COUNT(*) > 90 AS large FROM student GROUP BY major",
    "case": """SELECT major, CASE WHEN COUNT(*) > 150 THEN 'many' WHEN COUNT(*) > 50 THEN 'some' ELSE 'few' END AS size
               FROM student GROUP BY major""",
    "window": """SELECT major, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS total,
                 RANK() OVER (ORDER BY COUNT(*) DESC) AS place, LAG(COUNT(*)) OVER (ORDER BY major) AS before
                 FROM student GROUP BY major""",
    "running total": """SELECT major, SUM(COUNT(*)) OVER (ORDER BY major ROWS BETWEEN UNBOUNDED PRECEDING
                        AND CURRENT ROW) AS so_far FROM student GROUP BY major""",
    "window in a subquery": """SELECT major FROM (SELECT major, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC, major) AS r
                               FROM student GROUP BY major) t WHERE r <= 2""",
    "join with a public table": """SELECT s.title, t.fid, t.n FROM (SELECT fid, AVG(salary) AS pay, COUNT(*) AS n
                                   FROM faculty GROUP BY fid) t JOIN section s ON s.fid = t.fid WHERE t.pay > 150000""",
    "join of two releases": """SELECT a.major, a.n, b.g FROM (SELECT major, COUNT(*) AS n FROM student GROUP BY major) a
                               JOIN (SELECT major, AVG(grade) AS g FROM student JOIN enrollment USING (uid)
                               GROUP BY major) b ON a.major = b.major""",
    "left join of releases": """SELECT d.major, COALESCE(t.n, -1) AS n FROM (SELECT major, COUNT(*) AS m FROM student
                                GROUP BY major) d LEFT JOIN (SELECT major, COUNT(*) AS n FROM student GROUP BY major
                                HAVING COUNT(*) > 100) t ON t.major = d.major""",
    "nested aggregates": """SELECT MAX(n) AS most, MIN(n) AS least, COUNT(*) AS majors FROM
                            (SELECT major, COUNT(*) AS n FROM student GROUP BY major) t""",
    "union of releases": """SELECT 'students' AS what, COUNT(*) AS n FROM student UNION ALL
                            SELECT 'awards of ' || major, COUNT(*) FROM student JOIN scholarship USING (uid)
                            WHERE major = 'CS' GROUP BY major""",
    "scalar released first": """SELECT major, COUNT(*) AS n FROM student GROUP BY major
                                HAVING COUNT(*) > (SELECT COUNT(*) / 8 FROM student)""",
    "a constant from a release": "SELECT COUNT(*) FROM enrollment WHERE grade > (SELECT AVG(grade) FROM enrollment)",
    "text and dates of groups": """SELECT UPPER(LEFT(major, 2)) AS m, COUNT(*) AS n FROM student
                                   WHERE major LIKE '%y' GROUP BY major""",
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("above") / "university.duckdb"
    university.generate(found)
    return found


@pytest.fixture
def pipeline(path: Path, tmp_path: Path) -> Iterator[Pipeline]:
    opened = dp4sql.open_pipeline(
        policy=policy("university"), database=f"duckdb:///{path}", ledger=tmp_path / "ledger"
    )
    yield opened
    asyncio.run(opened.close())


def plain(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        float(f"{float(value):.9g}")
        if isinstance(value, Decimal | float | int) and not isinstance(value, bool)
        else value
        for value in row
    )


@pytest.mark.parametrize("name", QUERIES)
def test_without_noise_it_is_the_truth(name: str, pipeline: Pipeline, path: Path) -> None:
    sql = QUERIES[name]
    with noise(None):
        rows = asyncio.run(pipeline.query(sql, settings=Settings(reuse="off"))).rows
    with duckdb.connect(str(path), read_only=True) as database:
        truth = [plain(row) for row in database.execute(sql.replace(" / 8", " // 8")).fetchall()]
    found = [plain(row) for row in rows]
    if name != "order and limit":
        found, truth = sorted(found, key=repr), sorted(truth, key=repr)
    assert found == truth


@pytest.mark.parametrize("name", QUERIES)
def test_one_query_costs_no_more_than_epsilon(name: str) -> None:
    charges = dp4sql.explain(policy("university"), QUERIES[name]).charges
    allowed = {p.name: p.epsilon for p in policy("university").policies}
    assert all(charge <= allowed[name] for name, charge in charges.items())
    assert any(math.isclose(float(charges[n]), float(allowed[n])) for n in charges)
