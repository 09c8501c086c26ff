"""Wherever a constant or a column stands in a statement over public rows, a subquery over private ones is refused or
paid for: it never runs as it was written."""

from __future__ import annotations

import re

import pytest

import dp4sql
from dp4sql.errors import Dp4sqlError

POLICY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "t": {"key": ["id"], "rows": 9, "columns": {"id": "integer", "k": "integer"}},
            "w": {
                "key": ["kind"],
                "rows": 5,
                "columns": {
                    "kind": "text",
                    "n": "integer",
                    "d": "date",
                    "ts": "timestamp",
                    "f": "double precision",
                },
            },
        },
        "policies": {"p": {"entity": "t", "epsilon": 1, "labels": {"t": "del", "w": "pub"}}},
    }
)
STATEMENTS = """
SELECT n + 1 FROM w WHERE n > 2 ORDER BY n + 3 LIMIT 4 OFFSET 5
SELECT SUM(n + 1) OVER (PARTITION BY n + 2 ORDER BY n + 3 ROWS BETWEEN 4 PRECEDING AND 5 FOLLOWING) FROM w
SELECT LAG(n, 1, 2) OVER (ORDER BY n), NTILE(3) OVER (ORDER BY n) FROM w
SELECT NTH_VALUE(n, 4) OVER (ORDER BY n ROWS 5 PRECEDING) FROM w
SELECT SUM(n) OVER q FROM w WINDOW q AS (PARTITION BY n + 1 ORDER BY n + 2 RANGE 3 PRECEDING)
SELECT DISTINCT ON (n + 1) n + 2 FROM w ORDER BY n + 1
SELECT n + 1, COUNT(*) FROM w GROUP BY n + 1 HAVING COUNT(*) > 2
SELECT SUM(n) FILTER (WHERE n > 1) FROM w GROUP BY ROLLUP (n + 2)
SELECT n FROM w WHERE n IN (1, 2) AND n BETWEEN 3 AND 4 AND (n, 5) = (6, 7)
SELECT i FROM generate_series(1, 10, 2) g(i)
SELECT x FROM (VALUES (1), (2)) v(x)
SELECT x + 1 FROM (SELECT n + 2 AS x FROM w UNION SELECT 3 FROM w) q
SELECT CASE n WHEN 1 THEN 2 ELSE 3 END, COALESCE(n, 4), NULLIF(n, 5), GREATEST(n, 6) FROM w
SELECT ROUND(f::numeric, 1), TRUNC(f::numeric(9,3), 2), n % 3, POWER(n, 2), LOG(2, n) FROM w
SELECT SUBSTRING(kind FROM 1 FOR 2), LEFT(kind, 1), LPAD(kind, 3, 'x'), SPLIT_PART(kind, 'a', 1) FROM w
SELECT REPEAT('a', 2), CHR(65) FROM w
SELECT MAKE_DATE(2020, 1, 2), d + 1, d + INTERVAL '1 day', d + 2 * INTERVAL '1 day', DATE_TRUNC('month', ts) FROM w
SELECT WIDTH_BUCKET(n, 1, 10, 5) FROM w
SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY n + 1) FROM w
SELECT kind LIKE 'a%' ESCAPE '!', kind ~ 'abc', kind SIMILAR TO 'a', TRANSLATE(kind, 'a', 'b') FROM w
SELECT TO_CHAR(d, 'YYYY') FROM w
SELECT a.n FROM w a JOIN w b ON a.n = b.n + 1 LEFT JOIN w c ON c.n > 2
SELECT EXTRACT(YEAR FROM ts), EXTRACT(YEAR FROM AGE(ts, d)), CAST(n AS numeric(5,2)), n::varchar(3) FROM w
SELECT n = ANY(ARRAY[1, 2]), n <> ALL(ARRAY[3]) FROM w
SELECT n FROM w FETCH FIRST 3 ROWS ONLY
SELECT (d, d + 1) OVERLAPS (d, d + 2) FROM w
WITH q AS (SELECT n + 1 AS m FROM w) SELECT m + 2 FROM q WHERE EXISTS (SELECT 3 FROM w WHERE n = 4)
"""
TABLE = re.compile(r"\bt\b")
PLACE = re.compile(r"\b\d+(?:\.\d+)?\b|'[^']*'|\b(?:n|kind|d|ts)\b")


@pytest.mark.parametrize("statement", STATEMENTS.strip().splitlines())
@pytest.mark.parametrize("private", ["(SELECT COUNT(*) FROM t)", "(SELECT k FROM t LIMIT 1)"])
def test_no_subquery_is_forwarded(statement: str, private: str) -> None:
    dp4sql.explain(POLICY, statement)
    for place in PLACE.finditer(statement):
        sql = statement[: place.start()] + private + statement[place.end() :]
        try:
            found = dp4sql.explain(POLICY, sql)
        except Dp4sqlError:
            continue
        assert any(found.charges.values()) or not any(map(TABLE.search, found.reads)), sql
