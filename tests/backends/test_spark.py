"""What Spark alone does: Arrow, its own names of errors, sessions that a server forgets."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dp4sql.backends import Backend, open_backend
from dp4sql.errors import EngineError, QueryCanceled

from .conftest import PATIENCE, SLOW_SPARK, Run, missing_spark, parquet_folder
from .servers import connect_server, free_port

pytestmark = pytest.mark.skipif(missing_spark() is not None, reason=missing_spark() or "")


@pytest.fixture(scope="module", params=["spark", "spark connect"])
def backend(
    request: pytest.FixtureRequest, run: Run, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Backend]:
    folder = parquet_folder(tmp_path_factory.mktemp("things")).removeprefix("parquet://")
    if request.param == "spark":
        opened = open_backend(f"spark://{folder}")
        run(opened.ping())
        yield opened
        run(opened.close())
    else:
        with connect_server() as port:
            opened = open_backend(f"sc://127.0.0.1:{port}{folder}")
            yield opened
            run(opened.close())


def columns(run: Run, backend: Backend, sql: str) -> list[Any]:
    found = run(asyncio.wait_for(backend.fetch(sql, ()), PATIENCE))
    return list(found.open_columns())


def test_many_rows_are_columns(run: Run, backend: Backend) -> None:
    """Integers as arrays, also those of 32 bits; values that arrays do not hold as they are."""
    sql = (
        "SELECT id, CAST(id AS INT) AS i, CASE WHEN id > 0 THEN id END AS holes, "
        "CAST(id AS DECIMAL(20,2)) AS d, CAST(id AS STRING) AS t FROM RANGE(25000) ORDER BY id"
    )
    id, i, holes, d, t = columns(run, backend, sql)
    numbers = list(range(25_000))
    for array in (id, i):
        assert isinstance(array, np.ndarray)
        assert array.dtype == np.int64
        assert array.tolist() == numbers
    assert holes == [None, *numbers[1:]]
    assert d == [Decimal(n) for n in numbers]
    assert t == [str(n) for n in numbers]


def test_moments_are_the_same_wherever_the_proxy_runs(
    run: Run, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        sql = (
            "SELECT TIMESTAMP_LTZ '2024-07-02 03:04:05+00:00', TIMESTAMP_NTZ '2024-07-02 03:04:05'"
        )
        (zoned,), (plain,) = columns(run, backend, sql)
    finally:
        monkeypatch.undo()
        time.tzset()
    moment = datetime.datetime(2024, 7, 2, 3, 4, 5)
    assert zoned == moment.replace(tzinfo=datetime.UTC)
    assert plain == moment


@pytest.mark.parametrize("name", ["env:PATH", "system:user.dir", "spark.app.name"])
def test_a_text_does_not_name_what_the_server_keeps(run: Run, backend: Backend, name: str) -> None:
    """Spark puts variables of its environment and of its settings into a statement before it reads it."""
    text = f"${{{name}}}"
    assert columns(run, backend, f"SELECT '{text}' AS x") == [[text]]


def test_an_error_that_speaks_of_cancelling_is_an_error(run: Run, backend: Backend) -> None:
    for text in ("cancelled", "OPERATION_CANCELED", "[SPARK_JOB_CANCELLED] Job 8 cancelled"):
        with pytest.raises(EngineError, match="could not run the query"):
            columns(run, backend, f"SELECT CAST('{text}' AS INT)")


def test_a_session_that_was_ended_is_opened_again(run: Run, backend: Backend) -> None:
    columns(run, backend, "SELECT 1")
    session = backend._session  # type: ignore[attr-defined]
    if isinstance(session, _classic()):
        session.sparkContext._jsc.sc().stop()
    else:
        session.client.release_session()
    assert columns(run, backend, "SELECT COUNT(*) FROM things") == [[4]]
    assert columns(run, backend, "SELECT COUNT(*) FROM dp4sql_columns") == [[8]]


def _classic() -> type:
    from pyspark.sql import SparkSession

    return SparkSession


def test_who_ended_a_query_of_a_server(run: Run, backend: Backend) -> None:
    columns(run, backend, "SELECT 1")
    session = backend._session  # type: ignore[attr-defined]
    if isinstance(session, _classic()):
        pytest.skip("nobody else can end one in this process")

    async def ended() -> None:
        task = asyncio.ensure_future(backend.fetch(SLOW_SPARK, ()))
        while not task.done():
            await asyncio.to_thread(session.interruptAll)
        with pytest.raises(QueryCanceled, match="the database ended the query"):
            await task

    run(asyncio.wait_for(ended(), PATIENCE))


def test_a_server_that_goes_and_comes_back(run: Run, tmp_path: Path) -> None:
    folder = parquet_folder(tmp_path).removeprefix("parquet://")
    port = free_port()
    opened = open_backend(f"sc://127.0.0.1:{port}{folder}")
    with pytest.raises(
        EngineError, match=f"Spark Connect server 127.0.0.1:{port} cannot be reached"
    ):
        columns(run, opened, "SELECT COUNT(*) FROM things")
    with connect_server(port):
        assert columns(run, opened, "SELECT COUNT(*) FROM things") == [[4]]
    with pytest.raises(EngineError):
        columns(run, opened, "SELECT COUNT(*) FROM things")
    with connect_server(port):
        assert columns(run, opened, "SELECT COUNT(*) FROM things") == [[4]]
        run(opened.close())
