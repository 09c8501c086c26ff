"""A joined aggregate of one row is released first, as a scalar subquery is."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import duckdb
import pytest

import dp4sql
from dp4sql.pipeline import Pipeline
from dp4sql.settings import Settings
from tests.pipeline.conftest import POLICY

MEAN = "(SELECT AVG(salary) AS m FROM faculty)"
PAIRS = {
    "cross join": (
        f"SELECT COUNT(*) FROM faculty CROSS JOIN {MEAN} s WHERE salary > m",
        f"SELECT COUNT(*) FROM faculty WHERE salary > {MEAN}",
    ),
    "inner join": (
        f"SELECT SUM(age) FROM faculty f JOIN {MEAN} s ON f.salary > s.m",
        f"SELECT SUM(age) FROM faculty WHERE salary > {MEAN}",
    ),
    "CTE": (
        f"WITH s AS {MEAN} SELECT salary > m AS above, COUNT(*) FROM s, faculty GROUP BY 1 ORDER BY 1",
        f"SELECT salary > {MEAN} AS above, COUNT(*) FROM faculty GROUP BY 1 ORDER BY 1",
    ),
    "IN": (
        "SELECT COUNT(*) FROM faculty WHERE age IN (SELECT COUNT(*) FROM student WHERE uid < 40)",
        "SELECT COUNT(*) FROM faculty WHERE age = (SELECT COUNT(*) FROM student WHERE uid < 40)",
    ),
    "in a subquery": (
        f"SELECT COUNT(*) FROM (SELECT fid, COUNT(*) AS n FROM section JOIN faculty USING (fid), {MEAN} s "
        "WHERE salary > m GROUP BY fid) t WHERE n > 1",
        f"SELECT COUNT(*) FROM (SELECT fid, COUNT(*) AS n FROM section JOIN faculty USING (fid) "
        f"WHERE salary > {MEAN} GROUP BY fid) t WHERE n > 1",
    ),
}


@pytest.mark.parametrize(("joined", "scalar"), PAIRS.values(), ids=PAIRS)
def test_it_is_planned_like_a_scalar_subquery(joined: str, scalar: str) -> None:
    policies = dp4sql.load_policy(POLICY)

    def bounds(sql: str) -> list[str]:
        return re.findall(
            r": (\d+ under policy \w+)$", dp4sql.explain(policies, sql).text(), re.MULTILINE
        )

    assert bounds(joined)
    assert sorted(bounds(joined)) == sorted(bounds(scalar))


ASKED = [
    f"SELECT COUNT(m) FROM faculty f LEFT JOIN {MEAN} s ON f.salary > s.m",
    *(joined for joined, _ in PAIRS.values()),
]


@pytest.mark.parametrize("sql", ASKED)
def test_without_noise_it_is_what_the_database_says(
    loud: Pipeline, database: Path, sql: str
) -> None:
    found = asyncio.run(loud.query(sql, (), Settings())).rows
    with duckdb.connect(str(database), read_only=True) as connection:
        expected = connection.execute(sql).fetchall()
    assert [tuple(map(int, row)) for row in found] == [tuple(map(int, row)) for row in expected]  # type: ignore[call-overload]


def test_its_columns_are_one_bin(loud: Pipeline) -> None:
    sql = f"SELECT m, COUNT(*) FROM faculty CROSS JOIN {MEAN} s GROUP BY m"
    ((m, count),) = asyncio.run(loud.query(sql, (), Settings())).rows
    assert 30_000 < m < 250_000  # type: ignore[operator]
    assert count == 90
