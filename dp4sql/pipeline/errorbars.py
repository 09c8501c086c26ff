"""95 % half-widths of an answer's noisy columns.

A count or a sum has the half-width of its noise. What is made of several, or by a formula, has one for each
row by simulation: the query's own arithmetic over fresh draws of the same noise around the released values
(`dp4sql.mechanisms.simulate`), in one statement over all draws (`dp4sql.mechanisms.replicas`).
"""

from __future__ import annotations

import logging
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from dp4sql.algebra.nodes import Node
from dp4sql.algebra.types import DOUBLE, NUMBERS, Value
from dp4sql.backends.duckdb import Scratch
from dp4sql.mechanisms.explain import report
from dp4sql.mechanisms.lineage import Lineage, Output, Source
from dp4sql.mechanisms.release import Measured
from dp4sql.mechanisms.replicas import Identifier, Ids, NotSimulated, Replicator, loosened
from dp4sql.mechanisms.simulate import (
    CELLS,
    CONFIDENCE,
    computable,
    draws_for,
    half_widths,
    replicas,
    rounded,
)
from dp4sql.mechanisms.stages import Plan, Price, Release, ScalarStage
from dp4sql.pipeline.postprocess import (
    SORTED_HERE,
    Choice,
    Formulas,
    Rows,
    Run,
    built,
    by_engine,
    chosen,
    fitted,
    formulas,
    scratch_type,
    shown,
    table,
)
from dp4sql.rows import OutputColumn, Row, Where, listed, taken
from dp4sql.settings import Settings
from dp4sql.sql.dialects import DUCKDB
from dp4sql.sql.render import Renderer

log = logging.getLogger(__name__)

MOST_BINS: Final = 20_000
"""Answers made of more released rows than this, by more than choosing columns, are not simulated."""
NOTICE_BINS: Final = 2000
NOTICE_CELLS: Final = 50_000
"""The same, and what is drawn, where nobody asked for more than a NOTICE."""
SAMPLE: Final = 1000

Width: TypeAlias = float | None
Widths: TypeAlias = Mapping[int, Sequence[Width]]
Kind: TypeAlias = Literal["exact", "stated", "simulated", "unknown"]


def kind(plan: Plan, output: Output) -> Kind:
    """How the half-width of an output is found. Selections (MIN, MAX, percentiles) and what functions in FROM
    release have noise whose effect cannot be told without data."""
    stages = [plan.stages[source.stage] for source in output.sources]
    single = output.type.kind in NUMBERS and not output.type.array
    if not single or not any(isinstance(s, Release) for s in stages):
        return "exact"
    if not all(_additive(plan, source) for source in output.sources):
        return "unknown"
    same = output.same
    return "stated" if same is not None and len(_measured(plan, same)) == 1 else "simulated"


def _measured(plan: Plan, source: Source) -> tuple[int, ...]:
    stage = plan.stages[source.stage]
    assert isinstance(stage, Release)
    return next(c.measurements for c in stage.built if c.agg.id == source.column)


def _additive(plan: Plan, source: Source) -> bool:
    stage = plan.stages[source.stage]
    return isinstance(stage, Release) and all(
        stage.measurements[i].quantity.rank is None for i in _measured(plan, source)
    )


def columns(plan: Plan, outputs: Sequence[Output], settings: Settings) -> tuple[OutputColumn, ...]:
    """The columns of the answer: with dp4sql.error_columns a half-width after each noisy number."""
    found = []
    for output in outputs:
        found.append(OutputColumn(output.name, output.type))
        if settings.error_columns and kind(plan, output) != "exact":
            found.append(OutputColumn(f"{output.name}_ci95", DOUBLE))
    return tuple(found)


_WORDS: Final = {
    "stated": "that of the noise",
    "simulated": "simulated",
    "unknown": "NULL: not known without data",
}


def described(plan: Plan, outputs: Sequence[Output], settings: Settings) -> tuple[str, ...]:
    """The added columns, and where their values come from, for EXPLAIN."""
    kinds = {o.name: kind(plan, o) for o in outputs} if settings.error_columns else {}
    return tuple(f"{name}_ci95 ({_WORDS[k]})" for name, k in kinds.items() if k != "exact")


# ---------------------------------------------------------------- an answer


@dataclass(frozen=True, slots=True)
class Form:
    """Of the last step of a plan: what its columns are, how their half-widths are found, and how its rows
    follow from those of one stage, where they do. `arithmetic`: half-widths need no engine."""

    ids: Ids
    kinds: tuple[Kind, ...]
    same: tuple[Source | None, ...]
    formulas: Formulas | None
    choice: Choice | None
    arithmetic: bool

    @property
    def simulated(self) -> list[int]:
        return [i for i, kind in enumerate(self.kinds) if kind == "simulated"]


def form_of(plan: Plan, outputs: Sequence[Output]) -> Form:
    ids: Ids = tuple((c.id, c.type) for c in plan.columns)
    wanted = [id for id, _ in ids]
    kinds = tuple(kind(plan, output) for output in outputs)
    found, choice = formulas(plan.final, wanted), chosen(plan.final, wanted)
    release = plan.stages[found.stage] if found else None
    arithmetic = isinstance(release, Release) and all(
        computable(release, found.outputs[i])
        for i, k in enumerate(kinds)
        if found and k == "simulated"
    )
    same = tuple(output.same for output in outputs)
    return Form(ids, kinds, same, found, choice, arithmetic)


