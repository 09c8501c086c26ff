"""One query, plain and private, against the clock and against the truth."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from dp4sql.algebra.types import Value
from dp4sql.backends import Backend
from dp4sql.backends.base import Fetch, Threaded, Visit
from dp4sql.bench.queries import Query
from dp4sql.budget.cost import Charge
from dp4sql.budget.ledger import Ledger
from dp4sql.pipeline import Pipeline
from dp4sql.rows import OutputColumn, PrivateRows
from dp4sql.settings import Settings

Rows = Sequence[Sequence[Value]]


@dataclass(slots=True)
class Clock:
    """Seconds by stage, since the last `take`."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0) + time.perf_counter() - start

    def take(self) -> dict[str, float]:
        found, self.seconds = self.seconds, {}
        return found


class TimedBackend:
    """A backend whose reads the clock sees."""

    def __init__(self, backend: Backend, clock: Clock) -> None:
        self.dialect: Literal["duckdb", "postgres", "spark"] = backend.dialect
        self.identity = backend.identity
        self._backend, self._clock = backend, clock

    async def fetch(
        self, sql: str, columns: Sequence[OutputColumn], *, many: bool = False
    ) -> PrivateRows:
        with self._clock.stage("read"):
            return await self._backend.fetch(sql, columns, many=many)

    def visit(self) -> TimedVisit | None:
        visit = self._backend.visit() if isinstance(self._backend, Threaded) else None
        return None if visit is None else TimedVisit(visit, self._clock)

    async def ping(self) -> None:
        await self._backend.ping()

    async def close(self) -> None:
        await self._backend.close()


class TimedVisit:
    """A thread of a backend, whose reads the clock sees."""

    def __init__(self, visit: Visit, clock: Clock) -> None:
        self._visit, self._clock = visit, clock

    async def run(self, work: Callable[[Fetch], None]) -> None:
        def timed(fetch: Fetch) -> None:
            work(lambda sql, columns: self._timed(fetch, sql, columns))

        await self._visit.run(timed)

    def _timed(self, fetch: Fetch, sql: str, columns: Sequence[OutputColumn]) -> PrivateRows:
        with self._clock.stage("read"):
            return fetch(sql, columns)


class TimedLedger(Ledger):
    """A ledger whose writes the clock sees."""

    def __init__(self, where: str, clock: Clock) -> None:
        super().__init__(where)
        self._stages = clock

    def charge(self, charges: Sequence[Charge], **about: Any) -> int | None:
        with self._stages.stage("charge"):
            return super().charge(charges, **about)

    def close_query(self, *about: Any, **more: Any) -> None:
        with self._stages.stage("charge"):
            super().close_query(*about, **more)


async def plain(backend: Backend, query: Query) -> tuple[Rows, dict[str, float]]:
    """The engine's own answer to the query as it stands, its seconds, and those of this process's CPUs."""
    with _measured("plain") as seconds:
        opened = (await backend.fetch(query.sql, ())).open_columns()
    return list(zip(*opened, strict=True)), seconds


async def private(
    pipeline: Pipeline, clock: Clock, query: Query, run: int
) -> tuple[Rows, dict[str, float]]:
    """The private answer and seconds: charge, read, rest (noise and post-processing), total, and those of
    this process's CPUs; all of a statement that was planned before, as a proxy repeats it. And what a new
    statement takes: plan, first (all of its answer), and of CPUs.
    """
    new, settings = f"{query.sql} -- run {run}", Settings(reuse="off")
    with _measured("first") as first:
        with _measured("plan") as plan:
            pipeline.describe(new)
        await pipeline.query(new, settings=settings)
    pipeline.describe(query.sql)
    clock.take()
    with _measured("total") as total:
        released = await pipeline.query(query.sql, settings=settings)
    stages = clock.take()
    rest = total["total"] - sum(stages.values())
    return released.rows, {**stages, "rest": rest, **total, **plan, **first}


@contextmanager
def _measured(name: str) -> Iterator[dict[str, float]]:
    """Seconds of the block, and those of this process's CPUs."""
    found: dict[str, float] = {}
    start, cpu = time.perf_counter(), time.process_time()
    yield found
    found[name], found[f"{name}_cpu"] = time.perf_counter() - start, time.process_time() - cpu


def errors(truth: Rows, answer: Rows, keys: int) -> list[float]:
    """|y - answer| / max(1, |y|) for each group and measure of the truth; 1 where the group is missing.

    The relative error of the DP4SQL paper (section 9.1).
    """
    found = {tuple(row[:keys]): row[keys:] for row in answer}
    return [
        _error(value, noisy)
        for row in truth
        for value, noisy in zip(
            row[keys:], found.get(tuple(row[:keys]), (None,) * (len(row) - keys)), strict=True
        )
        if isinstance(value, (int, float, Decimal))
    ]


def _error(truth: float | Decimal, noisy: Value) -> float:
    if not isinstance(noisy, (int, float, Decimal)):
        return 1.0
    return abs(float(truth) - float(noisy)) / max(1.0, abs(float(truth)))


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def quantiles(values: Sequence[float]) -> list[float]:
    """At QUANTILES, the nearest of `values`; none of no values."""
    ordered = sorted(values)
    return [ordered[round(q * (len(ordered) - 1))] for q in QUANTILES] if ordered else []
