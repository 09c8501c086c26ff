"""No value in a private row makes an engine fail: an error would tell that there is such a row.

Every expression here once did. One row has the values at which it fails, one has none of them.
"""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dp4sql
from dp4sql.errors import Refused, TooComplex, Unsupported

COLUMNS: dict[str, tuple[Any, str]] = {
    "id": ("integer", "INTEGER"),
    "i": ("integer", "INTEGER"),
    "a": ("bigint", "BIGINT"),
    "n": ("numeric(38,0)", "DECIMAL(38,0)"),
    "m": ("numeric(20,10)", "DECIMAL(20,10)"),
    "u": ("numeric", "DECIMAL(38,0)"),
    "s": ("text", "VARCHAR"),
}
POLICY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "t": {"key": ["id"], "columns": {c: type for c, (type, _) in COLUMNS.items()}},
            "w": {"key": ["name"], "columns": {"name": "text", "note": "text"}},
        },
        "policies": {"p": {"entity": "t", "epsilon": 9, "labels": {"t": "del", "w": "pub"}}},
    }
)
CALM = [(id, 1, 1, 1, 1, 1, "x") for id in (1, 2, 3)]
WILD = [
    (
        id,
        sign * (2**31 - 1),
        sign * (2**63 - 1),
        sign * (10**38 - 1),
        sign,
        sign * (10**38 - 1),
        "x",
    )
    for id, sign in ((1, 1), (2, -1), (3, 1), (4, 1), (5, 1))
]

WIDE = "(SELECT i, i * i * i AS p FROM t) q"
SUMS = "(SELECT s, SUM({}) AS p FROM t GROUP BY s) q"
ANSWERED = [
    # A product that leaves its type, through a subquery, an aggregate, a UNION or a function.
    f"SELECT COUNT(*) FROM {WIDE} WHERE p + 1 > 1",
    f"SELECT COUNT(*) FROM {WIDE} WHERE p::bigint > 1",
    "SELECT COUNT(*) FROM (SELECT i * i * i AS p FROM t UNION ALL SELECT a FROM t) q WHERE p + 1 > 1",
    "SELECT COUNT(*) FROM (SELECT a * a AS p FROM t UNION ALL SELECT m FROM t) q WHERE p > 1",
    "SELECT COUNT(*) FROM (SELECT s, MAX(i * i * i) AS p FROM t GROUP BY s) q WHERE p + 1 > 1",
    "SELECT COUNT(*) FROM t WHERE (i * i * i)::bigint > 1",
    "SELECT COUNT(*) FROM t WHERE NULLIF(i * i * i, 0) + 1 > 1",
    "SELECT COUNT(*) FROM t WHERE i * i * i / 1 + 1 > 1",
    "SELECT COUNT(*) FROM t WHERE ABS(i * i * i) > 1",
    "SELECT COUNT(*) FROM (SELECT a * a AS p FROM t) q WHERE p::integer > 1",
    "SELECT COUNT(*) FROM (SELECT a * a AS p FROM t) q WHERE p::numeric > 1",
    # Sums that run out of digits.
    f"SELECT COUNT(*) FROM {SUMS.format('a * a')} WHERE p > 1",
    f"SELECT COUNT(*) FROM {SUMS.format('n')} WHERE p > 1",
    "SELECT COUNT(*) FROM (SELECT s, AVG(n) AS p FROM t GROUP BY s) q WHERE p > 1",
    # Numbers that no exact type of the engine holds together.
    "SELECT COUNT(*) FROM t WHERE n > m",
    "SELECT COUNT(*) FROM t WHERE n IN (1.5, 2)",
    "SELECT COUNT(*) FROM t WHERE a IN (1, 1.00000000000000000000000000000001)",
    "SELECT COUNT(*) FROM t WHERE i IN (99999999999999999999999999999999999999, 0.0000000001)",
    "SELECT COUNT(*) FROM t WHERE CASE WHEN a IN (1.00000000000000000000000000000001) THEN 1 END = 1",
    "SELECT COUNT(*) FROM t WHERE n BETWEEN 0.00001 AND 7",
    "SELECT COUNT(*) FROM t WHERE NULLIF(n, 1.5) > 1",
    "SELECT COUNT(*) FROM t WHERE COALESCE(n, m) > 1",
    "SELECT COUNT(*) FROM t WHERE CASE WHEN i = 1 THEN n ELSE m END > 1",
    "SELECT COUNT(*) FROM t WHERE u > m",
    "SELECT COUNT(*) FROM t WHERE a * a > 1.5",
    "SELECT COUNT(*) FROM t WHERE n::bigint > 1",
    f"SELECT COUNT(*) FROM {SUMS.format('a')} WHERE p > 0.0000000000000000000000000000001",
    # Decimals that an engine would hold as small integers, and what lies between two decimals.
    "SELECT COUNT(*) FROM t WHERE COALESCE(i, 2e9) + COALESCE(i, 2e9) > 1",
    "SELECT COUNT(*) FROM t WHERE COALESCE(a, 1e2) + COALESCE(a, 1e2) > 1",
    "SELECT COUNT(*) FROM t WHERE CASE WHEN i > 1 THEN 9e8 ELSE 1 END * CASE WHEN i > 1 THEN 9e8 ELSE 1 END > 1",
    "SELECT COUNT(*) FROM t WHERE ROUND(COALESCE(i, 1e2), -1) > 1",
    "SELECT COUNT(*) FROM (SELECT CASE WHEN i > 1 THEN 100 ELSE SIGN(i) END AS p FROM t) q WHERE p + p > 1",
    "SELECT COUNT(*) FROM (SELECT s, MEDIAN(n) AS p FROM t GROUP BY s) q WHERE p * p * p > 1",
    # Places in a text.
    "SELECT COUNT(*) FROM t WHERE LEFT(s, a) = 'x'",
    "SELECT COUNT(*) FROM t WHERE RIGHT(s, i * i * i) = 'x'",
    "SELECT COUNT(*) FROM t WHERE SUBSTRING(s, a, 2) = 'x'",
]
REFUSED = [
    "SELECT COUNT(*) FROM (SELECT a * a AS p FROM t) q WHERE p * p > 1",
    f"SELECT COUNT(*) FROM {WIDE} WHERE p * p > 1",
    f"SELECT COUNT(*) FROM {SUMS.format('i * i')} WHERE p + 1 > 1",
    "SELECT COUNT(*) FROM t WHERE ROUND(n, -2) > 1",
    # DuckDB compares both sides in the type of the right one, which holds no number beyond 10**6.
    "SELECT COUNT(*) FROM (SELECT a FROM t INTERSECT SELECT 1.00000000000000000000000000000001) q",
    "SELECT COUNT(*) FROM (SELECT a FROM t EXCEPT SELECT 1.00000000000000000000000000000001) q",
    "SELECT COUNT(*) FROM (SELECT n FROM t INTERSECT SELECT m FROM t) q",
]


