"""What `dp4sql.explain` claims of a query, and how far two answers lie apart.

A claim is one measurement of one aggregate under one policy: the L1 distance between the answers of any
two neighbours, over the union of their groups, is at most `bound`. An absent group and a NULL sum are 0.
Where the bound in L2 is less, its square is a claim of its own, about the sum of squares.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import dp4sql
from dp4sql.errors import Dp4sqlError
from dp4sql.mechanisms.explain import Explanation, MeasurementReport
from dp4sql.policy.labels import PolicySet

from .queries import Query
from .world import World

SLACK = 1e-6
"""Averages of averages are floating point; everything else is exact."""


@dataclass(frozen=True, slots=True)
class Claim:
    """`column` is the position among `distances`: of the probes' in L1, then of their squares in L2."""

    policy: str
    column: int
    sql: str
    bound: Fraction


@dataclass(frozen=True, slots=True)
class Probe:
    """One measurement as the oracle computes it; `report` is None where the answer is said to be exact."""

    sql: str
    report: MeasurementReport | None


@dataclass(frozen=True, eq=False)
class Case:
    """An accepted query. `sql` reads its probes; there are none where the release lies further in."""

    world: World
    query: Query
    probes: tuple[Probe, ...]
    explanation: Explanation

    @cached_property
    def sql(self) -> str:
        return self.query.probe([f"{probe.sql} AS m{i}" for i, probe in enumerate(self.probes)])

    def claims(self, policy: str) -> list[Claim]:
        return [*self._in_l1(policy), *self._in_l2(policy)]

    def _in_l1(self, policy: str) -> Iterable[Claim]:
        for i, probe in enumerate(self.probes):
            bound = probe.report.bounds[policy] if probe.report else Fraction(0)
            yield Claim(policy, i, probe.sql, bound)

    def _in_l2(self, policy: str) -> Iterable[Claim]:
        for i, probe in enumerate(self.probes, len(self.probes)):
            if probe.report and probe.report.squares[policy] < probe.report.bounds[policy] ** 2:
                yield Claim(policy, i, f"squares of {probe.sql}", probe.report.squares[policy])


@dataclass(frozen=True, slots=True)
class Refusal:
    kind: str
    message: str


def examine(world: World, policies: PolicySet, query: Query) -> Case | Refusal:
    try:
        explanation = dp4sql.explain(policies, query.sql())
    except Dp4sqlError as refusal:
        return Refusal(type(refusal).__name__, refusal.message)
    return Case(world, query, tuple(_probes(query, explanation)), explanation)


def _probes(query: Query, explanation: Explanation) -> Iterable[Probe]:
    if explanation.public:
        yield Probe("COUNT(*)", None)
        for measured in query.aggregates:
            yield from (Probe(measured.probe(p, Fraction(0)), None) for p in measured.parts())
        return
    reports = {bound.name: bound.measurements for bound in explanation.aggregates}
    if set(reports) != {measured.name for measured in query.aggregates}:
        return
    for measured in query.aggregates:
        for report in reports[measured.name]:
            yield Probe(measured.probe(report.kind, report.center), report)


# ---------------------------------------------------------------- distances

Answer = dict[tuple[Any, ...], tuple[Any, ...]]


def answer(rows: Iterable[tuple[Any, ...]], keys: int) -> Answer:
    return {row[:keys]: tuple(value or 0 for value in row[keys:]) for row in rows}


def distances(before: Answer, after: Answer, columns: int) -> list[float]:
    """L1 over the union of groups, a column at a time; then the sums of squares."""
    absent = (0,) * columns
    total = [0.0] * (2 * columns)
    for group in before.keys() | after.keys():
        a, b = before.get(group, absent), after.get(group, absent)
        if a != b:
            for i in range(columns):
                moved = abs(float(a[i] - b[i]))
                total[i] += moved
                total[columns + i] += moved * moved
    return total


def exceeds(distance: float, bound: Fraction) -> bool:
    return distance > float(bound) + SLACK * (1 + float(bound))
