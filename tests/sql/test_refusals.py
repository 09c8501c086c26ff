"""What is refused: with which SQLSTATE, where, and with a hint that says what would work."""

from __future__ import annotations

from pathlib import Path

import pytest

import dp4sql
from dp4sql.errors import Dp4sqlError

POLICY = dp4sql.load_policy(Path(__file__).parents[2] / "policies" / "university.yaml")

CASES = [
    ("SELECT name FROM student", "42501", "private"),
    ("SELECT * FROM student", "42501", "private"),
    ("SELECT name, salary FROM faculty", "42501", "Public columns of faculty: fid, name"),
    *(
        (f"SELECT {rest}", "42501", "private")
        for rest in (
            "name FROM faculty ORDER BY salary",
            "name FROM faculty ORDER BY salary + 1 DESC, name",
            "name FROM (SELECT name, fid FROM faculty ORDER BY age) t",
            "name FROM (SELECT * FROM faculty) t JOIN section USING (fid) ORDER BY age",
            "sid FROM enrollment ORDER BY grade",
            "(SELECT AVG(grade) FROM enrollment), name FROM faculty ORDER BY salary",
        )
    ),
    ("SELECT COUNT(*) FROM students", "42P01", "student"),
    ("SELECT COUNT(*) FROM student WHERE majr = 'CS'", "42703", "major"),
    ("SELECT major, COUNT(*) FROM student GROUP BY major HAVING nosuch > 1", "42703", ""),
    ("SELECT name, COUNT(*) FROM student GROUP BY name", "42501", "domain"),
    (
        "SELECT SUM(eid) FROM enrollment e JOIN student USING (uid) WHERE major = 'CS'",
        "42501",
        "range",
    ),
    ("SELECT COUNT(*) FROM student; SELECT 1", "42601", "one"),
    *(
        (f"SELECT {rest}", "42601", hint)
        for rest, hint in {
            "COUNT(*) FROM student GROUP BY": "",
            "major, COUNT(*) FROM student GROUP BY major,": "",
            "COUNT(*), FROM student": "",
            "COUNT(*) FROM student,": "",
            "COUNT(*) FROM student ORDER BY 1,": "",
            "COUNT(*) FROM student OFFSET": "",
            "COUNT(*) FROM student WHERE major == 'CS'": "single",
            "COUNT(*) FROM student WHERE uid IN ()": "at least one",
            "COUNT() FROM student": "COUNT(*)",
            "COUNT(*) * 1_000 FROM student": "1000",
            "COUNT(*) * 0o17 FROM student": "",
            "COUNT(*) FROM student WHERE uid < 1e": "",
            "COUNT(*) FROM student WHERE uid < 5AND uid > 2": "blank",
            "COUNT(DISTINCT) FROM student": "",
            "SUM(DISTINCT) FROM student": "",
            "COUNT(*) FROM student JOIN enrollment": "CROSS JOIN",
            "COUNT(*) FROM student s LEFT JOIN (SELECT 1) t, faculty": "CROSS JOIN",
        }.items()
    ),
    ("SELECT cuont(*) FROM student", "42883", "count"),
    ('SELECT COUNT(*) FROM student WHERE major = "CS"', "42703", "single quotes: 'CS'"),
    ("SELECT dp4sql.certify(template => 'major_share') FROM student", "0A000", "stands in FROM"),
    ("INSERT INTO student VALUES (1, 'x', 'CS')", "25006", "itself"),
    ("DROP TABLE student", "25006", "itself"),
    ("COPY student FROM STDIN", "25006", "itself"),
    ("UPDATE student SET major = 'CS'", "25006", "itself"),
    ("SELECT nosuchfunction(uid) FROM student", "42883", "docs/sql.md"),
    ("SELECT SUM(amount) OVER () FROM scholarship", "0A000", "SUM(COUNT(*)) OVER ()"),
    ("SELECT COUNT(*) FROM student TABLESAMPLE BERNOULLI (10)", "0A000", "Leave it out"),
    *(
        (f"SELECT COUNT(*) FROM student s WHERE {test}", "0A000", hint)
        for test, hint in {
            "uid IN (SELECT uid FROM enrollment LIMIT 1)": "Leave it out",
            "EXISTS (SELECT 1 FROM enrollment e WHERE e.uid = s.uid LIMIT 1 OFFSET 1)": "Leave it out",
            "EXISTS (SELECT 1 FROM enrollment e WHERE e.uid = s.uid HAVING COUNT(*) > 1)": "FROM and join it",
            "EXISTS (SELECT COUNT(*) FROM enrollment e WHERE e.uid = s.uid)": "FROM and join it",
            "3 < (SELECT COUNT(*) FROM enrollment e WHERE e.uid = s.uid HAVING COUNT(*) > 1)": "",
            "3 < (SELECT COUNT(*) FROM enrollment e WHERE e.uid = s.uid LIMIT 0)": "Leave it out",
        }.items()
    ),
    (
        "SELECT COUNT(*) FROM enrollment WHERE grade > ALL (SELECT amount FROM scholarship)",
        "0A000",
        "NOT EXISTS",
    ),
    (
        "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x FROM r) SELECT COUNT(*) FROM r",
        "0A000",
        "joins",
    ),
    ("SELECT COUNT(*) FROM student FOR UPDATE", "0A000", ""),
    ("SELECT DISTINCT ON (major) major FROM student", "0A000", "GROUP BY"),
    ("SELECT COUNT(*) FROM (SELECT uid FROM student ORDER BY name LIMIT 5) t", "0A000", "WHERE"),
    (
        "SELECT COUNT(*) FROM scholarship WHERE amount NOT IN (SELECT grade FROM enrollment)",
        "42501",
        "EXISTS",
    ),
    ("SELECT COUNT(*) FROM student WHERE name LIKE major", "0A000", "malformed"),
    ("SELECT COUNT(*) FROM student WHERE name ~ '(a'", "0A000", ""),
    ("SELECT COUNT(*) FROM student a, student b", "", ""),
    ("SELECT uid, COUNT(*) FROM enrollment", "42803", "GROUP BY"),
    ("SELECT COUNT(COUNT(*)) FROM enrollment", "42803", ""),
    ("SELECT AVG(name) FROM student", "42804", "numbers"),
    ("SELECT major + 1 FROM student", "42804", ""),
    (
        "SELECT COUNT(*) FROM student s WHERE EXISTS (SELECT 1 FROM enrollment e WHERE e.uid > s.uid) OR major = 'CS'",
        "0A000",
        "LEFT JOIN",
    ),
    (
        "SELECT COUNT(*) FROM student WHERE EXISTS (SELECT 1 FROM faculty) OR major = 'CS'",
        "0A000",
        "",
    ),
    ("SELECT STDDEV(DISTINCT grade) FROM enrollment", "0A000", "subquery"),
    ("SELECT VARIANCE(DISTINCT grade) FROM enrollment", "0A000", "subquery"),
    ("SELECT COUNT(*)::numeric(2000) FROM student", "22023", "precision"),
    ("SELECT COUNT(*)::numeric(1000, 500) FROM student", "0A000", "after the point"),
    ("SELECT COUNT(*)::varchar(100000000) FROM student", "22023", "length"),
    ("SELECT COUNT(*)::varchar(0) FROM student", "22023", "length"),
    ("SELECT COUNT(*), (SELECT x FROM (VALUES (1), (2)) t(x)) FROM student", "21000", "LIMIT 1"),
    (
        "SELECT major, COUNT(*) FROM student GROUP BY 1 ORDER BY 2 FETCH FIRST 1 ROW WITH TIES",
        "0A000",
        "RANK()",
    ),
    ("SELECT 'x' UNION SELECT 1", "22P02", "integer"),
    ("SELECT FROM WHERE", "42601", ""),
    ("", "42601", ""),
    ("SELECT STRING_AGG(name, ',') FROM student", "0A000", "single rows"),
    ("WITH RECURSIVE t AS (SELECT 1) SELECT COUNT(*) FROM t", "0A000", ""),
    *(
        (f"SELECT COUNT(*) FROM student s WHERE {test}", "0A000", hint)
        for test, hint in {
            "uid IN (SELECT uid FROM enrollment LIMIT 1)": "Leave it out",
            "EXISTS (SELECT 1 FROM enrollment e WHERE e.uid = s.uid LIMIT 1 OFFSET 1)": "Leave it out",
            "EXISTS (SELECT 1 FROM enrollment e WHERE e.uid = s.uid HAVING COUNT(*) > 1)": "FROM and join it",
            "EXISTS (SELECT COUNT(*) FROM enrollment e WHERE e.uid = s.uid)": "FROM and join it",
            "3 < (SELECT COUNT(*) FROM enrollment e WHERE e.uid = s.uid HAVING COUNT(*) > 1)": "",
            "3 < (SELECT COUNT(*) FROM enrollment e WHERE e.uid = s.uid LIMIT 0)": "Leave it out",
        }.items()
    ),
]


