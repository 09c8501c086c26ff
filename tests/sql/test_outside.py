"""Nothing of a statement is left unread: what stands outside of brackets, beside a keyword or after a comma counts, or
is refused."""

from __future__ import annotations

import duckdb
import pytest

import dp4sql
from dp4sql.errors import Dp4sqlError

POLICY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "w": {"key": ["n"], "rows": 6, "columns": {"n": "integer", "k": "integer", "s": "text"}}
        },
        "policies": {"p": {"entity": "w", "epsilon": 1, "labels": {"w": "pub"}}},
    }
)
ROWS = [(i, i % 3, f"text {i}") for i in range(6)]
FIRST = "(SELECT k FROM w ORDER BY k)"


STANDING_OUTSIDE = [
    "(SELECT n FROM w ORDER BY n) OFFSET 2",
    "(SELECT n FROM w ORDER BY n LIMIT 5) LIMIT 2",
    "SELECT n FROM w ORDER BY n LIMIT ALL OFFSET 2",
    "(SELECT n FROM w ORDER BY n LIMIT 5 OFFSET 1) OFFSET 2",
    "SELECT * FROM ((SELECT n FROM w ORDER BY n) OFFSET 2) q ORDER BY n",
    "SELECT k FROM w UNION SELECT k + 1 FROM w ORDER BY 1 OFFSET 2",
    "SELECT COUNT(*) FROM (SELECT k FROM w UNION SELECT k + 1 FROM w OFFSET 3) q",
    "SELECT COUNT(*) FROM (SELECT n FROM w GROUP BY ROLLUP (n) OFFSET 3) q",
    f"SELECT n FROM w WHERE k = ANY ({FIRST} LIMIT 1) ORDER BY n",
    f"SELECT n FROM w WHERE k IN ({FIRST} OFFSET 5) ORDER BY n",
    f"SELECT n FROM w WHERE k IN ({FIRST} LIMIT 1) OR n = 5 ORDER BY n",
    "SELECT n FROM w WHERE n IN (SELECT DISTINCT ON (k) n FROM w ORDER BY k, n DESC) ORDER BY n",
    "SELECT n FROM w WHERE n IN (SELECT DISTINCT ON (k) n FROM w ORDER BY k, n DESC) OR n = 0 ORDER BY n",
]


@pytest.mark.parametrize("sql", STANDING_OUTSIDE)
def test_what_stands_outside_brackets_counts(sql: str) -> None:
    (read,) = dp4sql.explain(POLICY, sql).reads
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE w (n INTEGER, k INTEGER, s VARCHAR)")
        engine.executemany("INSERT INTO w VALUES (?, ?, ?)", ROWS)
        found = engine.execute(read).fetchall()
        assert found == engine.execute(sql).fetchall()
        assert found


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM w GROUP BY DISTINCT ROLLUP (n), ROLLUP (k)",
        "SELECT SUM(DISTINCT n, k) FROM w",
        "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY n, k) FROM w",
        "SELECT PERCENTILE_DISC(TRUE) WITHIN GROUP (ORDER BY n) FROM w",
        "SELECT CHR(65 USING utf8) FROM w",
        "SELECT a.n FROM w AS a ASOF JOIN w b ON a.n = b.n",
        "SELECT a.n FROM w AS a STRAIGHT_JOIN w b ON a.n = b.n",
        "SELECT INTERVAL '1-2' FROM w",
        "SELECT * FROM ((w a JOIN w b USING (n)) LIMIT 1)",
        "SELECT n FROM w LIMIT TRUE",
        "SELECT REPLACE(s, 'a') FROM w",
        "SELECT SUM(n) OVER (q PARTITION BY k) FROM w WINDOW q AS (ORDER BY n)",
        "SELECT SUM(n) OVER (q ORDER BY k) FROM w WINDOW q AS (ORDER BY n)",
        "SELECT SUM(n) OVER (q ORDER BY k) FROM w WINDOW q AS (ROWS 1 PRECEDING)",
        "SELECT SUM(n) OVER q FROM w WINDOW q AS (ORDER BY n), q AS (ORDER BY k)",
        "SELECT LAG(n, TRUE) OVER (ORDER BY n) FROM w",
        "SELECT NTILE(TRUE) OVER (ORDER BY n) FROM w",
        "WITH q AS (SELECT n FROM w), q AS (SELECT 1 AS n) SELECT n FROM q",
    ],
)
def test_what_has_no_rule_is_refused(sql: str) -> None:
    with pytest.raises(Dp4sqlError):
        dp4sql.explain(POLICY, sql)


def test_char_without_a_length_is_one_character() -> None:
    (read,) = dp4sql.explain(POLICY, "SELECT s::char, 'abc'::char, s::char(3) FROM w").reads
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE w AS SELECT 1 AS n, 'text' AS s")
        assert engine.execute(read).fetchall() == [("t", "a", "tex")]
