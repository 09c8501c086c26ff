"""What only a server does: time-outs, administrators, restarts, users and connections of others."""

from __future__ import annotations

import asyncio
import datetime
import logging
import math
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

import dp4sql
from dp4sql.algebra.expr import Interval_
from dp4sql.algebra.types import BIGINT, DATE, INTERVAL
from dp4sql.backends import open_backend
from dp4sql.backends.postgres import PostgresBackend
from dp4sql.errors import EngineError, QueryCanceled
from dp4sql.mechanisms.reading import histogram_sql
from dp4sql.pipeline.preparation import prepare
from dp4sql.rows import OutputColumn, listed
from dp4sql.sql.dialects import POSTGRES as POSTGRES_SQL
from dp4sql.sql.render.scalars import literal

from .conftest import PATIENCE, POSTGRES, SLOW, Run, filled
from .servers import restartable, server

ONE = [OutputColumn("n", BIGINT)]


@pytest.fixture(scope="module")
def running() -> Iterator[str]:
    with server(POSTGRES[max(POSTGRES)]) as url:
        yield filled(url)


OURS = "FROM pg_stat_activity WHERE application_name = 'dp4sql'"


def wait_until_none(url: str, sessions: str) -> None:
    """A server on a busy machine takes a moment to do as it is told."""
    deadline = time.monotonic() + PATIENCE
    with psycopg.connect(url, autocommit=True) as administrator:
        while found := administrator.execute(f"SELECT pid, query {sessions}".encode()).fetchall():
            assert time.monotonic() < deadline, found
            time.sleep(0.02)


@pytest.fixture
def backend(running: str, run: Run) -> Iterator[PostgresBackend]:
    opened = PostgresBackend(running)
    yield opened
    run(opened.close())


def test_the_time_limit_is_told_as_such(running: str, run: Run) -> None:
    limited = open_backend(f"{running}&statement_timeout=1s")
    with pytest.raises(QueryCanceled, match="the database ended the query") as raised:
        run(limited.fetch(SLOW, ONE))
    assert "statement_timeout" in (raised.value.hint or "")
    run(limited.ping())
    run(limited.close())


def test_a_server_that_drops_its_connections_is_found_again(
    running: str, backend: PostgresBackend, run: Run
) -> None:
    run(backend.ping())
    with psycopg.connect(running, autocommit=True) as administrator:
        administrator.execute(f"SELECT pg_terminate_backend(pid) {OURS}")
    wait_until_none(running, OURS)
    with suppress(EngineError):  # the connection at hand may be one of the dropped
        run(backend.ping())
    run(backend.ping())


@pytest.mark.parametrize("asked", ["", "&standard_conforming_strings=off"])
def test_a_backslash_ends_no_text_whatever_the_database_says(
    running: str, run: Run, asked: str
) -> None:
    """Where backslashes escape quotes, what a client wrote after one would be read as SQL."""
    with psycopg.connect(running, autocommit=True) as administrator:
        name = administrator.info.dbname
        administrator.execute(f'ALTER DATABASE "{name}" SET standard_conforming_strings = off')  # type: ignore[arg-type,unused-ignore]
        try:
            opened = PostgresBackend(running + asked)
            text = "\\', version() -- "
            found = run(opened.fetch(f"SELECT {POSTGRES_SQL.string(text)} AS x", ONE))
            assert list(found.open_columns()) == [(text,)]
            run(opened.close())
        finally:
            administrator.execute(f'ALTER DATABASE "{name}" RESET standard_conforming_strings')  # type: ignore[arg-type,unused-ignore]


def test_dates_and_intervals_mean_the_same_whatever_the_database_says(
    running: str, run: Run
) -> None:
    moved = literal(Interval_(-1, 2, 0), INTERVAL, POSTGRES_SQL)
    sql = f"SELECT CAST(CAST(DATE '2020-05-05' + {moved} AS DATE) AS TEXT) AS x"
    settings = {"IntervalStyle": "sql_standard", "DateStyle": "German"}
    with psycopg.connect(running, autocommit=True) as administrator:
        of = f'ALTER DATABASE "{administrator.info.dbname}"'
        try:
            for name, value in settings.items():
                administrator.execute(f"{of} SET {name} = {value}")  # type: ignore[arg-type,unused-ignore]
            opened = PostgresBackend(running)
            found = run(opened.fetch(sql, ONE))
            assert list(found.open_columns()) == [("2020-04-07",)]
            run(opened.close())
        finally:
            administrator.execute(f"{of} RESET ALL")  # type: ignore[arg-type,unused-ignore]


POLICY: dict[str, Any] = {
    "tables": {"person": {"key": ["id"], "rows": 100, "columns": {"id": "integer"}}},
    "policies": {"person": {"entity": "person", "epsilon": 1, "labels": {"person": "del"}}},
}


