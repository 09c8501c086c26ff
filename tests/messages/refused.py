"""Statements that are refused, and what is said: the texts in refusals.txt."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

import dp4sql
from dp4sql.errors import Dp4sqlError
from dp4sql.pipeline.preparation import prepare
from dp4sql.policy.labels import PolicySet
from tests.coverage.table import tpch22

GOLDEN: Final = Path(__file__).parent / "refusals.txt"
POLICIES: Final = Path(__file__).parents[2] / "policies"

#: By the shipped policy that they are asked under.
STATEMENTS: Final[dict[str, list[str]]] = {
    "university": [
        "SELECT name FROM student",
        "SELECT * FROM enrollment WHERE grade > 90",
        "SELECT s.title, e.grade FROM section s JOIN enrollment e ON s.sid = e.sid",
        "SELECT COUNT(*) FROM students",
        "SELECT COUNT(*) FROM professors",
        "SELECT COUNT(*) FROM student WHERE majr = 'CS'",
        "SELECT COUNT(*) FROM student s WHERE t.major = 'CS'",
        "SELECT COUNT(*) FROM enrollment JOIN student ON sid = uid",
        "SELECT COUNT(*) FROM enrollment e JOIN student s ON e.uid = s.uid WHERE uid = 7",
        "SELECT major, COUNT(*) FROM student GROUP BY major HAVING nosuch > 1",
        "SELECT major, name, COUNT(*) FROM student GROUP BY major",
        "SELECT uid, COUNT(*) FROM enrollment",
        "SELECT name, COUNT(*) FROM student GROUP BY name",
        "SELECT uid, grade, eid, COUNT(*) FROM enrollment JOIN student USING (uid) GROUP BY uid, grade, eid",
        "SELECT g, COUNT(*) FROM (SELECT uid, AVG(grade) AS g FROM enrollment GROUP BY uid) t GROUP BY g",
        "SELECT salary, age, COUNT(*) FROM faculty GROUP BY salary, age",
        "SELECT COUNT(*) FROM student WHERE COUNT(*) > 3",
        "SELECT COUNT(COUNT(*)) FROM enrollment",
        "SELECT SUM(amount) OVER () FROM scholarship",
        "SELECT COUNT(*) FROM (SELECT uid, RANK() OVER (ORDER BY amount) AS r FROM scholarship) t WHERE r < 4",
        "SELECT COUNT(*) FROM (SELECT uid FROM student ORDER BY name LIMIT 5) t",
        "SELECT COUNT(*) FROM scholarship WHERE amount NOT IN (SELECT grade FROM enrollment)",
        "SELECT COUNT(*) FROM enrollment WHERE grade > 90 OR review NOT IN (SELECT review FROM enrollment)",
        "SELECT COUNT(*) FROM student s WHERE EXISTS (SELECT 1 FROM enrollment e WHERE e.uid > s.uid) OR major = 'CS'",
        "SELECT COUNT(*) FROM student s JOIN enrollment e ON s.uid = e.uid AND e.uid IN (SELECT uid FROM scholarship)",
        "SELECT COUNT(*) FROM student s WHERE 2 < (SELECT COUNT(*) FROM enrollment e WHERE e.uid > s.uid)",
        "SELECT COUNT(*) FROM student s WHERE 80 < (SELECT grade FROM enrollment e WHERE e.uid = s.uid)",
        "SELECT COUNT(*) FROM student a, LATERAL (SELECT 1 FROM enrollment b WHERE b.uid = a.uid) t",
        "SELECT COUNT(*) FROM (student CROSS JOIN section) AS t",
        "SELECT COUNT(*) FROM student TABLESAMPLE BERNOULLI (10)",
        "SELECT COUNT(*) FROM university.public.student",
        "SELECT TOP 5 title FROM section",
        "SELECT 2 * INTERVAL '1 month' FROM section",
        "SELECT COUNT(*) FROM `student`",
        "SELECT COUNT(*) FROM student FOR UPDATE",
        "SELECT DISTINCT ON (major) major FROM student",
        "SELECT major, SUM(COUNT(*)) OVER () FROM student GROUP BY ROLLUP (major)",
        "SELECT GROUPING(major), COUNT(*) FROM student GROUP BY major",
        "SELECT COUNT(*) FROM student WHERE uid = ANY(uid)",
        "SELECT COUNT(*) FROM student WHERE uid = ANY('1,2')",
        "SELECT COUNT(*) FROM enrollment WHERE grade > ANY (SELECT amount FROM scholarship)",
        "SELECT * FROM generate_series(1, 1000000)",
        "SELECT generate_series(1, 3), COUNT(*) FROM student",
        "SELECT unnest(ARRAY[1, 2]), COUNT(*) FROM student",
        "SELECT SUM(COUNT(*)) OVER w FROM student GROUP BY major",
        "WITH RECURSIVE t AS (SELECT 1) SELECT COUNT(*) FROM t",
        "SELECT STDDEV(DISTINCT grade) FROM enrollment",
        "SELECT COUNT(DISTINCT (uid, sid)) FROM enrollment",
        "SELECT COUNT(DISTINCT uid, sid) FROM enrollment",
        "SELECT STRING_AGG(name, ',') FROM student",
        "SELECT AVG(name) FROM student",
        "SELECT MIN(name) FROM student",
        "SELECT name FROM faculty ORDER BY salary",
        "SELECT MODE() WITHIN GROUP (ORDER BY major) FROM student",
        "SELECT CORR(grade, eid) FROM enrollment JOIN student USING (uid)",
        "SELECT DISTINCT name FROM student",
        "SELECT PERCENTILE_CONT(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY grade) IS NULL FROM enrollment",
        "SELECT QUANTILE_CONT(grade) FROM enrollment",
        "SELECT PERCENTILE_CONT(2) WITHIN GROUP (ORDER BY grade) FROM enrollment",
        "SELECT SUM(eid) FROM enrollment JOIN student USING (uid) WHERE major = 'CS'",
        "SELECT SUM(uid * grade) FROM enrollment",
        "SELECT SUM(grade * 1000000000000) FROM enrollment",
        "SELECT COUNT(*) FROM (SELECT uid, STDDEV(grade) AS d FROM enrollment GROUP BY uid) t WHERE d > 3",
        "SELECT major + 1 FROM student",
        "SELECT COUNT(*) FROM student WHERE major",
        "SELECT COUNT(*) FROM enrollment WHERE grade > 'many'",
        "SELECT COUNT(*) FROM enrollment WHERE grade > 99999999999",
        "SELECT COUNT(*) FROM enrollment WHERE grade::date = '2020-01-01'",
        "SELECT COUNT(*) FROM student WHERE name LIKE major",
        "SELECT COUNT(*) FROM student WHERE name ~ '\\mA'",
        "SELECT COUNT(*) FROM student WHERE lowr(name) = 'a'",
        "SELECT COUNT(*) FROM student WHERE md5(name) = 'a'",
        "SELECT COUNT(*) FROM student WHERE random() < 0.5",
        "SELECT COUNT(*) FROM enrollment WHERE CLOCK_TIMESTAMP() > '2020-01-01'",
        "SELECT COUNT(*) FROM enrollment WHERE grade & 1 = 1",
        "SELECT COUNT(*) FROM enrollment WHERE SPLIT_PART(eid::text, '-', sid) = '7'",
        "SELECT COUNT(*) FROM student; SELECT 1",
        "SELECT FROM WHERE",
        "SELEC COUNT(*) FROM student",
        "SELECT COUNT(*) FROM student WHERE major = 'CS",
        "",
        "INSERT INTO student VALUES (1, 'x', 'CS')",
        "DROP TABLE student",
        "UPDATE student SET major = 'CS'",
        "SELECT COUNT(*) FROM nosuch(3)",
        "SELECT COUNT(*) FROM student UNION SELECT name FROM student",
        "SELECT uid FROM student INTERSECT ALL SELECT uid FROM scholarship",
        "SELECT COUNT(*) FROM student LIMIT -1",
        "SELECT 1 FROM student ORDER BY 7",
        "SELECT COUNT(*) FROM student a JOIN student a ON TRUE",
        "SELECT COUNT(*) FROM enrollment a JOIN enrollment b ON a.grade = b.grade",
        "SELECT COUNT(*) FROM enrollment a JOIN enrollment b ON a.eid < b.eid AND a.uid <> b.uid",
        "SELECT age, uid, COUNT(*) FROM faculty, student GROUP BY age, uid",
        "SELECT uid, grade, review, salary, COUNT(*) FROM enrollment, faculty GROUP BY 1, 2, 3, 4",
    ],
    "tpch": [q.sql for q in tpch22() if q.id in ("Q2", "Q3", "Q10", "Q15", "Q18", "Q20", "Q21")]
    + [
        "select sum(l_orderkey) from lineitem",
        "select avg(o_orderdate) from orders",
        "select o_comment, count(*) from orders group by o_comment",
        "select count(*) from orders where o_orderdate > '1995-02-30'",
        "select count(*) from orders where o_orderdate + o_custkey * interval '1 month' > '1995-01-01'",
        "select count(*) from lineitem a join lineitem b on a.l_shipdate = b.l_shipdate",
        "select o_orderdate, l_shipdate, l_receiptdate, count(*) from orders, lineitem "
        "where l_orderkey = o_orderkey group by 1, 2, 3",
        "select extract(hour from o_orderdate), count(*) from orders group by 1",
    ],
}


@cache
def said(policy: str, sql: str) -> str:
    """The statement, and what a client would be told about it; "answered" when it is not refused."""
    try:
        prepare(_policy(policy), sql, ())
    except Dp4sqlError as error:
        return f"{sql}\n{_place(sql, error)}{error.sqlstate}: {error.message}{_hint(error)}\n"
    return f"{sql}\nanswered\n"


@cache
def _policy(name: str) -> PolicySet:
    return dp4sql.load_policy(POLICIES / f"{name}.yaml")


def _place(sql: str, error: Dp4sqlError) -> str:
    """As psql points at it."""
    if error.position is None:
        return ""
    before = sql[: error.position - 1]
    line, column = before.count("\n") + 1, error.position - 1 - (before.rfind("\n") + 1)
    shown = sql.split("\n")[line - 1][column : column + 40]
    return f"  line {line}, column {column + 1}: {shown}\n"


def _hint(error: Dp4sqlError) -> str:
    return f"\n  {error.hint}" if error.hint else ""


def golden() -> str:
    return "\n".join(said(policy, sql) for policy, found in STATEMENTS.items() for sql in found)
