"""One row takes every extreme value in turn: no measured column may move further than its bound.

Casts, CASE and arithmetic that make NULL, NaN or infinity of a value before it is clamped, integer
division and overflow, on both engines, and no value may make an engine fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import asyncpg
import duckdb
import numpy as np
import pytest

import dp4sql
from dp4sql.mechanisms.ranks import Rank, scores
from dp4sql.mechanisms.reading import histogram_sql, read_sql
from dp4sql.mechanisms.release import integers
from dp4sql.mechanisms.stages import Release
from dp4sql.pipeline.preparation import prepare
from dp4sql.sql.dialects import DUCKDB, POSTGRES, Dialect
from tests.functions.conftest import Run

TYPES = {
    "x": ({"type": "double precision", "range": [5, 10]}, "double precision"),
    "y": ({"type": "integer", "range": [3, 8], "nullable": True}, "integer"),
    "z": ({"type": "numeric(12,2)", "range": [10, 20]}, "numeric(12,2)"),
    "q": ({"type": "real"}, "real"),
    "w": ({"type": "bigint"}, "bigint"),
    "t": ({"type": "text", "nullable": True}, "text"),
    "d": ({"type": "date", "range": ["2000-01-01", "2000-12-31"]}, "date"),
}
POLICY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "p": {
                "key": ["id"],
                "rows": 10,
                "columns": {"id": "integer"} | {name: c for name, (c, _) in TYPES.items()},
            }
        },
        "policies": {"all": {"entity": "p", "epsilon": 1, "labels": {"p": {"rep": list(TYPES)}}}},
    }
)
DECLARED = ", ".join(f"{name} {type}" for name, (_, type) in TYPES.items())
TABLE = f"CREATE TABLE {{}} (id integer, {DECLARED})"
USUAL = "7, 5, 15, 1, 1, '1', '2000-06-01'"

#: A row's values; what a policy declares NOT NULL can be NULL in the engine all the same.
EXTREMES = [
    USUAL,
    "NULL, NULL, NULL, NULL, NULL, NULL, NULL",
    "'NaN', 0, 0, 'NaN', 0, '', '2000-01-01'",
    "'Infinity', 2147483647, 9999999999.99, 'Infinity', 9223372036854775807, 'NaN', 'infinity'",
    "'-Infinity', -2147483648, -9999999999.99, '-Infinity', -9223372036854775808, '-1', '-infinity'",
    "1e308, 1, 0.01, 3e38, 1, '99999999999999999999', '9999-12-31'",
    "-1e308, -1, -0.01, -3e38, -1, '1e9', '0001-01-01'",
    "1e-308, 100, 1, 1e-38, 2, '2147483648', '1999-12-31'",
    "0, 3, 10, 0, 4611686018427387904, 'x', '2000-12-31'",
]

SUMMED = [
    *("x", "y", "z", "-x", "ABS(x)", "x * 2 - 1", "z * y", "z - y", "x + z", "y * y", "y / 2", "7 / y"),
    *("y % 3", "z / 2", "z % 3", "ROUND(z)", "ROUND(z, -1)", "ROUND(x)", "FLOOR(x)", "CEIL(z / 4)"),
    *("SIGN(x)", "SIGN(z)", "SIGN(y)", "COALESCE(y, 4)", "COALESCE(y, 8)", "NULLIF(y, 5)"),
    *("NULLIF(z, 15.00)", "GREATEST(x, 6)", "LEAST(x, 9, y)", "LEAST(GREATEST(w, 2), 9)"),
    *("GREATEST(LEAST(q, 4), 1)", "GREATEST(LEAST(SQRT(x), 3), 1)", "GREATEST(LEAST(LN(x), 3), 1)"),
    *("GREATEST(LEAST(EXP(x), 3), 1)", "GREATEST(LEAST(POWER(x, y), 3), 1)"),
    *("GREATEST(LEAST(x * q, 3), 1)", "GREATEST(LEAST(x / q, 3), 1)", "LEAST(GREATEST(w * w, 1), 3)"),
    *("LEAST(GREATEST(t::integer, 1), 3)", "LEAST(GREATEST(t::numeric, 1.5), 3)", "y::numeric(3,1)"),
    *("z::numeric(3,1)", "z::integer", "x::integer", "x::numeric(4,2)", "y::smallint", "x::real"),
    *("CASE WHEN x > 6 THEN y END", "CASE WHEN x > 6 THEN y ELSE z END", "CASE WHEN y > 4 THEN 1 ELSE 0 END"),
    *("CASE WHEN x = 'NaN' THEN 40 ELSE 30 END", "ROUND(CASE WHEN y > 4 THEN 44 ELSE 6 END, -1)"),
    *("CASE WHEN y IS NULL THEN 9 ELSE y END", "CASE WHEN d > '2000-02-01' THEN z END"),
    *("EXTRACT(YEAR FROM d)", "EXTRACT(MONTH FROM d)", "EXTRACT(DOW FROM d)", "d - date '1999-01-01'"),
    *("EXTRACT(YEAR FROM d + y)", "EXTRACT(MONTH FROM d + INTERVAL '1 month')", "y - y"),
    *("TRUNC(z, 1)", "TRUNC(z, -1)", "DIV(y, 2)", "LEAST(GREATEST(LOG(x), 0), 3)", "EXTRACT(ISOYEAR FROM d)"),
    *("EXTRACT(YEAR FROM AGE(d, '1990-07-01'))", "EXTRACT(MONTH FROM AGE(d, '1990-07-01'))"),
    *("LEAST(LENGTH(LPAD(t, 3, 'x')), 3)", "LEAST(ASCII(t), 60)", "CASE WHEN t ~ '^[0-9]+$' THEN y ELSE 3 END"),
    *("CASE WHEN (x, y) IN ((7, 5), (6, 4)) THEN y ELSE 8 END", "CASE WHEN y BETWEEN SYMMETRIC 6 AND 3 THEN z END"),
    *("LEAST(LENGTH(t), 5)", "EXTRACT(YEAR FROM date_trunc('year', d))"),
]  # fmt: skip

#: Arithmetic on columns that are each held in their range.
HELD = [
    *("z", "z * (1 - z) * (1 + z)", "3 * z - y * 2", "(z - 15) * (z - 12)", "2 - z * z * z", "z * y - z"),
    *("CASE WHEN d > '2000-02-01' THEN z * (z - 5) ELSE 2 - z END", "CASE WHEN t = '1' THEN z * y END"),
    "LEAST(GREATEST(EXTRACT(DAY FROM d::timestamp - '1999-01-01'), 0), 700)",
]  # fmt: skip

COUNTED = [
    *("x", "y", "x * x", "x / y", "z / y", "7 % y", "SQRT(x - 6)", "t::integer", "t::boolean", "w::integer"),
    *("z::numeric(3,1)", "EXTRACT(YEAR FROM d)", "NULLIF(y, 5)", "CASE WHEN y > 4 THEN 1 END", "x::real"),
    *("d + 100000", "x + x", "COALESCE(t, NULL)", "d - d", "EXP(x)", "t::numeric"),
    *("MAKE_DATE(y, y, 31)", "MAKE_DATE(w::integer, 2, y)", "LOG(2, z - 12)", "d + y * INTERVAL '1 day'"),
    "SPLIT_PART(t, '9', 2)",
    *("EXTRACT(EPOCH FROM d::timestamp - (d + y)::timestamp)", "(d, d + y) OVERLAPS (d - y, INTERVAL '1 day')"),
]  # fmt: skip

MONTHS = "generate_series(DATE '2000-01-01', DATE '2000-12-01', INTERVAL '1 month') AS s(m)"

#: Keys that are computed for a join, of rows with any value; rows that find none are padded.
SPINES = [
    (MONTHS, "DATE_TRUNC('month', d) = s.m"),
    (MONTHS, "d = s.m"),
    ("generate_series(1, 12) AS s(m)", "EXTRACT(MONTH FROM d) = s.m"),
    ("generate_series(1, 12) AS s(m)", "s.m = y + 1"),
    ("generate_series(1, 12) AS s(m)", "s.m = ROUND(z)"),
]

QUERIES = (
    [f"SELECT SUM({e}), AVG({e}), VARIANCE({e}) FROM p" for e in SUMMED]
    + [f"SELECT SUM({e}), AVG({e}), COUNT(*) FROM p WHERE w <> 3" for e in HELD]
    + [f"SELECT SUM(v), AVG(v) FROM (SELECT {e} AS v FROM p) s" for e in HELD]
    + [f"SELECT y > 4 AS k, SUM({e}) FROM p GROUP BY 1" for e in SUMMED]
    + [f"SELECT COUNT({e}), COUNT(DISTINCT {e}) FROM p" for e in COUNTED]
    + [f"SELECT COUNT(*) FROM p WHERE {e} > 0" for e in SUMMED]
    + [f"SELECT SUM(v) FROM (SELECT {e} AS v FROM p WHERE x > 0) s" for e in SUMMED]
    + [
        f"SELECT m, COUNT(id), SUM(y), COUNT(*) FROM {s} LEFT JOIN p ON {on} GROUP BY m"
        for s, on in SPINES
    ]
)

Values = Callable[[str], list[tuple[Any, ...]]]


def release(sql: str) -> tuple[Release, Callable[[Dialect], str]]:
    prepared = prepare(POLICY, sql, ())
    ((_, found),) = prepared.plan.releases()
    return found, lambda dialect: read_sql(found, prepared.facts, dialect, {})


def measured(found: Release, rows: list[tuple[Any, ...]]) -> list[list[int]]:
    """The exact integers of each measurement, a column each."""
    return [integers(column) for column in list(zip(*rows, strict=True))[len(found.node.keys) :]]


def check(found: Release, seen: list[list[list[int]]]) -> None:
    for i, measurement in enumerate(found.measurements):
        bound = measurement.bounds["all"]
        columns_ = [world[i] for world in seen]
        moved = max(
            sum(abs(Fraction(a) - b) for a, b in zip(before, after, strict=True))
            for before in columns_
            for after in columns_
        )
        assert moved <= bound, f"{measurement.quantity.sql()} moves by {moved}, not {bound}"


@pytest.fixture(scope="module")
def in_duckdb() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for i, values in enumerate(EXTREMES):
            connection.execute(f"CREATE SCHEMA w{i}")
            connection.execute(TABLE.format(f"w{i}.p"))
            connection.execute(f"INSERT INTO w{i}.p VALUES (1, {USUAL}), (2, {values})")
        yield connection


@pytest.fixture(scope="module")
def in_postgres(run: Run, url: str) -> Iterator[asyncpg.Connection]:
    connection = run(asyncpg.connect(url, server_settings={"TimeZone": "UTC"}))
    for i, values in enumerate(EXTREMES):
        run(connection.execute(f"CREATE SCHEMA w{i}"))
        run(connection.execute(TABLE.format(f"w{i}.p")))
        run(connection.execute(f"INSERT INTO w{i}.p VALUES (1, {USUAL}), (2, {values})"))
    yield connection
    run(connection.close())


@pytest.mark.parametrize("sql", QUERIES)
def test_no_value_moves_a_measurement_beyond_its_bound(
    sql: str, run: Run, in_duckdb: duckdb.DuckDBPyConnection, in_postgres: asyncpg.Connection
) -> None:
    found, text = release(sql)
    seen: list[list[list[int]]] = []
    on_duckdb, on_postgres = text(DUCKDB), text(POSTGRES)
    for i in range(len(EXTREMES)):
        in_duckdb.execute(f"SET schema = 'w{i}'")
        seen.append(measured(found, in_duckdb.execute(on_duckdb).fetchall()))
    check(found, seen)
    for i, wanted in enumerate(seen):
        run(in_postgres.execute(f"SET search_path = w{i}"))
        rows = [tuple(row) for row in run(in_postgres.fetch(on_postgres))]
        assert measured(found, rows) == wanted, EXTREMES[i]


CHOSEN = [
    "x",
    "y",
    "z",
    "GREATEST(LEAST(q, 4), 1)",
    "EXTRACT(MONTH FROM d)",
    "d",
    "d + INTERVAL '1 month'",
]
CHOSEN += [
    "DATE_TRUNC('month', d)",
    "CASE WHEN y > 4 THEN d END",
    "DATE_TRUNC('day', d)::timestamptz",
]


@pytest.mark.parametrize("argument", CHOSEN)
@pytest.mark.parametrize("group", ["", " GROUP BY y > 4"])
def test_no_value_moves_a_choice_beyond_its_bound(
    argument: str,
    group: str,
    run: Run,
    in_duckdb: duckdb.DuckDBPyConnection,
    in_postgres: asyncpg.Connection,
) -> None:
    """Of each bin's scores the one that moves furthest, added up over the bins."""
    kinds = ["MIN({})", "MAX({})", *(f"QUANTILE_DISC({{}}, {f})" for f in (0.5, 0.25, 0.9))]
    sql = f"SELECT {', '.join(k.format(argument) for k in kinds)} FROM p{group}"
    prepared = prepare(POLICY, sql, ())
    ((_, found),) = prepared.plan.releases()
    assert len(found.measurements) == len(kinds)
    for i, measurement in enumerate(found.measurements):
        rank = measurement.quantity.rank
        assert rank is not None
        seen = []
        texts = [histogram_sql(found, i, prepared.facts, d, {}) for d in (DUCKDB, POSTGRES)]
        for world in range(len(EXTREMES)):
            in_duckdb.execute(f"SET schema = 'w{world}'")
            run(in_postgres.execute(f"SET search_path = w{world}"))
            rows = sorted(in_duckdb.execute(texts[0]).fetchall(), key=str)
            others = run(in_postgres.fetch(texts[1]))
            assert sorted(map(tuple, others), key=str) == rows, EXTREMES[world]
            seen.append({scale: scored(rank, rows, scale) for scale in (0, 3)})
        for scale in (0, 3):
            moved = max(lost(rank, a[scale], b[scale]) for a, b in combinations(seen, 2))
            assert moved <= measurement.bounds["all"]


def scored(rank: Rank, rows: list[tuple[Any, ...]], scale: int) -> dict[Any, np.ndarray]:
    bins: dict[Any, list[int]] = {key: [0] * rank.grid.candidates for key in (True, False, None, 1)}
    for *key, place, n in rows:
        bins[key[0] if key else 1][place] += n
    return {key: np.array(scores(rank, column, Fraction(scale))) for key, column in bins.items()}


def lost(rank: Rank, a: dict[Any, np.ndarray], b: dict[Any, np.ndarray]) -> int:
    """In each bin twice the largest change of a score; for MIN and MAX how far apart any two changes lie."""
    changes = [a[k] - b[k] for k in a]
    return sum(int(c.max() - c.min() if rank.target else 2 * np.abs(c).max()) for c in changes)