LONG = "REPLACE(REPLACE(CASE WHEN i = 1 THEN 'x' ELSE '' END, 'x', '{0}'), 'x', '{0}')".format(
    "x" * 400
)
GROWN = f"REPLACE({{}}, 'x', '{'x' * 90}')"
SEALED = "(SELECT DISTINCT id, s || s || s || s || s || s || s || s || s || s || s AS s FROM {}) q"


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT COUNT(*) FROM t WHERE {LONG} = 'y'",
        f"SELECT COUNT(*) FROM {SEALED.format(SEALED.format('t'))} WHERE s || s = 'y'",
        "SELECT COUNT(*) FROM t WHERE REPLACE(s, 'x', s) = 'y'",
        # Through an aggregate, a list of values, a window over public rows.
        f"SELECT COUNT(*) FROM (SELECT i, {GROWN.format('MAX(s)')} AS s FROM "
        f"(SELECT i, {GROWN.format('s')} AS s FROM t) q GROUP BY i) r WHERE s = 'y'",
        f"SELECT COUNT(*) FROM t WHERE {GROWN.format('(SELECT MAX(name) FROM w)')} = s",
        f"SELECT COUNT(*) FROM t JOIN (VALUES (1, '{'x' * 5000}')) v (i, x) USING (i) "
        f"WHERE {GROWN.format('x')} = 'y'",
        f"SELECT COUNT(*) FROM t JOIN (SELECT name, LAG({GROWN.format('note')}) OVER (ORDER BY name) AS x "
        f"FROM w) v ON s = name WHERE {GROWN.format('x')} = 'y'",
    ],
)
def test_no_text_grows_beyond_what_engines_hold(sql: str) -> None:
    """REPLACE in REPLACE ran out of memory on the rows that had something to replace."""
    with pytest.raises(TooComplex, match="too long"):
        dp4sql.explain(POLICY, sql)


