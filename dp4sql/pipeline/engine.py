"""Where a statement's work runs: its reads in an engine, the rest in threads beside the event loop.

The work is a generator of steps, which yields what it wants read. An engine that reads in threads gives a
statement one of them for all of it, as each hand-over takes as long as many a release; elsewhere steps run in
threads, and the loop awaits the reads between them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Generic, TypeAlias, TypeVar

from dp4sql.backends.base import Backend, Fetch, Read, Threaded
from dp4sql.backends.duckdb import Scratch
from dp4sql.errors import EngineError
from dp4sql.rows import PrivateRows
from dp4sql.sql.dialects import DIALECTS

WORKERS: Final = 4

T = TypeVar("T")

Wanted: TypeAlias = Read | Callable[[], Awaitable[Any]] | None
"""A read, or a function in FROM, which reads by itself. None is a place where another thread may take over:
what comes after it may take long."""
Steps: TypeAlias = Generator[Wanted, Any, T]
Abandon: TypeAlias = Callable[[BaseException], Awaitable[None]]
"""Told of the cancellation of a statement whose steps may be running still."""


class Engine:
    """Where statements run: the backend, the empty DuckDB for what comes after the noise, and threads."""

    def __init__(self, backend: Backend) -> None:
        self.backend, self.dialect = backend, DIALECTS[backend.dialect]
        self._threaded = backend if isinstance(backend, Threaded) else None
        self.scratch = Scratch()
        self.doubtful = False
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="release")

    async def trouble(self) -> EngineError | None:
        """After a query failed: whether the next one would, too. What is not there costs no budget twice."""
        if self.doubtful:
            try:
                await self.backend.ping()
            except EngineError as error:
                return error
            self.doubtful = False
        return None

    async def run(self, steps: Steps[T], abandon: Abandon, *, calls: bool) -> T:
        """What `steps` return. `calls`: they want more than reads. A cancelled read is stopped, and the steps
        hear of it; steps that run then go on by themselves, at most to their next read."""
        course = Course(steps)
        visit = self._threaded.visit() if self._threaded and not calls else None
        if visit is None:
            return await self._beside(course, abandon)
        try:
            await visit.run(course.through)
        except asyncio.CancelledError as error:
            await abandon(error)
            raise
        # Many rows are worked on elsewhere: the thread is there to read.
        return course.result if course.ended else await self._beside(course, abandon)

    async def _beside(self, course: Course[T], abandon: Abandon) -> T:
        """Steps in threads, reads between them. The first step, which writes the ledger, never waits for
        those that draw noise."""
        loop, given = asyncio.get_running_loop(), course.pending
        threads = None if given is None else self._workers
        course.pending = None
        while True:
            try:
                wanted = await loop.run_in_executor(threads, course.go, given)
            except asyncio.CancelledError as error:
                await abandon(error)
                raise
            given = None
            if course.ended:
                return course.result
            given, threads = await self._given(wanted, course), self._workers

    async def _given(self, wanted: Wanted, course: Course[T]) -> object:
        try:
            match wanted:
                case None:
                    return None
                case Read(sql, columns, many):
                    return await self.backend.fetch(sql, columns, many=many)
                case call:
                    return await call()
        except (Exception, asyncio.CancelledError) as error:
            await asyncio.to_thread(course.fail, error)
            raise

    async def close(self) -> None:
        await self.backend.close()
        await asyncio.to_thread(self._workers.shutdown)


class Course(Generic[T]):
    """Steps under way; they run in one thread at a time."""

    def __init__(self, steps: Steps[T]) -> None:
        self._steps, self.ended = steps, False
        self.result: T
        self.pending: object = None

    def go(self, given: object) -> Wanted:
        """On to the next read, or to the end."""
        try:
            return self._steps.send(given)
        except StopIteration as end:
            self.result, self.ended = end.value, True
            return None

    def fail(self, error: BaseException) -> None:
        """Tell the steps that their read failed, which ends them."""
        try:
            self._steps.throw(error)
        except BaseException as raised:
            if raised is not error:
                raise

    def through(self, fetch: Fetch) -> None:
        """To the end, with all reads, or until there are many rows, which are left pending."""
        wanted = self.go(None)
        while not self.ended:
            given: PrivateRows | None = None
            if isinstance(wanted, Read):
                try:
                    given = fetch(wanted.sql, wanted.columns)
                except BaseException as error:
                    self.fail(error)
                    raise
                if given.many:
                    self.pending = given
                    return
            wanted = self.go(given)
