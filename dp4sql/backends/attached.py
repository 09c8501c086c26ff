"""Postgres read by DuckDB: its executor, Postgres's tables."""

from __future__ import annotations

import logging

import duckdb

from dp4sql.backends.duckdb import LOCKDOWN, DuckDBBackend, unoptimized
from dp4sql.backends.postgres import identity
from dp4sql.errors import EngineError

log = logging.getLogger(__name__)

TABLES = """
SELECT table_schema, table_name FROM information_schema.tables
WHERE table_catalog = 'attached' AND table_schema NOT IN ('information_schema', 'pg_catalog')
"""


class AttachedBackend(DuckDBBackend):
    """`duckdb+postgresql://user@host/database`, where DuckDB's postgres extension is installed.

    `identity` is the Postgres database's own: whichever way it is read, it is one account.
    """

    def __init__(self, url: str) -> None:
        """EngineError where the extension is missing or the server cannot be reached."""
        postgres = url.removeprefix("duckdb+")
        self.identity = identity(postgres)
        self._open(*_attached(postgres))


def _attached(
    url: str,
) -> tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection | None]:
    # LOAD would fetch what is missing from the internet.
    connection = duckdb.connect(config={"autoinstall_known_extensions": False})
    try:
        connection.execute("LOAD postgres")
    except duckdb.Error as error:
        log.error("cannot load DuckDB's postgres extension: %s", error)
        raise EngineError(
            "this DuckDB has no postgres extension",
            hint="postgresql:// without duckdb+ in front reads the same tables and needs none.",
        ) from None
    try:
        target = url.replace("'", "''")
        connection.execute(f"ATTACH '{target}' AS attached (TYPE postgres, READ_ONLY)")
        for schema, table in connection.execute(TABLES).fetchall():
            _view(connection, schema, table)
        plain = unoptimized(connection)
        for statement in LOCKDOWN:
            # Attaching has opened the store of secrets, whose settings are fixed from then on.
            if "secrets" not in statement:
                connection.execute(statement)
    except duckdb.Error as error:
        log.error("cannot attach a Postgres database: %s", error)
        raise EngineError(
            f"{identity(url)} cannot be reached through DuckDB",
            hint="Check host, port, database and credentials in the URL. The log says more.",
        ) from None
    return connection, plain


def _view(connection: duckdb.DuckDBPyConnection, schema: str, table: str) -> None:
    """Under the name that queries use: each of the backend's cursors finds views, not attached catalogues."""
    here, there = (f'"{name.replace(chr(34), chr(34) * 2)}"' for name in (schema, table))
    if schema == "public":
        own = there
    else:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {here}")
        own = f"{here}.{there}"
    connection.execute(f"CREATE VIEW {own} AS SELECT * FROM attached.{here}.{there}")