def test_no_subquery_brings_a_longer_text_than_is_counted_on(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "texts.duckdb")) as connection:
        declared = ", ".join(f"{c} {type}" for c, (_, type) in COLUMNS.items())
        connection.execute(f"CREATE TABLE t ({declared})")
        connection.execute(
            "CREATE TABLE w AS SELECT repeat('x', i::integer) AS name, '' AS note FROM range(9999, 10003, 2) r(i)"
        )
    pipeline = dp4sql.open_pipeline(
        policy=POLICY, database=f"duckdb:///{tmp_path / 'texts.duckdb'}", ledger=tmp_path / "ledger"
    )
    sql = "SELECT COUNT(*) FROM t WHERE s || (SELECT {}(name) FROM w) = 'y'"
    with asyncio.Runner() as runner:
        assert len(runner.run(pipeline.query(sql.format("MIN"))).rows) == 1
        with pytest.raises(TooComplex, match="more than 10000 characters"):
            runner.run(pipeline.query(sql.format("MAX")))
        runner.run(pipeline.close())


def _read(rows: list[Any], statements: tuple[str, ...]) -> list[Any]:
    with duckdb.connect() as connection:
        declared = ", ".join(f"{c} {type}" for c, (_, type) in COLUMNS.items())
        connection.execute(f"CREATE TABLE t ({declared})")
        marks = ", ".join("?" * len(COLUMNS))
        connection.executemany(f"INSERT INTO t VALUES ({marks})", rows)
        return [connection.execute(sql).fetchall() for sql in statements]


@pytest.mark.parametrize("sql", ANSWERED)
def test_no_value_makes_the_engine_fail(sql: str) -> None:
    reads = dp4sql.explain(POLICY, sql).reads
    assert reads
    assert len(_read(CALM, reads)) == len(_read(WILD, reads))


@pytest.mark.parametrize("sql", REFUSED)
def test_what_could_fail_is_refused(sql: str) -> None:
    with pytest.raises(Unsupported):
        dp4sql.explain(POLICY, sql)


@pytest.mark.parametrize(
    "aggregate",
    [
        "SUM(i::double precision * i)",
        "CORR(i::double precision * i, i)",
        "REGR_R2(ASCII(s), i)",
    ],
)
def test_a_range_that_no_double_holds_is_no_width_to_measure_by(aggregate: str) -> None:
    with pytest.raises(Refused, match="too wide"):
        dp4sql.explain(POLICY, f"SELECT {aggregate} FROM t WHERE i BETWEEN 1 AND 1e300")


@pytest.mark.parametrize("argument", ["m / 3", "u", "m * n"])
def test_sums_that_depend_on_the_order_of_rows_stay_above_the_release(argument: str) -> None:
    """Numbers of unknown size are binary fractions to the engine: a group of the same rows may have another sum."""
    with pytest.raises(Unsupported, match="order of rows"):
        dp4sql.explain(POLICY, f"SELECT COUNT(*) FROM {SUMS.format(argument)} WHERE p > 1")


@pytest.mark.parametrize("span", [[1_000_000_000, 1_000_000_000.5], [0, 1_000_000_000.3]])
@pytest.mark.parametrize("aggregate", ["SUM(x)", "AVG(x)", "VARIANCE(x)"])
def test_no_grid_is_finer_than_what_is_put_on_it(span: list[float], aggregate: str) -> None:
    """Around 1e9 doubles are 119 steps of 1e-9 apart: a longer step is taken, or none is."""
    column = {"type": "double precision", "range": span, "unit": 1e-9}
    policy = dp4sql.load_policy(
        {
            "dp4sql": 1,
            "tables": {"t": {"key": ["id"], "columns": {"id": "integer", "x": column}}},
            "policies": {"p": {"entity": "t", "epsilon": 1, "labels": {"t": "del"}}},
        }
    )
    try:
        explained = dp4sql.explain(policy, f"SELECT {aggregate} FROM t")
    except Refused:
        return
    measured = [m for found in explained.aggregates for m in found.measurements]
    steps = [m.unit ** (2 if m.kind == "sum_squares" else 1) for m in measured]
    low, high = span
    values = (low, high, math.nextafter(high, 0), math.nextafter(low, 9e9), 1e308, -1e308, math.nan)
    with duckdb.connect() as connection:
        for value in values:
            connection.execute(
                "CREATE OR REPLACE TABLE t AS SELECT 1 AS id, ?::DOUBLE AS x", [value]
            )
            row = connection.execute(explained.reads[0]).fetchone()
            assert row is not None
            for m, step, total in zip(measured, steps, row, strict=True):
                assert abs(total) * step <= m.bounds["p"]


