"""What a query does once it is charged: stage after stage it reads, adds noise, and puts together."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from dp4sql.algebra.bounds import finite
from dp4sql.algebra.types import BIGINT
from dp4sql.backends.base import Read
from dp4sql.errors import CardinalityViolation
from dp4sql.mechanisms.calls import Opened
from dp4sql.mechanisms.kept.shelf import Shelf
from dp4sql.mechanisms.reading import histogram_sql
from dp4sql.mechanisms.release import Measured, add_noise, output_rows, public_rows
from dp4sql.mechanisms.stages import (
    CallStage,
    Measurement,
    Price,
    PublicRead,
    Release,
    ScalarStage,
    Stage,
)
from dp4sql.pipeline.engine import Engine, Steps
from dp4sql.pipeline.errorbars import Answer, Widths
from dp4sql.pipeline.postprocess import Ids, Rows, Run, evaluate
from dp4sql.pipeline.preparation import Prepared, stage_sql
from dp4sql.rows import PART, OutputColumn, PrivateRows
from dp4sql.settings import Settings


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

    def steps(self) -> Steps[tuple[Rows, Widths]]:
        """Rows, and the half-widths of what had to be simulated."""
        plan = self.prepared.plan
        for index, stage in enumerate(plan.stages):
            match stage:
                case Release() if index in self.shelf.found:
                    self._show(index, stage, self.shelf.found[index].measured)
                case Release():
                    private = yield self._read(index, stage.columns)
                    self._release(index, stage, private, (yield from self._histograms(stage)))
                    del private  # A later stage may be as large.
                case PublicRead(columns=columns):
                    self._public(index, stage, (yield self._read(index, columns)))
                case CallStage():
                    self.run.tables[index] = stage.columns, (yield self.calls[index].run)
                case ScalarStage():
                    self._scalar(index, stage)
        scratch, form = self.engine.scratch, self.prepared.form
        answer = Answer(scratch, plan, form, self.cost, self.settings)
        return answer.of(self.run)

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
        if len(found) > 1:
            raise CardinalityViolation(
                "more than one row returned by a subquery used as an expression",
                hint="LIMIT 1 takes the first, MIN or MAX one of them.",
            )
        self.run.constants[index] = found[0][0] if found else None

    # ------------------------------------------------------------ reads

    def _read(self, index: int, columns: Ids) -> Read:
        sql, constants = self.prepared.reads[index], self.run.constants
        if constants:
            stage, facts = self.prepared.plan.stages[index], self.prepared.facts
            sql = stage_sql(stage, facts, self.engine.dialect, constants)
        many = self._many(self.prepared.plan.stages[index])
        return Read(sql, tuple(OutputColumn(*c) for c in columns), many)

    def _many(self, stage: Stage, each: int = 1) -> bool:
        """Whether there may be more rows than are in hand at a time, with `each` for a bin."""
        node = stage.bins if isinstance(stage, Release) else None
        if isinstance(stage, PublicRead):
            node = stage.node
        rows = 1 if node is None else self.prepared.facts.freq(node, frozenset())
        return not finite(rows) or rows * each > PART

    def _histograms(self, stage: Release) -> Steps[dict[int, PrivateRows]]:
        """What the ranks (MIN, MAX, percentiles) of a release are chosen by."""
        found = {}
        keys = [OutputColumn(id, type) for id, type in stage.columns[: len(stage.node.keys)]]
        extra = [OutputColumn("place", BIGINT), OutputColumn("n", BIGINT)]
        facts, dialect = self.prepared.facts, self.engine.dialect
        for i, measurement in enumerate(stage.measurements):
            if measurement.quantity.rank is not None:
                sql = histogram_sql(stage, i, facts, dialect, self.run.constants)
                many = self._many(stage, measurement.quantity.rank.grid.candidates)
                found[i] = yield Read(sql, (*keys, *extra), many)
        return found


def _loss(measurement: Measurement, scale: Fraction) -> Fraction:
    """The most that any policy is charged for it, as the epsilon bound / scale."""
    bounds = (bound / scale for bound in measurement.bounds.values() if bound) if scale else ()
    return max(bounds, default=Fraction(0))
