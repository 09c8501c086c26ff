"""SQLAlchemy 2: core and reflection, over psycopg, psycopg2, pg8000 and asyncpg."""

from __future__ import annotations

import asyncio
import importlib.util
import ssl
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine

from tests.clients.cancelling import cancelling
from tests.clients.place import (
    ALL_RELEASED,
    ALL_TYPES,
    MAJORS,
    NAMES,
    PARAMETERS,
    VALUES,
    Place,
    counting,
)

DRIVERS = [name for name in ("psycopg", "psycopg2", "pg8000") if importlib.util.find_spec(name)]


def _tls(place: Place, driver: str) -> dict[str, Any]:
    if driver in ("pg8000", "asyncpg"):
        name = "ssl_context" if driver == "pg8000" else "ssl"
        return {name: ssl.create_default_context(cafile=str(place.root))}
    return {"sslmode": "verify-full", "sslrootcert": str(place.root)}


@pytest.fixture(params=DRIVERS)
def engine(request: pytest.FixtureRequest, place: Place) -> Iterator[sa.Engine]:
    tls = _tls(place, request.param)
    found = sa.create_engine(f"postgresql+{request.param}://{place.url}", connect_args=tls)
    yield found
    found.dispose()


def _majors(student: sa.Table) -> sa.Select[Any]:
    return (
        sa.select(student.c.major, sa.func.count())
        .group_by(student.c.major)
        .order_by(student.c.major)
    )


def test_connect(engine: sa.Engine) -> None:
    with engine.connect() as client:
        assert client.scalar(sa.text("SELECT current_user")) == "ann"


@pytest.mark.parametrize("kind", PARAMETERS)
def test_parameters(engine: sa.Engine, kind: str) -> None:
    with engine.connect() as client:
        sql = sa.text(counting(kind, ":value"))
        assert client.scalar(sql, {"value": PARAMETERS[kind][1]}) > 500


def test_parameters_of_expressions(engine: sa.Engine) -> None:
    student = sa.Table("student", sa.MetaData(), autoload_with=engine)
    with engine.connect() as client:
        found = sa.select(sa.func.count()).where(
            student.c.uid < 5000, student.c.major.in_(NAMES), student.c.name.is_not(None)
        )
        assert client.scalar(found) > 500


def test_results(engine: sa.Engine) -> None:
    student = sa.Table("student", sa.MetaData(), autoload_with=engine)
    with engine.connect() as client:
        for sql in (ALL_TYPES, ALL_RELEASED):
            row = client.execute(sa.text(sql)).one()._mapping
            assert {name: row[name] for name in VALUES if name != "id"} == {
                name: value for name, (_, value) in VALUES.items() if name != "id"
            }
        assert [name for name, _ in client.execute(_majors(student))] == NAMES


def test_error(engine: sa.Engine) -> None:
    with engine.connect() as client:
        with pytest.raises(sa.exc.ProgrammingError):
            client.execute(sa.text("SELECT count(nosuch) FROM student"))
        client.rollback()
        assert client.scalar(sa.text("SELECT 1")) == 1


def test_introspection(engine: sa.Engine) -> None:
    found = sa.inspect(engine)
    assert set(found.get_table_names()) == {
        "student",
        "faculty",
        "section",
        "enrollment",
        "scholarship",
    }
    types = {column["name"]: str(column["type"]) for column in found.get_columns("enrollment")}
    assert types == dict.fromkeys(("eid", "sid", "uid", "grade", "review"), "INTEGER")
    assert found.get_pk_constraint("enrollment")["constrained_columns"] == ["eid"]
    targets = {key["referred_table"] for key in found.get_foreign_keys("enrollment")}
    assert targets == {"section", "student"}
    comment = found.get_table_comment("student")["text"]
    assert comment is not None
    assert "DEL" in comment
    assert found.get_indexes("student") == found.get_unique_constraints("student") == []
    metadata = sa.MetaData()
    metadata.reflect(engine)
    assert len(metadata.tables) == 5


def test_prepared(engine: sa.Engine) -> None:
    """One statement object, compiled once; psycopg and pg8000 prepare it on the server."""
    below = sa.text("SELECT count(*) FROM student WHERE uid < :bound")
    with engine.connect() as client:
        assert all(client.scalar(below, {"bound": bound}) > 0 for bound in range(500, 510))


def test_cancel(engine: sa.Engine) -> None:
    with engine.connect() as client:
        with pytest.raises(sa.exc.DBAPIError, match="canceling statement"):
            cancelled(client)
        client.rollback()
        assert client.scalar(sa.text("SELECT 1")) == 1


