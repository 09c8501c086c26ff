"""DuckDB, embedded: read-only, locked down, one cursor a query in a small thread pool."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import duckdb

from dp4sql.backends.base import Fetch, query_canceled, query_failed
from dp4sql.errors import EngineError, InternalError
from dp4sql.remember import Remembered
from dp4sql.rows import PART, Collected, OutputColumn, PrivateRows

log = logging.getLogger(__name__)

# Applied once the data is open: after them no file, extension or Python variable can be reached.
LOCKDOWN: Final = (
    "SET GLOBAL TimeZone = 'UTC'",
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET allow_persistent_secrets = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)

WORKERS: Final = 4
AS_COLUMNS: Final = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "VARCHAR"}
"""Types that numpy holds as they are; HUGEINT and DECIMAL would become floats."""
REMEMBERED: Final = 1_000_000
"""Characters of statements that are kept parsed."""


class Unplanned(Exception):
    """A statement that DuckDB's optimizer could not make a plan of."""


class DuckDBBackend:
    """A DuckDB file, or a folder of parquet files.

    `identity` is the absolute path: the same file is the same account in the ledger.
    """

    dialect: Literal["duckdb", "postgres", "spark"] = "duckdb"

    def __init__(self, path: str | Path, *, parquet: bool = False) -> None:
        """EngineError where there is no such file, or no data in it."""
        path = Path(path).resolve()
        self.identity = f"{'parquet' if parquet else 'duckdb'}://{path}"
        self._open(*_opened(path, parquet))

    def _open(
        self, connection: duckdb.DuckDBPyConnection, plain: duckdb.DuckDBPyConnection | None = None
    ) -> None:
        """`plain`: as `unoptimized` makes it."""
        self._connection, self._plain, self._turn = connection, plain, threading.Lock()
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="duckdb")
        self._jobs: set[Future[None]] = set()
        # One that is parsed already takes DuckDB a quarter of a millisecond less.
        self._select = Remembered(partial(_select, connection), len, REMEMBERED)
        self._idle: deque[duckdb.DuckDBPyConnection] = deque(maxlen=WORKERS)

    def visit(self) -> DuckDBVisit | None:
        return DuckDBVisit(self) if len(self._jobs) < WORKERS else None

    async def fetch(
        self, sql: str, columns: Sequence[OutputColumn], *, many: bool = False
    ) -> PrivateRows:
        found: list[PrivateRows] = []
        await DuckDBVisit(self).run(lambda fetch: found.append(fetch(sql, columns)))
        return found.pop()

    async def ping(self) -> None:
        await self.fetch("SELECT 1", ())

    async def close(self) -> None:
        await asyncio.to_thread(self._pool.shutdown)
        self._idle.clear()
        self._plain = None
        self._connection.close()

    # ------------------------------------------------------------ for visits

    def submit(self, work: Callable[[], None]) -> Future[None]:
        """`work` in a thread of the pool, when one is free."""
        job = self._pool.submit(work)
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
        return job

    def cursor(self) -> duckdb.DuckDBPyConnection:
        try:
            return self._idle.pop()
        except IndexError:
            return self._connection.cursor()

    def keep(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """For the next read. It still holds its last result."""
        self._idle.append(cursor)

    @contextmanager
    def plain(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection that runs statements as they are written. What stored values are like decides what the
        optimizer makes of a statement; where that fails by a fault of its own, the error would tell of them."""
        if self._plain is None:
            raise query_failed()
        with self._turn:
            yield self._plain

    def read(self, cursor: duckdb.DuckDBPyConnection, sql: str) -> list[Any]:
        """Columns, in the caller's thread. Unplanned where the optimizer failed."""
        try:
            cursor.execute(self._select(sql))
            return _collected(cursor)
        except duckdb.InterruptException:
            raise query_canceled() from None
        except duckdb.Error as error:
            # The optimizer may fail by its own faults, or by what it computes of the least and greatest values.
            if cursor is not self._plain and not isinstance(error, duckdb.OutOfMemoryException):
                log.warning("run anew without DuckDB's optimizer: %s\n%s", error, sql)
                raise Unplanned from None
            log.error("query failed: %s\n%s", error, sql)
            raise query_failed() from None


class DuckDBVisit:
    """A thread of the pool; it waits for one where none is free."""

    def __init__(self, backend: DuckDBBackend) -> None:
        self._backend, self._over = backend, False
        self._lock = threading.Lock()
        self._reading: duckdb.DuckDBPyConnection | None = None

    async def run(self, work: Callable[[Fetch], None]) -> None:
        job = self._backend.submit(partial(work, self._fetch))
        try:
            await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            await self._stopped()
            raise

    def _fetch(self, sql: str, columns: Sequence[OutputColumn]) -> PrivateRows:
        cursor = self._backend.cursor()
        try:
            found = self._read(cursor, sql)
        except Unplanned:
            with self._backend.plain() as plain:
                return PrivateRows(self._read(plain, sql))
        if all(len(column) < PART for column in found):
            self._backend.keep(cursor)
        return PrivateRows(found)

    def _read(self, cursor: duckdb.DuckDBPyConnection, sql: str) -> list[Any]:
        with self._lock:
            if self._over:
                raise query_canceled()
            self._reading = cursor
        try:
            return self._backend.read(cursor, sql)
        finally:
            # Before another statement may get the cursor, and an interrupt that is meant for this one.
            with self._lock:
                self._reading = None

    async def _stopped(self) -> None:
        """Interrupt until it counts: DuckDB forgets one that comes just before a query starts.

        No cursor is closed by hand, because an interrupt of a closed one fails.
        """
        while self._interrupted():
            await asyncio.sleep(0.01)

    def _interrupted(self) -> bool:
        with self._lock:
            self._over = True
            if self._reading is not None:
                self._reading.interrupt()
            return self._reading is not None


def _collected(cursor: duckdb.DuckDBPyConnection) -> list[Any]:
    """In parts, so that other threads get their turn, and never twice in memory; many rows of whole numbers
    and texts as columns."""
    described = cursor.description or ()
    found = Collected(len(described))
    while rows := cursor.fetchmany(PART):
        found.add(rows)
        if len(rows) < PART:
            break
        if all(str(column[1]) in AS_COLUMNS for column in described):
            found.add_columns(cursor.fetchnumpy().values())
            break
    return found.columns()


def _select(connection: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement:
    """The one statement of `sql`; COPY could still write where parquet files may be read."""
    statement, *others = connection.extract_statements(sql)
    if others or statement.type != duckdb.StatementType.SELECT:
        raise InternalError("what was rendered for DuckDB is not one SELECT")
    return statement


def _opened(
    path: Path, parquet: bool
) -> tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyConnection | None]:
    try:
        connection = _parquet(path) if parquet else _file(path)
        plain = unoptimized(connection)
        _lock_down(connection)
    except duckdb.Error as error:
        log.error("cannot open %s: %s", path, error)
        raise EngineError(
            f"{path.name} cannot be read by DuckDB",
            hint="Its files are damaged, not DuckDB's or parquet, or open for writing elsewhere. "
            "The log says more.",
        ) from None
    return connection, plain


def unoptimized(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection | None:
    """Another connection, which leaves statements as they are; None where the configuration is locked."""
    plain = connection.cursor()
    try:
        plain.execute("PRAGMA disable_optimizer")
    except duckdb.InvalidInputException:
        return None
    return plain


def _lock_down(connection: duckdb.DuckDBPyConnection) -> None:
    """Connections of one process to one file are one instance, which may be locked already."""
    locked = connection.execute("SELECT current_setting('lock_configuration')").fetchone()
    if locked != (True,):
        for statement in LOCKDOWN:
            connection.execute(statement)


def _file(path: Path) -> duckdb.DuckDBPyConnection:
    if not path.is_file():
        raise EngineError(
            f"there is no database file {path.name}", hint=f"The path was read as {path}."
        )
    return duckdb.connect(str(path), read_only=True)


def _parquet(folder: Path) -> duckdb.DuckDBPyConnection:
    """A view for each parquet file, and for each folder of parquet files, in `folder`."""
    tables = {p.stem: p for p in sorted(folder.glob("*.parquet"))}
    tables |= {p.parent.name: p.parent / "*.parquet" for p in sorted(folder.glob("*/*.parquet"))}
    if not tables:
        raise EngineError(
            f"folder {folder.name or folder} holds no parquet files",
            hint=f"The path was read as {folder}. A table is TABLE.parquet or TABLE/*.parquet there.",
        )
    connection = duckdb.connect()
    connection.execute("SET allowed_directories = ?", [[str(folder)]])
    for name, files in tables.items():
        connection.read_parquet(str(files)).create_view(name)
    return connection


#: By column a type, and what gives its value out of a part of the rows, where it is an array under its name.
Table: TypeAlias = tuple[Mapping[str, tuple[str, str]], Iterable[Mapping[str, Any]]]
#: A few rows: by column a type, and the values as texts.
Few: TypeAlias = Mapping[str, tuple[str, list[str | None]]]


class Scratch:
    """An empty in-memory DuckDB, locked down, in which released rows are post-processed."""

    def __init__(self) -> None:
        self._connection = duckdb.connect()
        # What numpy holds as objects are texts here, whatever they look like.
        self._connection.execute("SET GLOBAL pandas_analyze_sample = 0")
        _lock_down(self._connection)
        self._select = Remembered(partial(_select, self._connection), len, REMEMBERED)

    def evaluate(
        self,
        tables: Mapping[str, Table | Few],
        sql: str,
        arrays: Mapping[str, Mapping[str, Any]] | None = None,
        derived: Mapping[str, str] | None = None,
    ) -> list[Any]:
        """The columns of `sql`, a SELECT, over `tables`.

        arrays: further tables, as numpy columns. derived: further ones as SELECTs over those before them.
        """
        cursor = self._connection.cursor()
        parts, values = dict[str, str](), list[list[str | None]]()
        try:
            for name, of in tables.items():
                if isinstance(of, tuple):
                    _load(cursor, name, of)
                else:
                    parts[f"{name} AS"] = _unnested(of, len(values) + 1)
                    values += [texts for _, texts in of.values()]
            for name, columns in (arrays or {}).items():
                cursor.register(name, dict(columns))
            parts |= {f"{name} AS MATERIALIZED": text for name, text in (derived or {}).items()}
            first = ", ".join(f"{name} ({text})" for name, text in parts.items())
            cursor.execute(self._select(f"WITH {first} {sql}" if first else sql), values)
            return _collected(cursor)
        except duckdb.Error as error:
            log.error("post-processing failed: %s\n%s", error, sql)
            raise EngineError("the released rows could not be combined as the query asks") from None
        finally:
            cursor.close()


def _load(cursor: duckdb.DuckDBPyConnection, name: str, of: Table) -> None:
    """As a temporary table, which is the cursor's own and goes with it."""
    columns, parts = of
    definitions = (f"{column} {type}" for column, (type, _) in columns.items())
    cursor.execute(f"CREATE TEMP TABLE {name} ({', '.join(definitions)})")
    items = ", ".join(f"CAST({value} AS {type})" for type, value in columns.values())
    for part in parts:
        cursor.register("part", dict(part))
        cursor.execute(f"INSERT INTO {name} SELECT {items} FROM part")


def _unnested(of: Few, first: int) -> str:
    """Parameters from number `first` on as a table. Tables and arrays would take several statements, and
    DuckDB as long for each as for all that is computed of a few rows."""
    items = (
        f"CAST(UNNEST(${i}::VARCHAR[]) AS {type}) AS {column}"
        for i, (column, (type, _)) in enumerate(of.items(), first)
    )
    return f"SELECT {', '.join(items)}"
