"""psycopg 3: blocking and async, text and binary, server-side cursors, pipelines, COPY."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.clients.cancelling import cancelling
from tests.clients.place import (
    ALL_RELEASED,
    ALL_TYPES,
    ARRAYS,
    MAJORS,
    NAMES,
    PARAMETERS,
    VALUES,
    Place,
    among,
    counting,
)


@pytest.fixture
def client(place: Place) -> Iterator[psycopg.Connection]:
    with psycopg.connect(place.libpq, autocommit=True) as connection:
        yield connection


def test_connect(client: psycopg.Connection) -> None:
    assert client.pgconn.ssl_in_use
    assert client.execute("SELECT current_user, current_database()").fetchone() == (
        "ann",
        "university",
    )


@pytest.mark.parametrize("kind", PARAMETERS)
def test_parameters(client: psycopg.Connection, kind: str) -> None:
    for placeholder in ("%t", "%b"):
        found = client.execute(counting(kind, placeholder), (PARAMETERS[kind][1],)).fetchone()
        assert found is not None
        assert found[0] > 500


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays(client: psycopg.Connection, kind: str) -> None:
    for placeholder in ("%t", "%b"):
        found = client.execute(among(kind, placeholder), (ARRAYS[kind][1],)).fetchone()
        assert found is not None
        assert found[0] > 500


@pytest.mark.parametrize("binary", [False, True])
def test_results(client: psycopg.Connection, binary: bool) -> None:
    for sql in (ALL_TYPES, ALL_RELEASED):
        found = client.cursor(binary=binary).execute(sql).fetchone()
        assert found == tuple(value for _, value in VALUES.values())
    rows = client.cursor(binary=binary).execute(MAJORS).fetchall()
    assert [name for name, _ in rows] == NAMES


def test_error(client: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.UndefinedColumn) as caught:
        client.execute("SELECT count(nosuch) FROM student")
    assert caught.value.diag.statement_position == "14"
    assert client.execute("SELECT 1").fetchone() == (1,)
    with pytest.raises(psycopg.errors.UndefinedTable), client.transaction():
        client.execute("SELECT * FROM nosuch")
    assert client.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_prepared(client: psycopg.Connection) -> None:
    for bound in (10, 20, 30):
        sql = "SELECT count(*) FROM student WHERE uid < %s"
        assert client.execute(sql, (bound,), prepare=True).fetchone() is not None


def test_introspection(client: psycopg.Connection) -> None:
    found = psycopg.types.TypeInfo.fetch(client, "numeric")
    assert found is not None
    assert found.oid == 1700
    columns = client.execute(
        "SELECT column_name, data_type FROM information_schema.columns "
        "WHERE table_name = 'student' ORDER BY ordinal_position"
    ).fetchall()
    assert columns == [("uid", "integer"), ("name", "text"), ("major", "text")]


def test_cancel(client: psycopg.Connection) -> None:
    with pytest.raises(psycopg.errors.QueryCanceled), cancelling(client.cancel_safe):
        client.execute("SELECT pg_sleep(30)")
    assert client.execute("SELECT 1").fetchone() == (1,)


def test_thousand(client: psycopg.Connection) -> None:
    assert [client.execute("SELECT %s::int", (i,)).fetchone() for i in range(1000)] == [
        (i,) for i in range(1000)
    ]


def test_cursor(client: psycopg.Connection) -> None:
    with client.transaction(), client.cursor("served") as cursor:
        cursor.execute(MAJORS)
        assert [name for name, _ in cursor.fetchmany(3)] == NAMES[:3]
        cursor.scroll(2)
        assert [name for name, _ in cursor] == NAMES[5:]


def test_pipeline(client: psycopg.Connection) -> None:
    with client.pipeline() as pipeline:
        first, second = client.execute("SELECT 1"), client.execute(MAJORS)
        pipeline.sync()
        assert first.fetchone() == (1,)
        assert len(second.fetchall()) == 8
        with pytest.raises(psycopg.errors.UndefinedColumn):
            client.execute("SELECT nosuch").fetchone()
    assert client.execute("SELECT 2").fetchone() == (2,)


@pytest.mark.parametrize("options", ["", "WITH (FORMAT binary)"])
def test_copy(client: psycopg.Connection, options: str) -> None:
    with client.cursor().copy(f"COPY ({MAJORS}) TO STDOUT {options}") as copy:
        copy.set_types(["text", "int8"])
        rows = list(copy.rows())
    assert [name for name, _ in rows] == NAMES
    assert all(isinstance(count, int) for _, count in rows)


def test_transaction(client: psycopg.Connection) -> None:
    with client.transaction():
        client.execute("SELECT 1")
        with pytest.raises(psycopg.errors.DivisionByZero), client.transaction():
            client.execute("SELECT 1 / 0")
        assert client.execute("SELECT 2").fetchone() == (2,)


# ------------------------------------------------------------------ async

Work = Callable[[psycopg.AsyncConnection], Awaitable[Any]]


def run(place: Place, work: Work) -> Any:
    async def connected() -> Any:
        async with await psycopg.AsyncConnection.connect(place.libpq, autocommit=True) as client:
            return await work(client)

    return asyncio.run(connected())


async def rows(
    client: psycopg.AsyncConnection, sql: str, *values: object, binary: bool = False
) -> list[Any]:
    return await (await client.execute(sql.encode(), values or None, binary=binary)).fetchall()


def test_connect_async(place: Place) -> None:
    assert run(place, lambda c: rows(c, "SELECT current_user")) == [("ann",)]


def test_parameters_async(place: Place) -> None:
    async def ask(client: psycopg.AsyncConnection) -> dict[str, int]:
        return {
            kind: (await rows(client, counting(kind, "%s"), value))[0][0]
            for kind, (_, value) in PARAMETERS.items()
        }

    assert min(run(place, ask).values()) > 500


@pytest.mark.parametrize("binary", [False, True])
def test_results_async(place: Place, binary: bool) -> None:
    for sql in (ALL_TYPES, ALL_RELEASED):
        found = run(place, lambda c, sql=sql: rows(c, sql, binary=binary))
        assert found == [tuple(value for _, value in VALUES.values())]


def test_error_async(place: Place) -> None:
    async def ask(client: psycopg.AsyncConnection) -> Any:
        with pytest.raises(psycopg.errors.UndefinedColumn):
            await rows(client, "SELECT count(nosuch) FROM student")
        return await rows(client, "SELECT 1")

    assert run(place, ask) == [(1,)]


def test_prepared_async(place: Place) -> None:
    async def ask(client: psycopg.AsyncConnection) -> int:
        below = "SELECT count(*) FROM student WHERE uid < %s"
        found = [await client.execute(below, (i,), prepare=True) for i in (10, 500, 510)]
        return len([await cursor.fetchone() for cursor in found])

    assert run(place, ask) == 3


def test_introspection_async(place: Place) -> None:
    found = run(place, lambda c: psycopg.types.TypeInfo.fetch(c, "uuid"))
    assert (found.oid, found.array_oid) == (2950, 2951)


def test_cancel_async(place: Place) -> None:
    async def ask(client: psycopg.AsyncConnection) -> Any:
        waiting = asyncio.create_task(rows(client, "SELECT pg_sleep(30)"))
        while not waiting.done():
            # One that comes before its statement stops nothing.
            await client.cancel_safe()
            await asyncio.wait([waiting], timeout=0.2)
        with pytest.raises(psycopg.errors.QueryCanceled):
            await waiting
        return await rows(client, "SELECT 1")

    assert run(place, ask) == [(1,)]


def test_thousand_async(place: Place) -> None:
    async def ask(client: psycopg.AsyncConnection) -> list[Any]:
        return [(await rows(client, "SELECT %s::int", i))[0][0] for i in range(1000)]

    assert run(place, ask) == list(range(1000))


def test_cursor_async(place: Place) -> None:
    async def ask(client: psycopg.AsyncConnection) -> list[str]:
        async with client.transaction(), client.cursor("served") as cursor:
            await cursor.execute(MAJORS)
            return [name async for name, _ in cursor]

    assert run(place, ask) == NAMES


def test_pipeline_async(place: Place) -> None:
    async def ask(client: psycopg.AsyncConnection) -> Any:
        async with client.pipeline():
            first, second = await client.execute("SELECT 1"), await client.execute(MAJORS)
            return await first.fetchone(), len(await second.fetchall())

    assert run(place, ask) == ((1,), 8)
