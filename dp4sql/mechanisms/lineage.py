"""Which noise each output of a plan depends on. From the plan alone: no data, no randomness."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from dp4sql.algebra.expr import Col, Constant, Expr, Over, walk
from dp4sql.algebra.nodes import (
    Aggregate,
    Distinct,
    Fetched,
    Join,
    Limit,
    Node,
    Project,
    Scan,
    Select,
    Semi,
    Series,
    Sort,
    UnionAll,
    Values,
    ids,
)
from dp4sql.algebra.types import Type
from dp4sql.mechanisms.stages import CallStage, Plan, Release, ScalarStage, Stage


@dataclass(frozen=True, slots=True, order=True)
class Source:
    """A noisy column of what stage `stage` releases."""

    stage: int
    column: str


Sources: TypeAlias = frozenset[Source]
NONE: Sources = frozenset()


@dataclass(frozen=True, slots=True)
class Traced:
    """The noise in a node's columns, and in the choice of its rows. `same` are columns that are a released
    column as it is."""

    columns: Mapping[str, Sources]
    rows: Sources
    same: Mapping[str, Source]


@dataclass(frozen=True, slots=True)
class Output:
    """An output column: the noise it depends on, and the released column that it is, if it is one."""

    name: str
    type: Type
    sources: Sources
    same: Source | None


def outputs(plan: Plan) -> tuple[Output, ...]:
    found = Lineage(plan.stages).trace(plan.final)
    return tuple(
        Output(c.name, c.type, found.columns[c.id], found.same.get(c.id)) for c in plan.columns
    )


class Lineage:
    """Traces nodes over the released rows of `stages`. `scalars`: the noise in each ScalarStage's value."""

    def __init__(self, stages: Sequence[Stage]) -> None:
        self.stages = stages
        self.scalars: dict[int, Sources] = {}
        for i, stage in enumerate(stages):
            if isinstance(stage, ScalarStage):
                found = self.trace(stage.node)
                self.scalars[i] = found.columns[stage.column] | found.rows

    def trace(self, node: Node) -> Traced:
        match node:
            case Fetched():
                return self._fetched(node)
            case Select(child, predicate):
                below = self.trace(child)
                return Traced(below.columns, below.rows | self.of(predicate, below), below.same)
            case Project():
                return self._project(node)
            case Join(left, right, kind, pairs, residual):
                both = self._matched(left, right, pairs, residual)
                if kind == "inner":
                    return both
                # A row without a match shows NULLs.
                padded = {id: own | both.rows for id, own in both.columns.items()}
                return Traced(padded, both.rows, both.same)
            case Semi(left, right, pairs, residual):
                both = self._matched(left, right, pairs, residual)
                kept = {id: both.columns[id] for id in ids(left)}
                return Traced(kept, both.rows, both.same)
            case Aggregate():
                return self._aggregate(node)
            case Distinct(child):
                below = self.trace(child)
                return Traced(below.columns, below.rows.union(*below.columns.values()), below.same)
            case UnionAll():
                return self._union(node)
            case Sort(child):
                return self.trace(child)
            case Limit(child):
                return self._limit(child)
            case Values() | Series() | Scan():
                return Traced(dict.fromkeys(ids(node), NONE), NONE, {})
            case _:
                assert_never(node)

    def of(self, expr: Expr, below: Traced) -> Sources:
        """The noise in a value of `expr`. A window reads whatever rows there are."""
        found: set[Source] = set()
        for part in walk(expr):
            match part:
                case Col(id):
                    found |= below.columns[id]
                case Constant(stage):
                    found |= self.scalars.get(stage, NONE)
                case Over():
                    found |= below.rows
        return frozenset(found)

    def _fetched(self, node: Fetched) -> Traced:
        """Columns by place; a row number may follow them."""
        stage = self.stages[node.stage]
        noisy = noisy_columns(stage)
        own = stage.columns if isinstance(stage, Release | CallStage) else node.columns
        found = {
            id: Source(node.stage, name)
            for (id, _), (name, _) in zip(node.columns, own, strict=False)
            if name in noisy
        }
        sources = {id: frozenset({found[id]}) if id in found else NONE for id, _ in node.columns}
        return Traced(sources, NONE, found)

    def _project(self, node: Project) -> Traced:
        below = self.trace(node.child)
        found = {id: self.of(expr, below) for id, expr in node.outputs}
        same = {
            id: below.same[expr.id]
            for id, expr in node.outputs
            if isinstance(expr, Col) and expr.id in below.same
        }
        return Traced(found, below.rows, same)

    def _matched(
        self, left: Node, right: Node, pairs: Iterable[tuple[str, str]], residual: Expr | None
    ) -> Traced:
        a, b = self.trace(left), self.trace(right)
        both = Traced({**a.columns, **b.columns}, a.rows | b.rows, {**a.same, **b.same})
        met = NONE.union(*(both.columns[id] for pair in pairs for id in pair))
        met |= self.of(residual, both) if residual is not None else NONE
        return Traced(both.columns, both.rows | met, both.same)

    def _aggregate(self, node: Aggregate) -> Traced:
        below = self.trace(node.child)
        keys = {key: below.columns[key] for key in node.keys}
        rows = below.rows.union(*keys.values())
        own = {a.id: rows | (below.columns[a.arg] if a.arg else NONE) for a in node.aggs}
        same = {key: below.same[key] for key in node.keys if key in below.same}
        return Traced(keys | own, rows, same)

    def _union(self, node: UnionAll) -> Traced:
        left, right = self.trace(node.left), self.trace(node.right)
        found = {
            id: left.columns[a] | right.columns[b]
            for (id, _), a, b in zip(node.outputs, node.left_ids, node.right_ids, strict=True)
        }
        return Traced(found, left.rows | right.rows, {})

    def _limit(self, child: Node) -> Traced:
        below = self.trace(child)
        order = child.keys if isinstance(child, Sort) else ()
        return Traced(
            below.columns, below.rows.union(*(below.columns[id] for id, *_ in order)), below.same
        )


def noisy_columns(stage: Stage) -> frozenset[str]:
    """Columns whose values carry noise; what a function in FROM releases counts as such."""
    match stage:
        case Release():
            return frozenset(
                column.agg.id
                for column in stage.built
                if any(stage.measurements[i].private for i in column.measurements)
            )
        case CallStage():
            return frozenset(id for id, _ in stage.columns)
        case _:
            return frozenset()