def test_numbers_of_unknown_size_are_no_join_keys() -> None:
    """A quotient is a double: 2**53 equals two different keys there, so a key's frequency of 1 says nothing."""
    with duckdb.connect() as connection:
        sql = "SELECT COUNT(*) FROM (VALUES (9007199254740992), (9007199254740993)) x(id) WHERE x.id = ?::DOUBLE"
        assert connection.execute(sql, [2.0**53]).fetchone() == (2,)
    with pytest.raises(Refused):
        dp4sql.explain(
            POLICY, "SELECT COUNT(*) FROM (SELECT m / 1 AS v FROM t) y JOIN t x ON x.id = y.v"
        )


BIG = 10**18
OWNER = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "t": {"key": ["id"], "columns": {"id": "integer", "r": "numeric"}},
            "big": {
                "key": ["a"],
                "rows": 1000,
                "max_frequency": {"r": 1},
                "columns": {"a": "bigint", "r": "numeric"},
            },
        },
        "policies": {"p": {"entity": "t", "epsilon": 1, "labels": {"t": "del", "big": "pub"}}},
    }
)


@pytest.mark.parametrize(
    ("sql", "bound"),
    [
        (f"SELECT COUNT(*) FROM t, (SELECT 1 FROM big WHERE a = {BIG}) b", 1),
        (f"SELECT COUNT(*) FROM t, (SELECT 1 FROM big WHERE a = {BIG}.00) b", 1),
        # Compared in double precision, where 128 keys are equal.
        (f"SELECT COUNT(*) FROM t, (SELECT 1 FROM big WHERE a = {BIG}.{0:029}1) b", 1000),
        (f"SELECT COUNT(*) FROM t, (SELECT 1 FROM big WHERE r = {BIG}) b", 1000),
        ("SELECT COUNT(*) FROM t JOIN big USING (r)", 1000),
        (f"SELECT COUNT(*) FROM t JOIN (VALUES ({BIG}.1), ({BIG}.2)) v(r) USING (r)", 2),
    ],
)
def test_a_key_is_one_row_where_its_values_are_told_apart_alone(sql: str, bound: int) -> None:
    """The bound holds on DuckDB, which reads numbers of undeclared size in double precision."""
    explanation = dp4sql.explain(OWNER, sql)
    (found,) = explanation.aggregates
    assert found.measurements[0].bounds == {"p": bound}
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (id INTEGER, r DECIMAL(38,0))")
        connection.execute("CREATE TABLE big (a BIGINT, r DECIMAL(38,0))")
        connection.execute(f"INSERT INTO t VALUES (1, {BIG})")
        connection.execute(f"INSERT INTO big SELECT {BIG} + i, {BIG} + i FROM range(-50, 50) x(i)")
        (read,) = explanation.reads
        assert 1 <= connection.execute(read).fetchall()[0][0] <= bound


@pytest.mark.parametrize("share", ["0.1234567890123456789012345678", "0.00000000000000000001"])
def test_a_share_of_many_digits_has_scores_of_64_bits(share: str) -> None:
    """Scores beyond are cut to the end of the range, and no candidate is better than another."""
    policy = dp4sql.load_policy(
        {
            "dp4sql": 1,
            "tables": {
                "t": {
                    "key": ["id"],
                    "columns": {"id": "integer", "x": {"type": "integer", "range": [0, 9]}},
                }
            },
            "policies": {"p": {"entity": "t", "epsilon": 1, "labels": {"t": "del"}}},
        }
    )
    sql = f"SELECT PERCENTILE_CONT({share}) WITHIN GROUP (ORDER BY x) FROM t"
    (found,) = dp4sql.explain(policy, sql).aggregates
    assert found.measurements[0].bounds["p"] <= 2 * 10_000