def cancelled(client: sa.Connection) -> None:
    """By the driver; pg8000 has no way but a timeout."""
    driver: Any = client.connection.driver_connection
    if not hasattr(driver, "cancel"):
        client.execute(sa.text("SET statement_timeout = '200ms'"))
        client.execute(sa.text("SELECT pg_sleep(30)"))
        return
    with cancelling(driver.cancel):
        client.execute(sa.text("SELECT pg_sleep(30)"))


def test_thousand(engine: sa.Engine) -> None:
    one = sa.text("SELECT CAST(:i AS int)")
    with engine.connect() as client:
        assert [client.scalar(one, {"i": i}) for i in range(1000)] == list(range(1000))


def test_cursor(engine: sa.Engine) -> None:
    student = sa.Table("student", sa.MetaData(), autoload_with=engine)
    with engine.connect().execution_options(stream_results=True, max_row_buffer=3) as client:
        assert [name for name, _ in client.execute(_majors(student))] == NAMES


# ------------------------------------------------------------------ asyncpg


def over_asyncpg(place: Place, work: Callable[[AsyncConnection], Awaitable[Any]]) -> Any:
    async def connected() -> Any:
        tls = _tls(place, "asyncpg")
        engine = create_async_engine(f"postgresql+asyncpg://{place.url}", connect_args=tls)
        async with engine.connect() as client:
            found = await work(client)
        await engine.dispose()
        return found

    return asyncio.run(connected())


def test_connect_async(place: Place) -> None:
    assert over_asyncpg(place, lambda c: c.scalar(sa.text("SELECT current_user"))) == "ann"


def test_parameters_async(place: Place) -> None:
    async def ask(client: AsyncConnection) -> dict[str, int]:
        return {
            kind: await client.scalar(sa.text(counting(kind, ":value")), {"value": value})
            for kind, (_, value) in PARAMETERS.items()
        }

    counts = over_asyncpg(place, ask)
    assert [kind for kind, count in counts.items() if count <= 500] == []


def test_results_async(place: Place) -> None:
    async def ask(client: AsyncConnection) -> Any:
        majors = await client.execute(_majors(sa.table("student", sa.column("major"))))
        rows = [(await client.execute(sa.text(sql))).one() for sql in (ALL_TYPES, ALL_RELEASED)]
        return rows, [name for name, _ in majors]

    rows, names = over_asyncpg(place, ask)
    assert list(map(tuple, rows)) == [tuple(value for _, value in VALUES.values())] * 2
    assert names == NAMES


def test_cursor_async(place: Place) -> None:
    async def ask(client: AsyncConnection) -> list[str]:
        async with client.stream(sa.text(MAJORS)) as rows:
            return [name async for name, _ in rows]

    assert over_asyncpg(place, ask) == NAMES


def test_error_async(place: Place) -> None:
    async def ask(client: AsyncConnection) -> Any:
        with pytest.raises(sa.exc.ProgrammingError, match="nosuch"):
            await client.scalar(sa.text("SELECT count(nosuch) FROM student"))
        await client.rollback()
        return await client.scalar(sa.text("SELECT 1"))

    assert over_asyncpg(place, ask) == 1


def test_introspection_async(place: Place) -> None:
    def reflect(client: sa.Connection) -> sa.MetaData:
        metadata = sa.MetaData()
        metadata.reflect(client)
        return metadata

    found = over_asyncpg(place, lambda client: client.run_sync(reflect))
    assert len(found.tables) == 5
    assert len(found.tables["enrollment"].foreign_keys) == 2


def test_prepared_async(place: Place) -> None:
    """asyncpg prepares whatever it is asked."""

    async def ask(client: AsyncConnection) -> list[Any]:
        below = sa.text("SELECT count(*) FROM student WHERE uid < :bound")
        return [await client.scalar(below, {"bound": bound}) for bound in (10, 500, 510)]

    assert len(over_asyncpg(place, ask)) == 3


def test_cancel_async(place: Place) -> None:
    async def ask(client: AsyncConnection) -> Any:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await client.execute(sa.text("SELECT pg_sleep(30)"))
        await client.invalidate()
        await client.rollback()
        return await client.scalar(sa.text("SELECT 1"))

    assert over_asyncpg(place, ask) == 1


def test_thousand_async(place: Place) -> None:
    async def ask(client: AsyncConnection) -> list[Any]:
        one = sa.text("SELECT CAST(:i AS int)")
        return [await client.scalar(one, {"i": i}) for i in range(1000)]

    assert over_asyncpg(place, ask) == list(range(1000))
