"""Numbers that no double holds, and places that no text has: an engine that failed on them would fail on the
rows that come so far, and so tell that there are some."""

from __future__ import annotations

import asyncpg
import duckdb
import pytest

import dp4sql
from dp4sql.errors import NumberOutOfRange
from dp4sql.mechanisms.reading import histogram_sql
from dp4sql.pipeline.preparation import prepare, stage_sql
from dp4sql.sql.dialects import DIALECTS, DUCKDB, POSTGRES, Dialect
from tests.functions.conftest import Run

COLUMNS = {
    "id": "integer",
    "i": "integer",
    "b": "bigint",
    "r": "real",
    "f": "double precision",
    "s": "text",
    "n": "numeric",
    "ts": "timestamp",
}
POLICY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "wide": {
                "key": ["id"],
                "columns": COLUMNS | {"m": {"type": "numeric", "range": [0, 9], "nullable": True}},
            }
        },
        "policies": {"p": {"entity": "wide", "epsilon": 1, "labels": {"wide": "del"}}},
    }
)
TABLE = f"CREATE TABLE wide ({', '.join(f'{n} {t}' for n, t in COLUMNS.items())}, m {{}})"
ANYWHERE = [
    "SUBSTRING(s, 9223372036854775807) = 'x'",
    "SUBSTRING(s, 9223372036854775807, 9223372036854775807) = 'x'",
    "SUBSTRING(s, i, 9223372036854775807) = 'x'",
    "LEFT(s, -9223372036854775807) = 'x'",
    "RIGHT(s, 99999999999) = 'x'",
    "ts + INTERVAL '1000000 years' > ts",
    "ts - INTERVAL '1000000 years 3000 days' > ts",
    "(CASE WHEN i = 1 THEN 1e100 ELSE r END) > n",
    "(CASE WHEN i = 1 THEN 1e-300 ELSE r END) > n * 0.5",
    "f > 1e300",
    "ABS(CASE WHEN i = 1 THEN -9223372036854775808 ELSE 1 END) > 1",
    "(- CASE WHEN i = 1 THEN -9223372036854775808 ELSE 1 END) > 1",
    "NULLIF(i, f) > 1",
    "NULLIF(n, f) > f",
]
ON_POSTGRES = [
    *("n > f", "n = r", "n > SQRT(f)", "n > i / 3.0", "COALESCE(n, f) > 1", "LEAST(r, n) > 1"),
    *("GREATEST(n, f, r) > 1", "CASE WHEN i = 1 THEN n ELSE f END > 1", "n IS DISTINCT FROM f"),
    *("SQRT(n) > 1", "n * n > 1", "n::real > 1", "n::double precision > 1", "NULLIF(n, r) > 1"),
]
BEYOND = ["i > 1e400", "f * 1e309 > 1", "f < -1e400", "f > 1e-400", "i + 1e-330 > 1"]


def read(sql: str, dialect: Dialect) -> str:
    prepared = prepare(POLICY, sql, ())
    (stage,) = prepared.plan.stages
    return stage_sql(stage, prepared.facts, dialect, {}) or ""


def counted(expression: str) -> str:
    return f"SELECT COUNT(*) FROM wide WHERE id < 9 AND {expression}"


@pytest.fixture(scope="module")
def in_duckdb() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(TABLE.replace("n numeric", "n DECIMAL(38,3)").format("DECIMAL(38,3)"))
    connection.execute("INSERT INTO wide VALUES (1, 1, 1, 'NaN', 'NaN', 'x', 1, '1500-01-01', 1)")
    connection.execute("INSERT INTO wide VALUES (2, 1, 1, 'inf', '-inf', 'x', 1, '0001-01-01', 1)")
    return connection


@pytest.fixture(scope="module")
def on_postgres(run: Run, plain: asyncpg.Connection) -> asyncpg.Connection:
    run(plain.execute("SET search_path = public"))
    run(plain.execute(TABLE.format("numeric")))
    for id, n in enumerate(("1e400", "-1e400", "1e-400", "NaN", "1")):
        moment = f"1500-01-0{id + 1}"
        row = f"{id}, 1, 1, 1e-40, 1e-310, 'x', '{n}', '{moment}', '{n}'"
        run(plain.execute(f"INSERT INTO wide VALUES ({row})"))
    return plain


@pytest.mark.parametrize("expression", ANYWHERE)
def test_on_duckdb(expression: str, in_duckdb: duckdb.DuckDBPyConnection) -> None:
    assert len(in_duckdb.execute(read(counted(expression), DUCKDB)).fetchall()) == 1


@pytest.mark.parametrize("expression", [*ANYWHERE, *ON_POSTGRES])
def test_on_postgres(expression: str, run: Run, on_postgres: asyncpg.Connection) -> None:
    assert len(run(on_postgres.fetch(read(counted(expression), POSTGRES)))) == 1


def test_sums_and_ranks_on_postgres(run: Run, on_postgres: asyncpg.Connection) -> None:
    """Clamped to 0 to 9: one above, one below, one next to 0, NaN as the largest of all, and 1."""
    ((total,),) = run(on_postgres.fetch(read("SELECT SUM(m) FROM wide", POSTGRES)))
    assert total == (9 + 0 + 0 + 9 + 1) * 10**6
    prepared = prepare(POLICY, "SELECT MEDIAN(m) FROM wide", ())
    ((_, release),) = prepared.plan.releases()
    places = run(on_postgres.fetch(histogram_sql(release, 0, prepared.facts, POSTGRES, {})))
    assert sum(n for _, n in places) == 5


@pytest.mark.parametrize("expression", BEYOND)
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_constants_beyond_every_double_are_refused(expression: str, dialect: Dialect) -> None:
    with pytest.raises(NumberOutOfRange):
        read(counted(expression), dialect)


@pytest.mark.parametrize("constant", ["'x'", "1.5", "-1", "TRUE", "NULL", "7"])
def test_constants_are_no_positions_of_columns(
    constant: str, run: Run, on_postgres: asyncpg.Connection
) -> None:
    inner = f"SELECT {constant} AS c, COUNT(*) AS n FROM wide GROUP BY 1"
    text = read(f"SELECT COUNT(*) FROM ({inner}) t WHERE n > 1", POSTGRES)
    assert run(on_postgres.fetch(text))[0][0] == 1
