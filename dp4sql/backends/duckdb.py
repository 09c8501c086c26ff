"""DuckDB, embedded: read-only, locked down, one cursor a query in a small thread pool."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import duckdb

from dp4sql.algebra.types import Value
from dp4sql.errors import EngineError, QueryCanceled
from dp4sql.rows import OutputColumn, PrivateRows

log = logging.getLogger("dp4sql.backends.duckdb")

LOCKDOWN = (
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


def _opened(path: Path, parquet: bool) -> duckdb.DuckDBPyConnection:
    if not parquet:
        if not path.is_file():
            raise EngineError(
                f"database file {path.name} does not exist", hint="duckdb:///path/to/file.duckdb"
            )
        connection = duckdb.connect(str(path), read_only=True)
    else:
        connection = _parquet(path)
    for statement in LOCKDOWN:
        connection.execute(statement)
    return connection


def _parquet(folder: Path) -> duckdb.DuckDBPyConnection:
    """Views over the parquet files (or folders of them) in `folder`, the only place that may be read."""
    files = sorted(folder.glob("*.parquet")) or sorted(p for p in folder.glob("*") if p.is_dir())
    if not files:
        raise EngineError(
            f"folder {folder.name} holds no parquet files", hint="parquet:///path/to/folder"
        )
    connection = duckdb.connect()
    connection.execute("SET allowed_directories = [?]", [str(folder)])
    for file in files:
        name = file.stem.replace('"', '""')
        pattern = str(file / "*.parquet" if file.is_dir() else file).replace("'", "''")
        connection.execute(f"CREATE VIEW \"{name}\" AS SELECT * FROM read_parquet('{pattern}')")
    return connection


class DuckDBBackend:
    """`identity` is the file's absolute path: the same file is the same account in the ledger."""

    dialect: Literal["duckdb", "postgres", "spark"] = "duckdb"

    def __init__(self, path: str | Path, *, parquet: bool = False, workers: int = 2) -> None:
        self._path = Path(path).absolute()
        self.identity = f"{'parquet' if parquet else 'duckdb'}://{self._path}"
        try:
            self._connection = _opened(self._path, parquet)
        except duckdb.Error as error:
            log.error("cannot open %s: %s", self._path, error)
            raise EngineError(
                f"{self._path.name} cannot be opened as a DuckDB database",
                hint="Check that the file is a DuckDB file and that no other process writes to it.",
            ) from None
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="duckdb")
        self._closed = threading.Event()

    async def fetch(self, sql: str, columns: Sequence[OutputColumn]) -> PrivateRows:
        cursor = self._connection.cursor()
        running = asyncio.get_running_loop().run_in_executor(
            self._pool, _run, cursor, sql, len(columns)
        )
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            cursor.interrupt()
            await asyncio.wait([running])
            raise

    async def ping(self) -> None:
        await self.fetch("SELECT 1 AS one", ())

    async def close(self) -> None:
        self._pool.shutdown(wait=True)
        self._connection.close()


def _run(cursor: duckdb.DuckDBPyConnection, sql: str, width: int) -> PrivateRows:
    try:
        rows = cursor.execute(sql).fetchall()
    except duckdb.InterruptException:
        raise QueryCanceled("canceling statement due to user request") from None
    except duckdb.Error as error:
        log.error("query failed: %s\n%s", error, sql)
        raise EngineError(
            "the database could not run the query",
            hint="The proxy's log holds the reason; the curator can read it.",
        ) from None
    finally:
        cursor.close()
    return PrivateRows(tuple(zip(*rows, strict=True)) if rows else tuple(() for _ in range(width)))


class Scratch:
    """An empty in-memory DuckDB in which released rows are post-processed."""

    def evaluate(
        self, tables: dict[str, tuple[Sequence[str], str]], sql: str
    ) -> list[tuple[Value, ...]]:
        """Create each table (column definitions, VALUES text or '') and run `sql` over them."""
        connection = duckdb.connect()
        try:
            for name, (definitions, values) in tables.items():
                connection.execute(f"CREATE TABLE {name} ({', '.join(definitions)})")
                if values:
                    connection.execute(f"INSERT INTO {name} VALUES {values}")
            result: list[Any] = connection.execute(sql).fetchall()
            return result
        except duckdb.Error as error:
            log.error("post-processing failed: %s\n%s", error, sql)
            raise EngineError("the released rows could not be combined as the query asks") from None
        finally:
            connection.close()
