"""Aggregates over released groups. These are all public bins, where SQL has the groups that have rows: what an
answer makes of bins without rows is said with it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from dp4sql.algebra.expr import Call, Cast, Col, Expr, Lit, conjuncts
from dp4sql.algebra.nodes import (
    Agg,
    Aggregate,
    Fetched,
    Join,
    Limit,
    Node,
    Project,
    Select,
    Sort,
    ids,
    inputs,
    walk_nodes,
)
from dp4sql.mechanisms.explain import report
from dp4sql.mechanisms.measure import COUNT_STAR
from dp4sql.mechanisms.stages import Plan, Price, Release, ScalarStage

COUNTS: Final = frozenset({"count_star", "count", "count_distinct"})
SUMS: Final = COUNTS | {"sum", "sum_distinct"}


def bin_notices(plan: Plan, cost: Price) -> Iterator[str]:
    trees = [plan.final, *(s.node for s in plan.stages if isinstance(s, ScalarStage))]
    for node in (part for tree in trees for part in walk_nodes(tree)):
        if isinstance(node, Aggregate):
            yield from _Gathering(plan, cost, node).notices()


class _Gathering:
    """One aggregate over what `plan` released."""

    def __init__(self, plan: Plan, cost: Price, node: Aggregate) -> None:
        self.plan, self.cost, self.node = plan, cost, node

    def notices(self) -> Iterator[str]:
        stages = [i for i in _stages(self.node.child) if self._has_bins(i)]
        for stage in stages:
            least = self._least(stage)
            if not self._is_limited(stage, least):
                for agg in self.node.aggs:
                    if not self._adds_nothing(agg):
                        yield _said(agg, least)

    def _release(self, stage: int) -> Release | None:
        found = self.plan.stages[stage]
        return found if isinstance(found, Release) else None

    def _has_bins(self, stage: int) -> bool:
        release = self._release(stage)
        return release is not None and release.bins is not None

    def _least(self, stage: int) -> int:
        """A noisy count beyond this is seldom one of no rows: one that the groups have, or that of a mean."""
        release = self._release(stage)
        assert release is not None
        counts = [i for i, m in enumerate(release.measurements) if m.quantity.kind == "count"]
        asked = {i for c in release.built if c.agg.function in COUNTS for i in c.measurements}
        found = [
            report(release.measurements[i], self.cost.scales[stage, i]).half_width
            for i in counts
            if i in asked or not asked.intersection(counts)
        ]
        return math.ceil(max(found) * self._thinner(release)) if found else 10

    def _thinner(self, release: Release) -> Fraction:
        """How much more noise there is once HAVING takes its share of epsilon for COUNT(*)."""
        measured = [m for _, r in self.plan.releases() for m in r.measurements if m.private]
        if not measured or any(m.quantity == COUNT_STAR for m in release.measurements):
            return Fraction(1)
        return Fraction(len(measured) + 1, len(measured))

    # ------------------------------------------------------------ sums

    def _adds_nothing(self, agg: Agg) -> bool:
        """Whether a bin without rows adds only noise around 0, or loses against any with rows."""
        if agg.function not in ("sum", "max") or agg.arg is None:
            return False
        known = SUMS if agg.function == "sum" else COUNTS
        return self._vanishes(Col(agg.arg, agg.type), self.node.child, known)

    def _vanishes(self, expr: Expr, node: Node, known: frozenset[str]) -> bool:
        match expr:
            case Col(id):
                return self._column(id, node, known)
            case Cast(arg):
                return self._vanishes(arg, node, known)
            case Call("+" | "-", (a, b)) if known is SUMS:
                return self._vanishes(a, node, known) and self._vanishes(b, node, known)
            case Call("*", (a, b)) if known is SUMS:
                return self._vanishes(a, node, known) or self._vanishes(b, node, known)
            case Call("/", (a, _)) if known is SUMS:
                return self._vanishes(a, node, known)
            case _:
                return False

    def _column(self, id: str, node: Node, known: frozenset[str]) -> bool:
        match node:
            case Project(child, outputs):
                return self._vanishes(dict(outputs)[id], child, known)
            case Select(child) | Sort(child) | Limit(child):
                return self._column(id, child, known)
            case Join(left, right):
                return self._column(id, left if id in ids(left) else right, known)
            case Fetched(stage):
                return self._released(stage, id) in known
            case _:
                return False

    def _released(self, stage: int, id: str) -> str | None:
        release = self._release(stage)
        built = release.built if release is not None else ()
        return next((column.agg.function for column in built if column.agg.id == id), None)

    # ------------------------------------------------------------ HAVING

    def _is_limited(self, stage: int, least: int) -> bool:
        """Whether a condition leaves out the bins whose noisy count is no more than that of no rows."""
        return any(
            self._limits(part, node.child, stage, least)
            for node in walk_nodes(self.node.child)
            if isinstance(node, Select)
            for part in conjuncts(node.predicate)
        )

    def _limits(self, part: Expr, node: Node, stage: int, least: int) -> bool:
        match part:
            case Call(">" | ">=", (Col(id), Lit(int() as value))) if value >= least:
                while isinstance(node, Project | Select | Sort):
                    found = (
                        dict(node.outputs)[id] if isinstance(node, Project) else Col(id, part.type)
                    )
                    if not isinstance(found, Col):
                        return False
                    id, node = found.id, node.child
                return (self._released(stage, id) or "").startswith("count")
            case _:
                return False


def _stages(node: Node) -> Iterator[int]:
    """What is aggregated here, and not further in."""
    if isinstance(node, Fetched):
        yield node.stage
    elif not isinstance(node, Aggregate):
        for child in inputs(node):
            yield from _stages(child)


def _said(agg: Agg, least: int) -> str:
    return (
        f"{agg.text}: over all public bins of the groups below it, those without rows among them; "
        f"HAVING COUNT(*) > {least} there leaves such bins out"
    )
