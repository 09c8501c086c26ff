"""asyncpg: binary throughout, prepared statements, portals, pools."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import pytest

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

Work = Callable[[asyncpg.Connection], Awaitable[Any]]


def _arguments(place: Place) -> dict[str, Any]:
    context = ssl.create_default_context(cafile=str(place.root))
    return {
        "host": place.host, "port": place.port, "database": place.database,
        "user": place.user, "password": place.password, "ssl": context,
    }  # fmt: skip


@pytest.fixture
def run(place: Place) -> Callable[[Work], Any]:
    async def connected(work: Work) -> Any:
        client = await asyncpg.connect(**_arguments(place))
        try:
            return await work(client)
        finally:
            await client.close()

    return lambda work: asyncio.run(connected(work))


def test_connect(run: Callable[[Work], Any]) -> None:
    assert run(lambda c: c.fetchval("SELECT current_user")) == "ann"


@pytest.mark.parametrize("kind", PARAMETERS)
def test_parameters(run: Callable[[Work], Any], kind: str) -> None:
    assert run(lambda c: c.fetchval(counting(kind, "$1"), PARAMETERS[kind][1])) > 500


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays(run: Callable[[Work], Any], kind: str) -> None:
    assert run(lambda c: c.fetchval(among(kind, "$1"), ARRAYS[kind][1])) > 500


def test_results(run: Callable[[Work], Any]) -> None:
    for sql in (ALL_TYPES, ALL_RELEASED):
        found = run(lambda c, sql=sql: c.fetchrow(sql))
        assert dict(found) == {name: value for name, (_, value) in VALUES.items()}
    assert [row["major"] for row in run(lambda c: c.fetch(MAJORS))] == NAMES


def test_error(run: Callable[[Work], Any]) -> None:
    async def work(client: asyncpg.Connection) -> int:
        with pytest.raises(asyncpg.UndefinedColumnError):
            await client.fetch("SELECT count(nosuch) FROM student")
        return int(await client.fetchval("SELECT 1"))

    assert run(work) == 1


def test_prepared(run: Callable[[Work], Any]) -> None:
    async def work(client: asyncpg.Connection) -> list[int]:
        statement = await client.prepare("SELECT count(*) FROM student WHERE uid < $1")
        assert [p.name for p in statement.get_parameters()] == ["int4"]
        return [await statement.fetchval(bound) for bound in (10, 20, 30)]

    assert len(run(work)) == 3


def test_introspection(run: Callable[[Work], Any]) -> None:
    async def work(client: asyncpg.Connection) -> Any:
        # A composite type makes asyncpg ask its recursive query about types.
        return await client.fetchval("SELECT ROW(1, 'x'::text)::information_schema.sql_sizing")

    async def types(client: asyncpg.Connection) -> Any:
        return await client.fetchval("SELECT 'table'::information_schema.character_data")

    assert run(types) == "table"
    with pytest.raises(asyncpg.CannotCoerceError):
        run(work)


def test_cancel(run: Callable[[Work], Any]) -> None:
    async def work(client: asyncpg.Connection) -> int:
        with pytest.raises(TimeoutError):
            await client.execute("SELECT pg_sleep(30)", timeout=0.2)
        return int(await client.fetchval("SELECT 1"))

    assert run(work) == 1


def test_thousand(run: Callable[[Work], Any]) -> None:
    async def work(client: asyncpg.Connection) -> list[int]:
        return [await client.fetchval("SELECT $1::int", i) for i in range(1000)]

    assert run(work) == list(range(1000))


def test_cursor(run: Callable[[Work], Any]) -> None:
    async def work(client: asyncpg.Connection) -> list[str]:
        async with client.transaction(isolation="repeatable_read", readonly=True):
            cursor = await client.cursor(MAJORS)
            first = await cursor.fetch(3)
            await cursor.forward(2)
            return [row["major"] for row in [*first, *await cursor.fetch(10)]]

    assert run(work) == NAMES[:3] + NAMES[5:]


def test_copy(run: Callable[[Work], Any]) -> None:
    async def work(client: asyncpg.Connection) -> bytes:
        received = bytearray()

        async def write(data: bytes) -> None:
            received.extend(data)

        assert await client.copy_from_query(MAJORS, output=write, format="csv") == "COPY 8"
        return bytes(received)

    assert run(work).decode().splitlines()[0].startswith("Biology,")


def test_pool(place: Place) -> None:
    async def work() -> list[int]:
        async with asyncpg.create_pool(min_size=2, max_size=4, **_arguments(place)) as pool:
            return list(
                await asyncio.gather(*(pool.fetchval("SELECT $1::int", i) for i in range(20)))
            )

    assert asyncio.run(work()) == list(range(20))
