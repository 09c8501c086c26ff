"""What a query does once it is charged: stage after stage it reads, adds noise, and puts together."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Final, TypeVar

from dp4sql.algebra.types import BIGINT
from dp4sql.backends.base import Backend
from dp4sql.backends.duckdb import Scratch
from dp4sql.errorbars import Answer, Widths
from dp4sql.errors import EngineError
from dp4sql.mechanisms.calls import Opened
from dp4sql.mechanisms.reading import histogram_sql
from dp4sql.mechanisms.release import Measured, add_noise, output_rows, public_rows
from dp4sql.mechanisms.shelf import Shelf
from dp4sql.mechanisms.stages import CallStage, Measurement, Price, PublicRead, Release, ScalarStage
from dp4sql.postprocess import Ids, Rows, Run, evaluate
from dp4sql.preparation import Prepared, stage_sql
from dp4sql.rows import OutputColumn, PrivateRows
from dp4sql.settings import Settings
from dp4sql.sql.dialects import DIALECTS

WORKERS: Final = 4

T = TypeVar("T")


class Engine:
    """Where statements run: the backend, the empty DuckDB for what comes after the noise, and threads."""

    def __init__(self, backend: Backend) -> None:
        self.backend, self.dialect = backend, DIALECTS[backend.dialect]
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

    async def aside(self, work: Callable[..., T], *arguments: object) -> T:
        """Run `work` in a thread: OpenDP takes some 10 microseconds a value, without Python's lock, and
        other sessions go on meanwhile."""
        return await asyncio.get_running_loop().run_in_executor(self._workers, work, *arguments)

    async def close(self) -> None:
        await self.backend.close()
        await asyncio.to_thread(self._workers.shutdown)


@dataclass(slots=True)
class Execution:
    """One statement that is paid for. `calls` are its functions in FROM, by stage."""

    engine: Engine
    prepared: Prepared
    cost: Price
    calls: Mapping[int, Opened]
    shelf: Shelf
    settings: Settings
    run: Run = field(default_factory=Run)

    async def answer(self, close: Callable[[], T]) -> tuple[Rows, Widths, T]:
        """Rows, the half-widths of what had to be simulated, and what `close` says when both are there.

        What needs no engine waits until something else does, or until the end: to hand work to a thread
        takes as long as many a release.
        """
        waiting: list[Callable[[], None]] = []
        for index, stage in enumerate(self.prepared.plan.stages):
            match stage:
                case Release() if index in self.shelf.found:
                    kept = self.shelf.found[index].measured
                    waiting.append(partial(self._show, index, stage, kept))
                case Release():
                    await self._caught_up(waiting)
                    private = await self._fetch(index, stage.columns)
                    ranks = await self._histograms(stage)
                    waiting.append(partial(self._release, index, stage, private, ranks))
                case PublicRead(columns=columns):
                    await self._caught_up(waiting)
                    exact = await self._fetch(index, columns)
                    waiting.append(partial(self._public, index, stage, exact))
                case CallStage():
                    self.run.tables[index] = stage.columns, await self.calls[index].run()
                case ScalarStage():
                    waiting.append(partial(self._scalar, index, stage))
        return await self.engine.aside(self._end, waiting, close)

    async def _caught_up(self, waiting: list[Callable[[], None]]) -> None:
        if waiting:
            await self.engine.aside(_all, waiting)

    # ------------------------------------------------------------ in a thread

    def _end(
        self, waiting: list[Callable[[], None]], close: Callable[[], T]
    ) -> tuple[Rows, Widths, T]:
        _all(waiting)
        plan, outputs = self.prepared.plan, self.prepared.outputs
        answer = Answer(self.engine.scratch, plan, outputs, self.cost, self.settings)
        return *answer.of(self.run), close()

    def _release(
        self,
        index: int,
        stage: Release,
        private: PrivateRows,
        ranks: Mapping[int, PrivateRows],
    ) -> None:
        """Noise on exact rows, which are kept from now on."""
        scales = self._scales(index, stage)
        losses = [_loss(m, scale) for m, scale in zip(stage.measurements, scales, strict=True)]
        measured = add_noise(stage, private, ranks, scales, losses)
        self.shelf.keep(index, stage, measured, scales, datetime.datetime.now(datetime.UTC))
        self._show(index, stage, measured)

    def _show(self, index: int, stage: Release, measured: Measured) -> None:
        rows = output_rows(stage, measured, self._scales(index, stage), self.settings.nonnegative)
        self.run.measured[index], self.run.tables[index] = measured, (stage.columns, rows)

    def _scales(self, index: int, stage: Release) -> list[Fraction]:
        return [self.cost.scales[index, i] for i in range(len(stage.measurements))]

    def _public(self, index: int, stage: PublicRead, exact: PrivateRows) -> None:
        self.run.tables[index] = stage.columns, public_rows(stage, exact)

    def _scalar(self, index: int, stage: ScalarStage) -> None:
        only = ((stage.column, stage.type),)
        found = evaluate(self.engine.scratch, stage.node, only, self.run)
        self.run.constants[index] = found[0][0] if found else None

    # ------------------------------------------------------------ by the engine

    async def _fetch(self, index: int, columns: Ids) -> PrivateRows:
        sql, constants = self.prepared.reads[index], self.run.constants
        if constants:
            stage, facts = self.prepared.plan.stages[index], self.prepared.facts
            sql = stage_sql(stage, facts, self.engine.dialect, constants)
        return await self.engine.backend.fetch(sql, tuple(OutputColumn(*c) for c in columns))

    async def _histograms(self, stage: Release) -> dict[int, PrivateRows]:
        """What the ranks (MIN, MAX, percentiles) of a release are chosen by."""
        found = {}
        keys = [OutputColumn(id, type) for id, type in stage.columns[: len(stage.node.keys)]]
        extra = [OutputColumn("place", BIGINT), OutputColumn("n", BIGINT)]
        facts, dialect = self.prepared.facts, self.engine.dialect
        for i, measurement in enumerate(stage.measurements):
            if measurement.quantity.kind == "rank":
                sql = histogram_sql(stage, i, facts, dialect, self.run.constants)
                found[i] = await self.engine.backend.fetch(sql, (*keys, *extra))
        return found


def _all(works: list[Callable[[], None]]) -> None:
    """Each is dropped, with the rows that it holds, when it is done."""
    while works:
        works.pop(0)()


def _loss(measurement: Measurement, scale: Fraction) -> Fraction:
    """The most that any policy is charged for it, as the epsilon bound / scale."""
    bounds = (bound / scale for bound in measurement.bounds.values() if bound) if scale else ()
    return max(bounds, default=Fraction(0))
