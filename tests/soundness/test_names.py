"""A name that a client chooses is never taken for a column that it is not."""

from __future__ import annotations

import duckdb
import pytest

import dp4sql
from dp4sql.algebra.expr import Col
from dp4sql.algebra.naming import check_names
from dp4sql.algebra.nodes import Join, Project, Scan, Semi
from dp4sql.algebra.types import Type
from dp4sql.errors import InternalError, Unsupported

POLICY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "t": {
                "key": ["id"],
                "columns": {
                    "id": "integer",
                    "k": {"type": "integer", "range": [0, 1000]},
                    "w.n": {"type": "integer", "range": [0, 1000]},
                },
            },
            "w": {
                "key": ["id"],
                "rows": 3,
                "columns": {
                    "id": "integer",
                    "n": {"type": "integer", "range": [0, 1]},
                    "b.n": {"type": "integer", "range": [0, 1]},
                },
            },
        },
        "policies": {"p": {"entity": "t", "epsilon": 1, "labels": {"t": "del", "w": "pub"}}},
    }
)


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT w.n, q."w.n" AS m FROM w, (SELECT n + 5 AS "w.n" FROM w x) q ORDER BY 1, 2',
        'SELECT q."w.n" AS m, w.n FROM (SELECT n + 5 AS "w.n" FROM w x) q, w ORDER BY 1, 2',
        'SELECT a."b.n", "a.b".n FROM w a, w "a.b" ORDER BY 1, 2',
        'SELECT a.n, a."w.n" FROM (SELECT n, n * 2 AS "w.n" FROM w) a ORDER BY 1, 2',
    ],
)
def test_columns_of_two_names_are_two(sql: str) -> None:
    (read,) = dp4sql.explain(POLICY, sql).reads
    with duckdb.connect() as engine:
        engine.execute(
            'CREATE TABLE w AS SELECT i AS id, i % 2 AS n, 1 - i % 2 AS "b.n" FROM range(3) r(i)'
        )
        assert engine.execute(read).fetchall() == engine.execute(sql).fetchall()


@pytest.mark.parametrize(
    ("sql", "bound"),
    [
        (
            'SELECT SUM(q."w.n") FROM (SELECT k + 0 AS "w.n", id FROM t) q JOIN w ON q.id = w.id',
            1000,
        ),
        ('SELECT SUM(w.n) FROM (SELECT k + 0 AS "w.n", id FROM t) q JOIN w ON q.id = w.id', 1),
        (
            'SELECT SUM(q."w.n") FROM w JOIN (SELECT k + 0 AS "w.n", id FROM t) q ON q.id = w.id',
            1000,
        ),
        ('SELECT SUM(w.n) FROM w JOIN (SELECT k + 0 AS "w.n", id FROM t) q ON q.id = w.id', 1),
        ('SELECT SUM("a.w".n) FROM t a JOIN w "a.w" ON a.id = "a.w".id', 1),
        ('SELECT SUM(a."w.n") FROM t a JOIN w "a.w" ON a.id = "a.w".id', 1000),
    ],
)
def test_the_bound_is_that_of_the_column_that_is_added_up(sql: str, bound: int) -> None:
    found = dp4sql.explain(POLICY, sql)
    assert found.aggregates[0].bounds["p"] == bound
    (read, *_) = found.reads
    rows = 'SELECT range::INTEGER AS id, 1000 AS k, 1000 AS "w.n" FROM range(2)'
    with duckdb.connect() as engine:
        engine.execute(f"CREATE TABLE t AS {rows}")
        engine.execute(
            'CREATE TABLE w AS SELECT range::INTEGER AS id, 1 AS n, 1 AS "b.n" FROM range(2)'
        )
        assert engine.execute(read).fetchall() == [(2 * bound,)]


TWICE = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "p": {
                "key": ["id"],
                "rows": 9,
                "columns": {"id": "integer", "x": {"type": "integer", "range": [0, 9]}},
            },
            "q": {
                "key": ["qid"],
                "rows": 9,
                "max_frequency": {"id": 3, "n": 3},
                "foreign_keys": {"id": "p"},
                "columns": {"qid": "integer", "id": "integer", "n": "integer"},
            },
        },
        "policies": {
            "r": {"entity": "p", "epsilon": 1, "labels": {"p": {"rep": ["x"]}, "q": "pub"}}
        },
    }
)
JOINED = "SELECT p.id, p.x AS m, p.x AS n, q.qid FROM p LEFT JOIN q"
BOTH = {
    "X-GrpLeft": f"SELECT id, m, n, COUNT(qid) FROM ({JOINED} ON q.n = p.id) t GROUP BY id, m, n",
    "X-GrpHang": f"SELECT id, m, n, COUNT(qid) FROM ({JOINED} ON q.id = p.id) t GROUP BY id, m, n",
    "X-GrpKey": "SELECT id, m, n, COUNT(*) FROM (SELECT id, x AS m, x AS n FROM p) t GROUP BY id, m, n",
    "X-Union": "SELECT x AS m, x AS n FROM p UNION ALL SELECT 1, 2",
    "X-Distinct": "SELECT DISTINCT id, x AS m, x AS n FROM p",
    "T-Join": "SELECT a.x AS m, a.x AS n FROM p a JOIN p b ON a.id = b.x",
}


@pytest.mark.parametrize("name", ["m", "n"])
@pytest.mark.parametrize("rule", BOTH)
def test_a_column_of_two_names_is_private_by_both(rule: str, name: str) -> None:
    """By one of them it was public, and its values were shown as they are."""
    found = dp4sql.explain(TWICE, f"SELECT {name}, COUNT(*) FROM ({BOTH[rule]}) u GROUP BY {name}")
    assert f"({rule})" in found.text()
    assert found.aggregates[0].bounds["r"] >= 2


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM w a LEFT JOIN w b ON b.id = t.k WHERE a.id = 1)",
        "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM w WHERE w.id = t.id AND t.k IN (SELECT id FROM w))",
        "SELECT SUM(k) FROM t WHERE EXISTS (SELECT 1 FROM w WHERE w.id = t.id AND (t.k IN (SELECT n FROM w) OR n=1))",
    ],
)
def test_columns_from_too_far_outside_are_refused(sql: str) -> None:
    with pytest.raises(Unsupported):
        dp4sql.explain(POLICY, sql)


def test_columns_of_one_name_are_no_tree() -> None:
    """Whatever is known of a column is kept by its name."""
    scan = Scan(POLICY.schema.table("t"), "t")
    other = Scan(POLICY.schema.table("w"), "u")
    k = Col("t.k", Type("integer"))
    for tree in (
        Join(scan, Project(other, (("t.k", Col("u.n", Type("integer"))),)), "inner", ()),
        Join(scan, Project(scan, (("k", k),)), "inner", ()),
        Project(scan, (("k", k), ("k", Col("t.id", Type("integer"))))),
        Semi(scan, Project(other, (("t.k", Col("u.n", Type("integer"))),)), (), None, anti=False),
    ):
        with pytest.raises(InternalError):
            check_names(tree)
    check_names(Join(scan, other, "inner", (("t.id", "u.id"),)))
