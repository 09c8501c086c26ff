"""Postgres 13 to 18 through asyncpg: a small pool, each query in a read-only transaction of its own."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg

from dp4sql.backends.base import query_failed
from dp4sql.backends.copied import Copied, readable
from dp4sql.errors import EngineError, InvalidParameter, QueryCanceled
from dp4sql.rows import OutputColumn, PrivateRows

log = logging.getLogger(__name__)

CONNECTIONS: Final = 8
CONNECT_SECONDS: Final = 10
CANCEL_SECONDS: Final = 0.05
DEFAULTS: Final = {
    "application_name": "dp4sql",
    "default_transaction_read_only": "on",
    "statement_timeout": "10min",
    "TimeZone": "UTC",
}
#: Whatever the URL, the role or the database says. Without the first, a backslash in a client's text ends the text
#: early; the second decides what a date cast to a text looks like.
ALWAYS: Final = {
    "standard_conforming_strings": "on",
    "DateStyle": "ISO, MDY",
}


class _OneLine(logging.Filter):
    """The pool's troubles without their traces: they are the network's and the server's."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and record.exc_info[1] is not None:
            record.msg, record.args = f"{record.getMessage()}: {record.exc_info[1]}", ()
            record.exc_info = record.exc_text = None
        return True


logging.getLogger("asyncpg.pool").addFilter(_OneLine())


@dataclass(slots=True)
class _Query:
    """One statement on its way: `pid` is known while the server may be at work on it.

    `ending` is held by whoever cancels, so that the connection is not another query's before the
    server has taken notice.
    """

    sql: str
    many: bool
    waits: bool = True
    pid: int | None = None
    ending: asyncio.Lock = field(default_factory=asyncio.Lock)


class PostgresBackend:
    """A database of a Postgres server; connections open when queries need them.

    `identity` is host, port and database: credentials may change, the account in the ledger does
    not. The role needs SELECT on the policy's tables and nothing else.
    """

    dialect: Literal["duckdb", "postgres", "spark"] = "postgres"

    def __init__(self, url: str) -> None:
        """`url` as libpq reads it; settings such as statement_timeout=60s may follow the `?`."""
        self.identity = identity(url)
        self._url = url
        self._pool: asyncpg.Pool | None = None
        self._opening = asyncio.Lock()
        # One connection of the pool stays free of queries, to cancel them.
        self._turns = asyncio.Semaphore(CONNECTIONS)
        self._cancelling: set[asyncio.Task[None]] = set()

    async def fetch(
        self, sql: str, columns: Sequence[OutputColumn], *, many: bool = False
    ) -> PrivateRows:
        found = await self._columns(sql, many)
        return PrivateRows(found or [()] * len(columns))

    async def ping(self) -> None:
        await self._columns("SELECT 1")

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.close()

    async def _columns(self, sql: str, many: bool = False) -> list[Any]:
        pool = await self._opened()
        query = _Query(sql, many)
        # A task of its own: asyncpg sends one request to cancel, and the server forgets one that
        # arrives before it has read the query.
        running = asyncio.ensure_future(self._answered(pool, query))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            stopping = asyncio.ensure_future(_stopped(pool, query, running))
            self._cancelling.add(stopping)
            stopping.add_done_callback(self._cancelling.discard)
            await asyncio.shield(stopping)
            raise

    async def _answered(self, pool: asyncpg.Pool, query: _Query) -> list[Any]:
        try:
            async with self._turns:
                query.waits = False
                async with pool.acquire() as connection, connection.transaction(readonly=True):
                    # Not get_server_pid: behind a pooler that one is the pooler's.
                    query.pid = await connection.fetchval("SELECT pg_backend_pid()")
                    try:
                        return await _read(connection, query)
                    finally:
                        async with query.ending:
                            query.pid = None
        except asyncpg.QueryCanceledError:
            raise _ended_by_the_server() from None
        except Exception as error:
            # Whatever it is (the network, the server, a value Python has no type for), clients
            # hear one thing.
            log.error("query failed: %s\n%s", error, query.sql)
            raise query_failed() from None

    async def _opened(self) -> asyncpg.Pool:
        async with self._opening:
            if self._pool is None:
                self._pool = await _connected(self._url, self.identity)
            return self._pool


async def _read(connection: asyncpg.Connection, query: _Query) -> list[Any]:
    """The columns, in parts where there may be many rows and their types allow it. That takes a few tenths of a
    millisecond more, as the server parses the query twice."""
    if query.many:
        statement = await connection.prepare(query.sql)
        oids = [attribute.type.oid for attribute in statement.get_attributes()]
        if readable(oids):
            copied = Copied(oids)
            await connection.copy_from_query(query.sql, output=copied.take, format="binary")
            return copied.columns()
    return list(zip(*await connection.fetch(query.sql), strict=True))


async def _stopped(pool: asyncpg.Pool, query: _Query, running: asyncio.Future[list[Any]]) -> None:
    """Ask for the end of `query` until it has come."""
    while not running.done():
        if query.waits:
            running.cancel()
        async with query.ending:
            if query.pid is not None:
                await _cancel(pool, query.pid)
        await asyncio.wait([running], timeout=CANCEL_SECONDS)
    if not running.cancelled():
        running.exception()  # or asyncio complains that nobody looked


async def _cancel(pool: asyncpg.Pool, pid: int) -> None:
    try:
        await pool.execute("SELECT pg_cancel_backend($1)", pid)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        log.error("cannot cancel a query: %s", error)


def _ended_by_the_server() -> QueryCanceled:
    """Who cancels here gets CancelledError; what remains is the server's own doing."""
    return QueryCanceled(
        "the database ended the query",
        hint="It took longer than statement_timeout allows, or an administrator cancelled it.",
    )


async def _connected(url: str, identity: str) -> asyncpg.Pool:
    given = parse_qs(urlsplit(url).query)
    settings = {name: value for name, value in DEFAULTS.items() if name not in given} | ALWAYS
    try:
        return await asyncpg.create_pool(
            url,
            min_size=1,
            max_size=CONNECTIONS + 1,
            timeout=CONNECT_SECONDS,
            server_settings=settings,
            # Transaction poolers such as pgbouncer know no prepared statements of ours.
            statement_cache_size=0,
        )
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, ValueError) as error:
        log.error("cannot connect to %s: %s", identity, error)
        raise EngineError(
            f"{identity} cannot be reached",
            hint="Check host, port, database and credentials in the URL. The log says more.",
        ) from None


def identity(url: str) -> str:
    parsed = urlsplit(url)
    query = parse_qs(parsed.query)
    host = parsed.hostname or query.get("host", [os.environ.get("PGHOST", "localhost")])[0]
    port = parsed.port or query.get("port", [os.environ.get("PGPORT", "5432")])[0]
    database = unquote(parsed.path.removeprefix("/"))
    if not database:
        raise InvalidParameter(
            "the database URL names no database",
            hint="A Postgres database is postgresql://user:password@host:5432/database.",
        )
    return f"postgresql://{host}:{port}/{database}"
