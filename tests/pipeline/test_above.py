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
    "named windows": """SELECT major, SUM(COUNT(*)) OVER w AS so_far, NTILE(3) OVER (v) AS third,
                        COUNT(*) * 1.0 / SUM(COUNT(*)) OVER (w ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS near
                        FROM student GROUP BY major WINDOW w AS (ORDER BY major), v AS (ORDER BY COUNT(*), major)""",
    "places": """SELECT major, PERCENT_RANK() OVER (ORDER BY COUNT(*)) AS p, CUME_DIST() OVER (ORDER BY COUNT(*)) AS c,
                 NTH_VALUE(major, 2) OVER (ORDER BY COUNT(*), major) AS second FROM student GROUP BY major""",
    "the first of each": """SELECT DISTINCT ON (major) major, review, COUNT(*) AS n FROM student JOIN enrollment
                            USING (uid) GROUP BY major, review ORDER BY major, COUNT(*) DESC, review""",
    "rows beside public ones": """SELECT x.title, x.sid, COUNT(e.grade) AS n FROM (SELECT DISTINCT ON (title) title, sid
                                  FROM section ORDER BY title, sid) x LEFT JOIN enrollment e ON e.sid = x.sid
                                  GROUP BY x.title, x.sid""",
    "numbered public rows": """SELECT x.r, COUNT(*) AS n FROM enrollment e JOIN (SELECT sid, ROW_NUMBER() OVER
                               (ORDER BY sid) AS r FROM section WHERE sid < 9) x ON e.sid = x.sid
                               WHERE grade > 50 GROUP BY 1""",
    "rollup": """SELECT COALESCE(major, 'all') AS m, GROUPING(major) AS g, COUNT(*) AS n FROM student
                 GROUP BY ROLLUP (major)""",
    "rollup of a key that aggregates read": """SELECT major, COUNT(*) FILTER (WHERE major = 'CS') AS cs,
                 COUNT_IF(major <> 'CS') AS others, COUNT(*) AS n FROM student GROUP BY ROLLUP (major)""",
    "grouping sets": """SELECT major, review, GROUPING(major, review) AS g, COUNT(*) AS n, AVG(grade) AS mean
                        FROM student JOIN enrollment USING (uid)
                        GROUP BY GROUPING SETS ((major), (review), ()) HAVING COUNT(*) > 0""",
    "cube": """SELECT major, review > 3 AS good, COUNT(*) AS n FROM student JOIN enrollment USING (uid)
               WHERE review IS NOT NULL GROUP BY CUBE (1, 2)""",
    "keys and rollup": """SELECT major AS m, review, COUNT(*) AS n FROM student JOIN enrollment USING (uid)
                          WHERE review IN (1, 2) GROUP BY m, ROLLUP (review)""",
    "a series with gaps": """SELECT s.x, COALESCE(t.n, 0) AS n FROM generate_series(90, 105, 5) AS s(x) LEFT JOIN
                             (SELECT grade, COUNT(*) AS n FROM enrollment GROUP BY grade) t ON t.grade = s.x""",
    "a join in brackets": """SELECT s.fid, COUNT(e.grade) AS n FROM section s LEFT JOIN (enrollment e JOIN student t
                             ON t.uid = e.uid AND t.major = 'CS') ON e.sid = s.sid WHERE s.fid < 5 GROUP BY s.fid""",
    "columns under a schema": """SELECT public.student.major, COUNT(*) AS n FROM public.student
                                 GROUP BY public.student.major""",
    "names beside means": """SELECT f.name, t.g FROM (SELECT fid, AVG(grade) AS g FROM section JOIN enrollment
                             USING (sid) GROUP BY fid) t JOIN faculty f USING (fid) WHERE t.g > 50""",
    "sums of groups": """SELECT SUM(n) AS s, AVG(n) AS a, COUNT(*) AS c FROM (SELECT major, COUNT(*) AS n FROM student
                         GROUP BY major) t""",
    "exists beside or": """SELECT major, COUNT(*) FILTER (WHERE EXISTS (SELECT 1 FROM scholarship a
                           WHERE a.uid = s.uid)) AS n FROM student s
                           WHERE s.uid < 500 OR s.uid IN (SELECT uid FROM enrollment WHERE grade > 90)
                           GROUP BY major""",
    "a histogram": """SELECT FLOOR(grade / 20) * 20 AS lo, COUNT(*) AS n FROM enrollment WHERE grade IS NOT NULL
                      GROUP BY 1 HAVING COUNT(*) > 0""",
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
    "deviations of groups": """SELECT major, (COUNT(*) - AVG(COUNT(*)) OVER ()) / STDDEV(COUNT(*)) OVER () AS z,
                               VAR_POP(COUNT(*)) OVER (ORDER BY major ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS v
                               FROM student GROUP BY major""",
    "order by all": "SELECT COUNT(*) > 100 AS large, major FROM student GROUP BY ALL ORDER BY ALL DESC LIMIT 5",
    "a total below": """SELECT review, COUNT(*) AS n FROM enrollment WHERE grade > 50 GROUP BY review
                        UNION ALL SELECT NULL, COUNT(*) FROM student""",
    "means of different values": "SELECT AVG(DISTINCT grade) AS g, AVG(DISTINCT amount) FILTER (WHERE grade > 95) AS a "
    "FROM enrollment JOIN scholarship USING (uid)",
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
        sql = sql.replace(" / 8", " // 8").replace("public.", "main.")
        truth = [plain(row) for row in database.execute(sql).fetchall()]
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
