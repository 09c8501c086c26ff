"""Spark through PySpark, over parquet tables: on this machine, on a master, or by Spark Connect."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException

from dp4sql.backends.base import query_failed
from dp4sql.backends.spark_sessions import closed, remote, started
from dp4sql.errors import EngineError, InternalError, QueryCanceled
from dp4sql.rows import PART, OutputColumn, PrivateRows

log = logging.getLogger(__name__)

WORKERS: Final = 4


@dataclass(slots=True)
class _Query:
    """One statement on its way; Spark finds its jobs by `tag`. `ended` once nobody waits for it any more."""

    sql: str
    tag: str = field(default_factory=lambda: f"dp4sql-{uuid.uuid4()}")
    ended: bool = False


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

    async def fetch(
        self, sql: str, columns: Sequence[OutputColumn], *, many: bool = False
    ) -> PrivateRows:
        if not sql.startswith(("SELECT", "select", "with", "WITH")):
            raise InternalError("what was rendered for Spark is not a SELECT")
        session = await self._opened()
        rows = await self._answered(session, _Query(sql))
        if rows is None:
            await self._forget(session)
            rows = await self._answered(await self._opened(), _Query(sql))
        if rows is None:
            raise query_failed()
        return rows

    async def _answered(self, session: Any, query: _Query) -> PrivateRows | None:
        """None where Spark no longer knows the session."""
        job = self._pool.submit(_run, session, query)
        try:
            return await asyncio.wrap_future(job)
        except asyncio.CancelledError:
            query.ended = True
            await _stopped(job, session, query.tag)
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
                    started, self._url, self._parameters, self._files
                )
            return self._session

    async def _forget(self, session: Any) -> None:
        async with self._opening:
            if self._session is session:
                self._session = None
                await asyncio.to_thread(closed, session)


def _run(session: Any, query: _Query) -> PrivateRows | None:
    # Sessions know tags, too, but those of this process find no job by them.
    tags = session if remote(session) else session.sparkContext
    add, remove = (
        (tags.addTag, tags.removeTag) if remote(session) else (tags.addJobTag, tags.removeJobTag)
    )
    try:
        add(query.tag)
        return PrivateRows(_columns(session.sql(query.sql).toArrow()))
    except Exception as error:
        # Python, Java and Connect raise errors of different families; clients hear one thing.
        if query.ended:
            return None
        condition = _condition(error)
        if condition == "OPERATION_CANCELED":
            raise QueryCanceled(
                "the database ended the query", hint="Spark's administrator cancelled it."
            ) from None
        log.error("query failed: %s\n%s", error, query.sql)
        if _lost(session, condition):
            return None
        raise query_failed() from None
    finally:
        with contextlib.suppress(Exception):
            remove(query.tag)


def _condition(error: Exception) -> str:
    """Spark's name for what went wrong, which no data can forge."""
    return (error.getCondition() if isinstance(error, PySparkException) else None) or ""


def _lost(session: Any, condition: str) -> bool:
    """Whether Spark started anew or dropped the session, so that another one could answer."""
    if remote(session):
        return condition.startswith("INVALID_HANDLE") or bool(session.is_stopped)
    with contextlib.suppress(Exception):
        return bool(session.sparkContext._jsc.sc().isStopped())
    return False  # Java itself is gone, and cannot be started twice in a process


def _columns(table: pa.Table) -> list[Any]:
    many = table.num_rows >= PART
    return [_values(column, many) for column in table.columns]


def _values(column: pa.ChunkedArray, many: bool) -> Any:
    """Many integers as an array, the rest as Python values, in parts, so that other threads get their turn."""
    if many and pa.types.is_integer(column.type) and not column.null_count:
        return column.to_numpy().astype(np.int64)
    parts = range(0, len(column), PART)
    return [value for start in parts for value in column.slice(start, PART).to_pylist()]


async def _stopped(job: Future[PrivateRows | None], session: Any, tag: str) -> None:
    """Interrupt until it counts: one that comes before the job has begun is forgotten."""
    job.cancel()
    while not job.done():
        await asyncio.to_thread(_interrupt, session, tag)
        await asyncio.sleep(0.05)


def _interrupt(session: Any, tag: str) -> None:
    try:
        if remote(session):
            session.interruptTag(tag)
        else:
            session.sparkContext.cancelJobsWithTag(tag)
    except Exception as error:
        log.error("cannot cancel a query: %s", error)


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
