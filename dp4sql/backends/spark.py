"""Spark through PySpark, over parquet tables: on this machine, on a master, or by Spark Connect."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import unquote, urlsplit

from pyspark.sql import SparkSession

from dp4sql.backends.base import query_canceled, query_failed
from dp4sql.errors import EngineError, InternalError
from dp4sql.rows import OutputColumn, PrivateRows

log = logging.getLogger(__name__)

WORKERS: Final = 4
#: What rendered SQL relies on: text as it is written, time without zones, errors where numbers overflow.
SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.runSQLOnFiles": "false",
}
LOCAL: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
}
#: A Connect server takes one interrupt a query. What adaptive execution submits on other threads after that
#: one would run on with nobody to stop it.
REMOTE: Final = {"spark.sql.adaptive.enabled": "false"}
#: Spark's names of types as information_schema would have them.
NAMES: Final = {
    "int": "integer",
    "string": "text",
    "timestamp_ntz": "timestamp",
    "timestamp": "timestamp with time zone",
}


class SparkBackend:
    """The parquet tables of a folder, or the tables of a Connect server's catalogue.

    `spark:///FOLDER` runs Spark in this process, `spark://HOST:PORT/FOLDER` uses a standalone master,
    `sc://HOST:PORT/FOLDER;token=...` a Connect server; the last without a folder reads the server's own
    tables.
    Spark starts with the first query. `identity` is the URL without parameters.
    """

    dialect: Literal["duckdb", "postgres", "spark"] = "spark"

    def __init__(self, url: str) -> None:
        """EngineError where the folder holds no parquet files."""
        parsed = urlsplit(url)
        path, _, self._parameters = parsed.path.partition(";")
        place = _folder(unquote(path), parsed.scheme) or ""
        self.identity = f"{parsed.scheme}://{parsed.hostname or ''}{_port(parsed.port)}{place}"
        self._files = _parquet(Path(place)) if place else {}
        self._url = url
        self._session: Any = None
        self._opening = asyncio.Lock()
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="spark")

    async def fetch(self, sql: str, columns: Sequence[OutputColumn]) -> PrivateRows:
        if not sql.startswith(("SELECT", "select", "with", "WITH")):
            raise InternalError("what was rendered for Spark is not a SELECT")
        session, tag = await self._opened(), f"dp4sql-{uuid.uuid4()}"
        job = self._pool.submit(_run, session, sql, tag, len(columns))
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            await _stopped(job, session, tag)
            raise

    async def ping(self) -> None:
        await self.fetch("SELECT 1", ())

    async def close(self) -> None:
        await asyncio.to_thread(self._pool.shutdown)
        if self._session is not None and urlsplit(self._url).scheme == "sc":
            await asyncio.to_thread(self._session.stop)

    async def _opened(self) -> Any:
        async with self._opening:
            if self._session is None:
                self._session = await asyncio.to_thread(
                    _started, self._url, self._parameters, self._files
                )
            return self._session


def _run(session: Any, sql: str, tag: str, width: int) -> PrivateRows:
    # Sessions know tags, too, but those of this process find no job by them.
    add, remove = (
        (session.addTag, session.removeTag)
        if _remote(session)
        else (session.sparkContext.addJobTag, session.sparkContext.removeJobTag)
    )
    add(tag)
    try:
        rows = session.sql(sql).collect()
    except Exception as error:
        # Python, Java and Connect raise errors of different families; clients hear one thing.
        if "OPERATION_CANCELED" in str(error) or "cancelled" in str(error):
            raise query_canceled() from None
        log.error("query failed: %s\n%s", error, sql)
        raise query_failed() from None
    finally:
        remove(tag)
    return PrivateRows(list(zip(*rows, strict=True)) or [()] * width)


async def _stopped(job: Future[PrivateRows], session: Any, tag: str) -> None:
    """Interrupt until it counts: one that comes before the job has begun is forgotten."""
    job.cancel()
    remote = _remote(session)
    interrupt = session.interruptTag if remote else session.sparkContext.cancelJobsWithTag
    while not job.done():
        await asyncio.to_thread(interrupt, tag)
        await asyncio.sleep(0.05)


def _remote(session: Any) -> bool:
    return not isinstance(session, SparkSession)


# ---------------------------------------------------------------- opening


def _started(url: str, parameters: str, files: dict[str, str]) -> Any:
    try:
        session = _session(url, parameters)
        for name, value in (SETTINGS | (REMOTE if _remote(session) else {})).items():
            session.conf.set(name, value)
        for name, place in files.items():
            session.read.parquet(place).createOrReplaceTempView(name)
        _describe(session)
    except Exception as error:
        log.error("cannot start Spark: %s", error)
        raise EngineError(
            "Spark cannot be started or reached",
            hint="Spark on this machine needs Java 17 or later; elsewhere check host and port. "
            "The log says more.",
        ) from None
    return session


def _session(url: str, parameters: str) -> Any:
    parsed = urlsplit(url)
    if parsed.scheme == "sc":
        return SparkSession.builder.remote(f"sc://{parsed.netloc}/;{parameters}").create()
    builder = SparkSession.builder.appName("dp4sql")
    builder = builder.master(f"spark://{parsed.netloc}" if parsed.netloc else "local[*]")
    for name, value in LOCAL.items():
        builder = builder.config(name, value)
    # Views and settings of its own, whoever else uses Spark in this process.
    return builder.getOrCreate().newSession()


def _describe(session: Any) -> None:
    """A view with what information_schema.columns holds elsewhere."""
    rows = []
    for table in session.catalog.listTables():
        for i, column in enumerate(session.table(f"`{table.name}`").schema.fields):
            type = column.dataType.simpleString()
            null = "YES" if column.nullable else "NO"
            name = NAMES.get(type, type)
            rows.append(("public", table.name, column.name, name, null, None, None, i))
    shape = (
        "table_schema string, table_name string, column_name string, data_type string, "
        "is_nullable string, numeric_precision int, numeric_scale int, ordinal_position int"
    )
    session.createDataFrame(rows, shape).createOrReplaceTempView("dp4sql_columns")


def _folder(path: str, scheme: str) -> str | None:
    if path in ("", "/") and scheme == "sc":
        return None
    return str(Path(path or "/").resolve())


def _port(port: int | None) -> str:
    return "" if port is None else f":{port}"


def _parquet(folder: Path) -> dict[str, str]:
    """A table for each parquet file, and for each folder of parquet files, in `folder`."""
    tables = {p.stem: str(p) for p in sorted(folder.glob("*.parquet"))}
    tables |= {p.parent.name: str(p.parent) for p in sorted(folder.glob("*/*.parquet"))}
    if not tables:
        raise EngineError(
            f"folder {folder.name or folder} holds no parquet files",
            hint=f"The path was read as {folder}. A table is TABLE.parquet or TABLE/*.parquet there.",
        )
    return tables
