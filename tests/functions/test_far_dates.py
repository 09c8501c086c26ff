"""Dates and timestamps at the ends of either engine's calendar fail nowhere."""

from __future__ import annotations

from pathlib import Path

import asyncpg
import duckdb
import pytest

import dp4sql
from dp4sql.pipeline.preparation import prepare, stage_sql
from dp4sql.sql.dialects import DUCKDB, POSTGRES, Dialect
from tests.functions.conftest import Run

TYPES = {"dt": "date", "ts": "timestamp", "tz": "timestamptz"}
POLICY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {"far": {"key": ["id"], "columns": {"id": "integer"} | TYPES}},
        "policies": {"p": {"entity": "far", "epsilon": 1, "labels": {"far": "del"}}},
    }
)
TABLE = "CREATE TABLE far (id integer, dt date, ts timestamp, tz timestamptz)"
EXPRESSIONS = [
    *(f"{t}::{kind} > '2000-01-01'" for t in TYPES for kind in TYPES.values()),
    *(f"{t} + INTERVAL '1 month' > '2000-01-01'" for t in TYPES),
    *(f"{t} - INTERVAL '100 years' > '2000-01-01'" for t in TYPES),
    *(f"DATE_TRUNC('{unit}', {t}) > ts" for t in TYPES for unit in ("second", "week", "decade")),
    *(f"EXTRACT({part} FROM {t}) + 1 > 1" for t in TYPES for part in ("year", "epoch", "doy")),
    *(
        "COALESCE(dt, ts) > ts",
        "GREATEST(dt, tz) > tz",
        "CASE WHEN id > 1 THEN dt ELSE ts END > ts",
    ),
    *("NULLIF(ts, dt) > ts", "dt = ts", "dt - dt > 1", "dt + id > dt"),
]


def read(expression: str, dialect: Dialect) -> str:
    prepared = prepare(POLICY, f"SELECT COUNT(*) FROM far WHERE {expression}", ())
    (stage,) = prepared.plan.stages
    text = stage_sql(stage, prepared.facts, dialect, {})
    assert text is not None
    return text


def row(id: int, day: str, moment: str) -> str:
    return f"INSERT INTO far VALUES ({id}, '{day}', '{moment}', '{moment}')"


@pytest.fixture(scope="module")
def far(run: Run, plain: asyncpg.Connection) -> asyncpg.Connection:
    run(plain.execute("SET search_path = public"))
    run(plain.execute(TABLE))
    ends = [("5874897-12-31", "294276-12-31"), ("4714-12-31 BC", "4714-12-31 BC")]
    for id, (day, moment) in enumerate(
        [*ends, ("infinity", "infinity"), ("-infinity", "-infinity")]
    ):
        run(plain.execute(row(id, day, moment)))
    return plain


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_on_postgres(expression: str, run: Run, far: asyncpg.Connection) -> None:
    assert len(run(far.fetch(read(expression, POSTGRES)))) == 1


def test_no_withheld_date_fails_a_profile(
    run: Run, url: str, far: asyncpg.Connection, tmp_path: Path
) -> None:
    """Python has fewer years than Postgres, and an error would tell of what is withheld."""
    scored = {"domain": "isco08", "scorer": ["lexical"], "values": "free_text"}
    fields = {name: {"column": f"far.{name}", **scored} for name in TYPES}
    content = {
        "dp4sql": 1,
        "tables": {"far": {"key": ["id"], "columns": {"id": "integer"} | TYPES}},
        "policies": {"p": {"entity": "far", "epsilon": 1, "labels": {"far": {"rep": list(TYPES)}}}},
        "profiles": {"all": {"entity": "far", "fields": fields}},
    }
    opened = dp4sql.open_pipeline(policy=content, database=url, ledger=tmp_path / "ledger")
    for id in range(4):
        sql = f"SELECT value FROM dp4sql.release_profile(entity => {id})"
        assert len(run(opened.query(sql)).rows) == len(TYPES)
    run(opened.close())


@pytest.fixture(scope="module")
def in_duckdb() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(TABLE)
    ends = [("5874897-12-31", "290308-12-21"), ("4713-12-31 (BC)", "4713-12-31 (BC)")]
    for id, (day, moment) in enumerate(
        [*ends, ("infinity", "infinity"), ("-infinity", "-infinity")]
    ):
        connection.execute(row(id, day, moment))
    return connection


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_on_duckdb(expression: str, in_duckdb: duckdb.DuckDBPyConnection) -> None:
    assert len(in_duckdb.execute(read(expression, DUCKDB)).fetchall()) == 1
