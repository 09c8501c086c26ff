"""Postgres 13 to 18 through asyncpg: a small pool, each query in a read-only transaction of its own."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from typing import Any, Final, Literal
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg

from dp4sql.backends.base import query_canceled, query_failed
from dp4sql.errors import EngineError, InvalidParameter
from dp4sql.rows import OutputColumn, PrivateRows

log = logging.getLogger(__name__)

CONNECTIONS: Final = 8
CONNECT_SECONDS: Final = 10
DEFAULTS: Final = {
    "application_name": "dp4sql",
    "default_transaction_read_only": "on",
    "statement_timeout": "10min",
    "TimeZone": "UTC",
}


class PostgresBackend:
    """A database of a Postgres server; connections open when queries need them.

    `identity` is host, port and database: credentials may change, the account in the ledger does
    not. The role needs SELECT on the policy's tables and nothing else.
    """

    dialect: Literal["duckdb", "postgres", "spark"] = "postgres"

    def __init__(self, url: str) -> None:
        """`url` as libpq reads it; settings such as statement_timeout=60s may follow the `?`."""
        self.identity = _identity(url)
        self._url = url
        self._pool: asyncpg.Pool | None = None
        self._opening = asyncio.Lock()

    async def fetch(self, sql: str, columns: Sequence[OutputColumn]) -> PrivateRows:
        rows = await self._rows(sql)
        return PrivateRows(list(zip(*rows, strict=True)) or [()] * len(columns))

    async def ping(self) -> None:
        await self._rows("SELECT 1")

    async def close(self) -> None:
        if self._pool is not None:
            await self._pool.close()

    async def _rows(self, sql: str) -> list[Any]:
        pool = await self._opened()
        try:
            async with pool.acquire() as connection, connection.transaction(readonly=True):
                rows: list[Any] = await connection.fetch(sql)
                return rows
        except asyncpg.QueryCanceledError:
            raise query_canceled() from None
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            log.error("query failed: %s\n%s", error, sql)
            raise query_failed() from None

    async def _opened(self) -> asyncpg.Pool:
        async with self._opening:
            if self._pool is None:
                self._pool = await _connected(self._url, self.identity)
            return self._pool


async def _connected(url: str, identity: str) -> asyncpg.Pool:
    given = parse_qs(urlsplit(url).query)
    settings = {name: value for name, value in DEFAULTS.items() if name not in given}
    try:
        return await asyncpg.create_pool(
            url,
            min_size=1,
            max_size=CONNECTIONS,
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


def _identity(url: str) -> str:
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