@pytest.mark.parametrize(("sql", "state", "word"), [c for c in CASES if c[1]])
def test_refused(sql: str, state: str, word: str) -> None:
    with pytest.raises(Dp4sqlError) as caught:
        dp4sql.explain(POLICY, sql)
    assert caught.value.sqlstate == state, caught.value
    assert word in f"{caught.value.message} {caught.value.hint}"


def test_position_is_where_the_mistake_stands() -> None:
    sql = "SELECT COUNT(*) FROM student WHERE majr = 'CS'"
    with pytest.raises(Dp4sqlError) as caught:
        dp4sql.explain(POLICY, sql)
    assert caught.value.position == sql.index("majr") + 1


NEGATIONS = [
    ("major LIKE 'C%'", "major NOT LIKE 'C%'"),
    ("major ILIKE 'c%'", "major NOT ILIKE 'c%'"),
    ("grade IS NULL", "grade IS NOT NULL"),
    ("grade BETWEEN 50 AND 60", "grade NOT BETWEEN 50 AND 60"),
    ("grade IN (1, 2)", "grade NOT IN (1, 2)"),
    ("grade > 3 IS TRUE", "grade > 3 IS NOT TRUE"),
]


@pytest.mark.parametrize(("plain", "negated"), NEGATIONS)
def test_a_negation_is_never_dropped(plain: str, negated: str) -> None:
    """The parser keeps some negations as a flag on the test; a flag overlooked would answer the opposite."""
    frame = "SELECT COUNT(*) FROM enrollment JOIN student USING (uid) WHERE "
    a, b = (dp4sql.explain(POLICY, frame + text).reads for text in (plain, negated))
    assert a != b
    assert "NOT" in b[0]


def test_what_the_parser_adds_without_being_asked_is_refused() -> None:
    with pytest.raises(Dp4sqlError) as caught:
        dp4sql.explain(POLICY, "SELECT COUNT(*) FROM enrollment TABLESAMPLE BERNOULLI (10)")
    assert caught.value.sqlstate == "0A000"
    assert "TABLESAMPLE" in caught.value.message


def test_a_function_in_from_is_refused_by_its_name() -> None:
    with pytest.raises(Dp4sqlError, match="function generate_subscripts does not exist in FROM"):
        dp4sql.explain(POLICY, "SELECT COUNT(*) FROM student, generate_subscripts(1, 3) s(n)")
