"""What a query does once it is charged: stage after stage it reads, adds noise, and puts together."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, TypeVar

from dp4sql.algebra.types import BIGINT
from dp4sql.backends.base import Backend
from dp4sql.backends.duckdb import Scratch
from dp4sql.errorbars import Answer, Widths
from dp4sql.mechanisms.calls import Opened
from dp4sql.mechanisms.reading import histogram_sql
from dp4sql.mechanisms.release import Measured, add_noise, output_rows, public_rows
from dp4sql.mechanisms.shelf import Shelf
from dp4sql.mechanisms.stages import CallStage, Price, PublicRead, Release, ScalarStage
from dp4sql.postprocess import Ids, Rows, Run, evaluate
from dp4sql.preparation import Prepared, stage_sql
from dp4sql.rows import OutputColumn, PrivateRows
from dp4sql.settings import Settings
from dp4sql.sql.dialects import DIALECTS

WORKERS: Final = 4
FEW: Final = 256

T = TypeVar("T")


class Engine:
    """Where statements run: the backend, the empty DuckDB for what comes after the noise, and threads."""

    def __init__(self, backend: Backend) -> None:
        self.backend, self.dialect = backend, DIALECTS[backend.dialect]
        self.scratch = Scratch()
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="release")

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

    async def answer(self) -> tuple[Rows, Widths]:
        """Rows, and the half-widths of what had to be simulated."""
        for index, stage in enumerate(self.prepared.plan.stages):
            match stage:
                case Release():
                    await self._release(index, stage)
                case PublicRead(columns=columns):
                    exact = await self._fetch(index, columns)
                    rows = await self.engine.aside(public_rows, stage, exact)
                    self.run.tables[index] = columns, rows
                case CallStage():
                    self.run.tables[index] = stage.columns, await self.calls[index].run()
                case ScalarStage(node, column, type):
                    scratch, only = self.engine.scratch, ((column, type),)
                    found = await self.engine.aside(evaluate, scratch, node, only, self.run)
                    self.run.constants[index] = found[0][0] if found else None
        return await self._combined()

    async def _combined(self) -> tuple[Rows, Widths]:
        plan, outputs = self.prepared.plan, self.prepared.outputs
        answer = Answer(self.engine.scratch, plan, outputs, self.cost, self.settings)
        return answer.of(self.run) if answer.light else await self.engine.aside(answer.of, self.run)

    async def _release(self, index: int, stage: Release) -> None:
        measured = await self._measured(index, stage)
        shown = (stage, measured, self._scales(index, stage), self.settings.nonnegative)
        # A thread costs more than a few rows.
        few = sum(map(len, measured.noisy)) <= FEW
        rows = output_rows(*shown) if few else await self.engine.aside(output_rows, *shown)
        self.run.measured[index], self.run.tables[index] = measured, (stage.columns, rows)

    async def _measured(self, index: int, stage: Release) -> Measured:
        """One that is kept, or the exact rows with noise, kept from now on."""
        if index in self.shelf.found:
            return self.shelf.found[index].measured
        private = await self._fetch(index, stage.columns)
        ranks = await self._histograms(stage)
        scales = self._scales(index, stage)
        return await self.engine.aside(_noised, stage, private, ranks, scales, index, self.shelf)

    def _scales(self, index: int, stage: Release) -> list[Fraction]:
        return [self.cost.scales[index, i] for i in range(len(stage.measurements))]

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


def _noised(
    stage: Release,
    private: PrivateRows,
    ranks: Mapping[int, PrivateRows],
    scales: Sequence[Fraction],
    index: int,
    shelf: Shelf,
) -> Measured:
    losses = [
        max((b / s for b in m.bounds.values() if b), default=Fraction(0)) if s else Fraction(0)
        for m, s in zip(stage.measurements, scales, strict=True)
    ]
    measured = add_noise(stage, private, ranks, scales, losses)
    shelf.keep(index, stage, measured, scales, datetime.datetime.now(datetime.UTC))
    return measured