class Answer:
    """Evaluates the last step of a run, with the half-widths of its columns."""

    def __init__(
        self,
        scratch: Scratch,
        plan: Plan,
        form: Form,
        cost: Price,
        settings: Settings,
    ) -> None:
        self._scratch, self._plan, self._cost, self._settings = scratch, plan, cost, settings
        self._form, self._ids, self._kinds = form, form.ids, form.kinds
        self._simulated = form.simulated
        stated = enumerate(form.same) if settings.error_columns else ()
        self._stated = {i: self._width(s) for i, s in stated if form.kinds[i] == "stated"}

    def of(self, run: Run) -> tuple[Rows, Widths]:
        """The answer's rows, and the half-widths of what was simulated: of all rows, or of some."""
        rows, widths = self._simulate(run)
        if self._settings.error_columns:
            rows = self._all_widened(rows, widths)
        return rows, widths

    def _all_widened(self, rows: Rows, widths: Widths) -> Rows:
        def part(where: Where) -> list[Row]:
            pairs = zip(taken(rows, where), taken(range(len(rows)), where), strict=True)
            return [self._widened(row, n, widths) for row, n in pairs]

        return built(len(rows), part)

    def _widened(self, row: tuple[Value, ...], n: int, widths: Widths) -> tuple[Value, ...]:
        found: list[Value] = []
        for i, value in enumerate(row):
            found.append(value)
            match self._kinds[i]:
                case "stated":
                    found.append(self._stated[i] if value is not None else None)
                case "simulated":
                    found.append(widths[i][n] if i in widths else None)
                case "unknown":
                    found.append(None)
        return tuple(found)

    def _width(self, source: Source | None) -> float:
        assert source is not None
        (i,) = _measured(self._plan, source)
        stage = self._plan.stages[source.stage]
        assert isinstance(stage, Release)
        return float(report(stage.measurements[i], self._cost.scales[source.stage, i]).half_width)

    def _scales(self, stage: int, release: Release) -> list[Fraction]:
        return [self._cost.scales[stage, i] for i in range(len(release.measurements))]

    # ------------------------------------------------------------ simulation

    def _simulate(self, run: Run) -> tuple[Rows, Widths]:
        """An answer that is paid for does not fail because of its error bars."""
        final = self._plan.final
        try:
            widths: Widths | None = self._by_bins(run) if self._simulated else {}
            if widths is None:
                return self._combined(run)
        except NotSimulated as reason:
            log.info("half-widths were not simulated: %s", reason)
            widths = {}
        except Exception:
            log.exception("half-widths could not be simulated")
            widths = {}
        return shown(self._scratch, final, self._ids, run, self._form.choice), widths

    def _by_bins(self, run: Run) -> Widths | None:
        """Where rows are the bins of one release: arithmetic on arrays. None where they are more than that."""
        found, choice = self._form.formulas, self._form.choice
        if found is None or not self._form.arithmetic:
            return None
        release, asked = self._plan.stages[found.stage], self._settings.error_columns
        assert isinstance(release, Release)
        wanted = {i: found.outputs[i] for i in self._simulated}
        measured, rows = run.measured[found.stage], run.tables[found.stage][1]
        if choice and choice.order and len(rows) > SORTED_HERE:
            choice = None
        if choice is None and (asked or found.part != slice(None)):
            return None  # Which row is which bin, the engine knows.
        places = choice.places(rows) if choice else range(len(rows))
        if isinstance(places, range):
            near = slice(places.start, places.stop)
            near_by = Measured((), [values[near] for values in measured.noisy])
        else:
            near_by = Measured((), [[values[p] for p in places] for values in measured.noisy])
        every = 1 if asked else max(1, -(-len(places) // SAMPLE))
        scales = self._scales(found.stage, release)
        return half_widths(
            release, near_by, scales, wanted, every, CELLS if asked else NOTICE_CELLS
        )

    def _combined(self, run: Run) -> tuple[Rows, Widths]:
        """The answer with the identity of its rows, and the half-widths by that identity."""
        self._check_size(run)
        tree, identity = Identifier().identified(self._plan.final)
        every = by_engine(self._scratch, tree, (*self._ids, *identity), run)
        width = len(self._ids)
        found = self._simulation(run, tree, identity)
        none = (None,) * len(self._simulated)
        widths = [found.get(row[width:], none) for row in every]
        by_column = {i: [w[n] for w in widths] for n, i in enumerate(self._simulated)}
        return [row[:width] for row in every], by_column

    def _check_size(self, run: Run) -> None:
        bins, asked = run.bins, self._settings.error_columns
        if bins > (MOST_BINS if asked else NOTICE_BINS):
            raise NotSimulated(f"{bins} released rows")

    def _simulation(self, run: Run, tree: Node, identity: Ids) -> dict[Any, tuple[Width, ...]]:
        bins, asked = run.bins, self._settings.error_columns
        lineage = Lineage(self._plan.stages)
        scalars = {i for i, sources in lineage.scalars.items() if sources}
        draws = draws_for(bins) if asked else draws_for(bins, NOTICE_CELLS)
        replicator = Replicator(run.measured.keys(), scalars, draws)
        node, draw = replicator.node(loosened(tree, lineage))
        if draw is None:
            raise NotSimulated("no draw reaches the answer")
        wanted = [self._ids[i][0] for i in self._simulated]
        names = [
            *((id, f"i{n}") for n, (id, _) in enumerate(identity)),
            *((id, f"v{n}") for n, id in enumerate(wanted)),
            (draw, "d"),
        ]
        text = Renderer(DUCKDB, run.constants).statement(node, tuple(names))
        summary = _summary(len(identity), len(wanted), draws)
        columns = self._replicated(run, replicator, scalars, draws, text, summary)
        keys = fitted(columns[: len(identity)], identity) if identity else [()]
        widths = zip(*map(listed, columns[len(identity) :]), strict=True)
        return {key: tuple(map(_finite, row)) for key, row in zip(keys, widths, strict=False)}

    def _replicated(
        self,
        run: Run,
        replicator: Replicator,
        scalars: set[int],
        draws: int,
        answer: str,
        summary: str,
    ) -> list[Any]:
        """Columns of `summary` over `answer`, which is over tables that hold every draw."""
        tables, arrays, derived = {}, {}, {}
        for i, stage in enumerate(self._plan.stages):
            match stage:
                case Release():
                    tables[f"released{i}"] = table(*run.tables[i])
                    drawn = replicas(stage, run.measured[i], self._scales(i, stage), draws)
                    arrays[f"draws{i}"] = _arrays(drawn, draws, len(run.tables[i][1]))
                    derived[f"stage{i}"] = _replica_table(i, stage, list(drawn))
                case ScalarStage(node, column) if i in scalars:
                    derived[f"stage{i}"] = self._scalar_table(node, column, run, replicator)
                case ScalarStage():
                    pass
                case _:
                    tables[f"stage{i}"] = table(*run.tables[i])
        return self._scratch.evaluate(tables, summary, arrays, {**derived, "s": answer})

    def _scalar_table(self, node: Node, column: str, run: Run, replicator: Replicator) -> str:
        below, draw = replicator.node(node)
        if draw is None:
            raise NotSimulated("no draw reaches a scalar")
        text = Renderer(DUCKDB, run.constants).statement(below, ((column, "c0"), (draw, "c1")))
        return f"SELECT FIRST(c0) AS c0, c1 FROM ({text}) GROUP BY c1"


def _arrays(drawn: dict[str, Any], draws: int, bins: int) -> dict[str, Any]:
    numbers = np.arange((draws + 1) * bins)
    values = {f"v{n}": array.ravel() for n, array in enumerate(drawn.values())}
    return {"r": numbers % bins, "d": numbers // bins, **values}


def _replica_table(i: int, release: Release, drawn: Sequence[str]) -> str:
    """Released rows once a draw, in their own types."""
    items = []
    for n, (id, type) in enumerate(release.columns):
        new = f"TRY_CAST(a.v{drawn.index(id)} AS {scratch_type(type)})" if id in drawn else ""
        items.append(f"{new or f'r.c{n}'} AS c{n}")
    last = len(release.columns)
    items += [f"a.r AS c{last}", f"a.d AS c{last + 1}"]
    return f"SELECT {', '.join(items)} FROM draws{i} AS a JOIN released{i} AS r ON a.r = r.c{last}"


def _summary(keys: int, values: int, draws: int) -> str:
    """For each row of draw 0 in `s` how far the other draws lie from it; NULL where most do not have the row."""
    same = "".join(f" AND s.i{n} IS NOT DISTINCT FROM z.i{n}" for n in range(keys))
    names = [f"z.i{n}" for n in range(keys)]
    items = [*names]
    for n in range(values):
        away = f"ABS(CAST(s.v{n} AS DOUBLE) - CAST(z.v{n} AS DOUBLE))"
        items.append(
            f"CASE WHEN COUNT({away}) * 2 > {draws} THEN QUANTILE_CONT({away}, {CONFIDENCE}) END"
        )
    group = f" GROUP BY {', '.join(names)}" if names else ""
    return f"SELECT {', '.join(items)} FROM s JOIN s AS z ON z.d = 0 AND s.d > 0{same}{group}"


def _finite(value: Value) -> Width:
    return rounded(value) if isinstance(value, float) and math.isfinite(value) else None


# ---------------------------------------------------------------- words


def notices(outputs: Sequence[Output], widths: Widths) -> Iterator[str]:
    """One line for each simulated column: the half-width of the only row, or the median."""
    for i, found in widths.items():
        known = [w for w in found if w is not None]
        if known:
            over = f", the median of {len(known)} rows" if len(found) > 1 else ""
            middle = statistics.median(known)
            yield f"{outputs[i].name}: 95 % within about +-{middle:.4g} (simulated{over})"