def test_a_server_that_was_killed_costs_one_charge_and_is_found_again(
    tmp_path: Path, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    """What runs then has been charged; what comes after, while the server is away, is not."""

    async def ask(bound: int) -> bool:
        try:
            await pipeline.query(f"SELECT COUNT(*) FROM person WHERE id < {bound}")
        except EngineError:
            return False
        return True

    with restartable(POSTGRES[max(POSTGRES)]) as engine:
        with psycopg.connect(engine.url, autocommit=True) as administrator:
            administrator.execute("CREATE TABLE person AS SELECT 1 AS id")
        pipeline = dp4sql.open_pipeline(policy=POLICY, database=engine.url, ledger=tmp_path / "l")
        assert run(ask(1))
        engine.stop(signal.SIGQUIT)
        assert [run(ask(bound)) for bound in (2, 3, 4)] == [False, False, False]
        assert run(ask(1))  # it is kept, and needs no server
        engine.start()
        assert run(ask(5))
        assert pipeline.ledger.spent(pipeline.backend.identity, "person", "person") == 3
        run(pipeline.close())
    assert not any(record.exc_info for record in caplog.records)


def test_a_cancelled_query_no_longer_runs_on_the_server(
    running: str, backend: PostgresBackend, run: Run
) -> None:
    async def cancelled() -> None:
        tasks = [asyncio.ensure_future(backend.fetch(SLOW, ONE)) for _ in range(12)]
        await asyncio.sleep(0.2)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run(cancelled())
    wait_until_none(running, f"{OURS} AND state <> 'idle'")


@pytest.mark.parametrize("many", [False, True])
def test_a_value_python_has_no_date_for(
    many: bool, backend: PostgresBackend, run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(EngineError) as raised:
        run(
            backend.fetch("SELECT '4000-01-01 BC'::date AS d", [OutputColumn("d", DATE)], many=many)
        )
    assert raised.value.sqlstate == "58000"
    assert "4000" not in str(raised.value)


MANY = "generate_series(1, 25000) AS i"
MANY_ROWS = range(1, 25001)


def test_many_integers_are_arrays(backend: PostgresBackend, run: Run) -> None:
    sql = f"SELECT i, (i * 3)::bigint AS b, (i % 7 - 3)::smallint AS s FROM {MANY}"
    found = run(backend.fetch(sql, ONE * 3, many=True)).open_columns()
    assert [(type(c), c.dtype) for c in found] == [(np.ndarray, np.int64)] * 3
    wanted = [(i, 3 * i, i % 7 - 3) for i in MANY_ROWS]
    assert list(zip(*map(listed, found), strict=True)) == wanted


def test_many_values_of_other_types_are_lists(backend: PostgresBackend, run: Run) -> None:
    values = (
        "nullif(i, 20000) AS n, CASE WHEN i % 5 > 0 THEN 'é' || i END AS t, "
        "(i % 3)::text::char(2) AS c, i % 2 = 0 AS b, '2000-01-01'::date - i AS d"
    )
    found = run(backend.fetch(f"SELECT {values} FROM {MANY}", ONE * 5, many=True)).open_columns()
    day = datetime.date(2000, 1, 1)
    assert list(zip(*map(listed, found), strict=True)) == [
        (
            None if i == 20000 else i,
            f"é{i}" if i % 5 else None,
            f"{i % 3} ",
            i % 2 == 0,
            day - datetime.timedelta(i),
        )
        for i in MANY_ROWS
    ]


@pytest.mark.parametrize("many", [False, True])
def test_the_ends_of_time(many: bool, backend: PostgresBackend, run: Run) -> None:
    sql = "SELECT 'infinity'::date AS a, '-infinity'::date AS b"
    found = run(backend.fetch(sql, ONE * 2, many=many)).open_columns()
    assert [list(c) for c in found] == [[datetime.date.max], [datetime.date.min]]


def test_a_query_that_fails_after_many_rows(backend: PostgresBackend, run: Run) -> None:
    with pytest.raises(EngineError):
        run(backend.fetch(f"SELECT 1 / (24000 - i) AS n FROM {MANY}", ONE, many=True))
    run(backend.ping())


def test_an_answer_without_end_is_cancelled_while_it_comes(
    backend: PostgresBackend, run: Run
) -> None:
    async def cancelled() -> None:
        endless = "SELECT generate_series(1, 1000000000000) AS n"
        task = asyncio.ensure_future(backend.fetch(endless, ONE, many=True))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(cancelled())
    run(backend.ping())


def test_a_double_far_out_of_its_range_is_chosen_from_like_any_other(
    running: str, backend: PostgresBackend, run: Run
) -> None:
    """Divided by a candidate's step it would overflow, and the error would tell that it is there."""
    column = {"type": "double precision", "range": [-1, 1]}
    tables = {"far": {"key": ["id"], "columns": {"id": "integer", "f": column}}}
    policies = {"p": {"entity": "far", "epsilon": 1, "labels": {"far": "del"}}}
    policy = dp4sql.load_policy({"dp4sql": 1, "tables": tables, "policies": policies})
    prepared = prepare(policy, "SELECT MAX(f) FROM far", None)
    ((_, release),) = prepared.plan.releases()
    sql = histogram_sql(release, 0, prepared.facts, POSTGRES_SQL, {})
    with psycopg.connect(running, autocommit=True) as administrator:
        administrator.execute("CREATE TABLE far (id INTEGER, f DOUBLE PRECISION)")
        values = [1.7e308, -1.7e308, math.inf, -math.inf, math.nan, 0.0]
        for id, value in enumerate(values):
            administrator.execute("INSERT INTO far VALUES (%s, %s)", (id, value))
    columns = [OutputColumn("place", BIGINT), OutputColumn("n", BIGINT)]
    places, counts = map(listed, run(backend.fetch(sql, columns)).open_columns())
    assert dict(zip(places, counts, strict=True)) == {0: 2, 500: 1, 1000: 3}


def test_an_unreachable_server(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    nowhere = open_backend("postgresql://me:hidden@127.0.0.1:1/shop")
    with caplog.at_level(logging.ERROR), pytest.raises(EngineError, match="cannot be reached") as e:
        run(nowhere.ping())
    assert "hidden" not in f"{e.value.message} {e.value.hint} {caplog.text}"
