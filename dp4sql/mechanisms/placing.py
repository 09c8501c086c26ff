"""Where to release: at the outermost aggregate, or below it, where the sum of released groups has less noise.

A SUM of counts by public bins moves by the largest count when it is released as one number, for a row may change
its group. The groups themselves move by a row, and their noise adds up in squares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from dp4sql.algebra.bounds import finite
from dp4sql.algebra.expr import Call, Cast, Col, Expr, Lit, conjunction, conjuncts, reads
from dp4sql.algebra.nodes import (
    Agg,
    Aggregate,
    Fetched,
    Join,
    Node,
    Project,
    Select,
    Sort,
    columns,
    walk_nodes,
)
from dp4sql.algebra.types import BIGINT, BOOLEAN, Type
from dp4sql.infer.facts import Facts
from dp4sql.mechanisms.measure import Column
from dp4sql.mechanisms.sharing import scale_of
from dp4sql.mechanisms.stages import Measurement, Release, Stage
from dp4sql.sql.lower.expressions.types import sum_type

MEAN_OF: Final = 10
"""How many rows a released mean is taken to be of: the data alone would say."""

Factor = Fraction | int


@dataclass(frozen=True, slots=True)
class Way:
    """A tree over `stages`, those from `first` on being its own."""

    node: Node
    stages: Sequence[Stage]
    first: int


class Unknown(Exception):
    """Noise whose size the plan does not tell, or rows that are not those of the statement."""


def sums_groups(node: Aggregate) -> bool:
    """Whether `node` sums what a grouping below it gives, row by row."""
    below: Node = node.child
    while isinstance(below, Project | Select | Sort):
        below = below.child
    return isinstance(below, Aggregate) and any(a.function in ("sum", "avg") for a in node.aggs)


def parted(node: Aggregate) -> tuple[Aggregate, Aggregate | None]:
    """The sums of an aggregate, to be added up from released groups, and its counts, of the groups that there
    are: those need no bins, and tell how many a mean is of."""
    sums, counts = [], []
    for agg in node.aggs:
        if agg.function == "avg":
            total = sum_type(dict(columns(node.child))[agg.arg or ""])
            sums.append(replace(agg, id=f"{agg.id}:sum", function="sum", type=total))
            counts.append(replace(agg, id=f"{agg.id}:count", function="count", type=BIGINT))
        else:
            (sums if agg.function == "sum" else counts).append(agg)
    counted = replace(node, aggs=tuple(counts)) if counts else None
    return replace(node, aggs=tuple(sums)), counted


def recombined(node: Aggregate, sums: Node, counts: Fetched | None) -> Node:
    """The columns of `node` from both parts."""
    if counts is None:
        return sums
    keys = {key: f"{key}:counted" for key in node.keys}
    named = tuple((keys.get(id, id), type) for id, type in counts.columns)
    types = dict((*columns(sums), *named))
    # A bin may be NULL.
    same = tuple(_same(Col(key, types[key]), Col(id, types[key])) for key, id in keys.items())
    residual = conjunction(same) if same else None
    joined = Join(sums, Fetched(counts.stage, named), "inner", (), residual)
    outputs: list[tuple[str, Expr]] = [(key, Col(key, types[key])) for key in node.keys]
    outputs += [(agg.id, _value(agg, types)) for agg in node.aggs]
    return Project(joined, tuple(outputs))


def _same(a: Col, b: Col) -> Expr:
    return Call("not", (Call("is distinct", (a, b), BOOLEAN),), BOOLEAN)


def _value(agg: Agg, types: Mapping[str, Type]) -> Expr:
    if agg.function != "avg":
        return Col(agg.id, agg.type)
    total, count = f"{agg.id}:sum", f"{agg.id}:count"
    least = Call("greatest", (Col(count, BIGINT), Lit(1, BIGINT)), BIGINT)
    return Call("/", (Col(total, types[total]), least), agg.type)


def is_quieter(
    node: Aggregate,
    outer: Way,
    inner: Way,
    facts: Facts,
    epsilons: Mapping[str, Fraction],
    *,
    means: bool,
) -> bool:
    """Whether the sums and means of `node` have less noise in `inner`, which releases groups, than in `outer`.

    With `means` it takes the mean of released means, over all bins; else sums over bins, where one without
    rows adds nothing.
    """
    release = _release(outer)
    summed = [agg for agg in node.aggs if agg.function in ("sum", "avg")]
    allowed = {"avg"} if means else {"sum", "avg", "count", "count_star"}
    if release is None or not {agg.function for agg in node.aggs} <= allowed:
        return False
    try:
        noise = Noise(inner, facts, epsilons, means)
        grouped = next(n for n in walk_nodes(inner.node) if isinstance(n, Aggregate))
        rows = noise.rows(grouped.child) / _bins(release, facts)
        ratio = Fraction(1)
        for agg in summed:
            total = rows * noise.variance(grouped.child, agg.arg or "")
            ratio *= total / _summed(release, agg, outer, epsilons)
    except (Unknown, ZeroDivisionError):
        return False
    return ratio < 1


def _release(way: Way) -> Release | None:
    stage = way.stages[way.node.stage] if isinstance(way.node, Fetched) else None
    return stage if isinstance(stage, Release) else None


def _bins(release: Release, facts: Facts) -> Fraction:
    if release.bins is None:
        return Fraction(1)
    rows = facts.freq(release.bins, frozenset())
    if not finite(rows):
        raise Unknown
    return Fraction(rows)


def _summed(release: Release, agg: Agg, way: Way, epsilons: Mapping[str, Fraction]) -> Fraction:
    """The variance of the sum in a SUM or an AVG, but for the factor that all have."""
    column = next(c for c in release.built if c.agg.id == agg.id)
    parts = [release.measurements[i] for i in column.measurements]
    factors: list[Factor] = [parts[0].quantity.unit, parts[0].quantity.center]
    wanted = 1 if agg.function == "avg" else len(parts)
    return _squares(parts[:wanted], factors, way, epsilons)


def _squares(
    parts: Iterable[Measurement],
    factors: Iterable[Factor],
    way: Way,
    epsilons: Mapping[str, Fraction],
) -> Fraction:
    own = (stage for stage in way.stages[way.first :] if isinstance(stage, Release))
    moving = sum(m.private for release in own for m in release.measurements)
    share = Fraction(1, max(1, moving))
    pairs = zip(parts, factors, strict=False)
    return sum(((f * scale_of(m, epsilons, share)) ** 2 for m, f in pairs), Fraction(0))


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise in the rows of a way, as far as its plan tells it."""

    way: Way
    facts: Facts
    epsilons: Mapping[str, Fraction]
    means: bool

    def rows(self, node: Node) -> Fraction:
        match node:
            case Project(child) | Select(child) | Sort(child):
                return self.rows(child)
            case Fetched(stage):
                release = self.way.stages[stage]
                if isinstance(release, Release):
                    return _bins(release, self.facts)
        raise Unknown

    def variance(self, node: Node, id: str) -> Fraction:
        """That of column `id` in each row, but for the factor that all have."""
        match node:
            case Project(child, outputs):
                return self._of(dict(outputs)[id], lambda part: self.variance(child, part))
            case Select(child, predicate):
                parts = conjuncts(predicate)
                moved = sum((self._moved(child, part, id) for part in parts), Fraction(0))
                return self.variance(child, id) + moved
            case Sort(child):
                return self.variance(child, id)
            case Fetched(stage):
                release = self.way.stages[stage]
                if isinstance(release, Release):
                    return self._released(release, id)
        raise Unknown

    def _moved(self, node: Node, part: Expr, id: str) -> Fraction:
        """The square of what a row adds that is there, or is not, because of noise in the condition `part`.

        A mean is off by its range. A sum that is compared itself has the constant's size there, and of rows
        around 0 those stay whose noise is large: by half its scale on average, all to one side.
        """
        noisy = {key: self._measured(node, key) for key in reads(part)}
        if not any(noisy.values()):
            return Fraction(0)
        value = self._measured(node, id)
        match part:
            case Call("<" | "<=" | ">" | ">=", (Col(key), Lit(int() as limit))) if value:
                if self.means:
                    first = value[0].quantity
                    return ((first.high - first.low) * first.unit) ** 2
                if value == noisy[key]:
                    kept = self.rows(node) * self.variance(node, key) / 8
                    return Fraction(limit) ** 2 + kept
        raise Unknown

    def _measured(self, node: Node, id: str) -> tuple[Measurement, ...]:
        """What is measured for column `id`, which is a released one as it is; nothing where it has no noise."""
        while isinstance(node, Project | Select | Sort):
            if isinstance(node, Project):
                expr = dict(node.outputs)[id]
                if not isinstance(expr, Col):
                    raise Unknown
                id = expr.id
            node = node.child
        release = self.way.stages[node.stage] if isinstance(node, Fetched) else None
        if not isinstance(release, Release):
            raise Unknown
        column = next((c for c in release.built if c.agg.id == id), None)
        found = (release.measurements[i] for i in (column.measurements if column else ()))
        return tuple(m for m in found if m.private)

    def _of(self, expr: Expr, known: Callable[[str], Fraction]) -> Fraction:
        """Sums, differences and multiples of columns; anything of what has no noise."""
        match expr:
            case Col(id):
                return known(id)
            case Cast(arg):
                return self._of(arg, known)
            case Call("+" | "-", (a, b)) if self.means or (reads(a) and reads(b)):
                return self._of(a, known) + self._of(b, known)
            case Call("*", (a, Lit(int() as factor))) | Call("*", (Lit(int() as factor), a)):
                return self._of(a, known) * factor * factor
            case _ if self.means and not any(known(id) for id in reads(expr)):
                return Fraction(0)
            case _:
                raise Unknown

    def _released(self, release: Release, id: str) -> Fraction:
        column = next((c for c in release.built if c.agg.id == id), None)
        if column is None:
            return Fraction(0)
        parts = [release.measurements[i] for i in column.measurements]
        return _squares(parts, self._factors(column, parts), self.way, self.epsilons)

    def _factors(self, column: Column, parts: Sequence[Measurement]) -> list[Factor]:
        """What a step of each measurement adds to the value."""
        first = parts[0].quantity
        match column.agg.function:
            case "count_star" | "count" | "count_distinct" if not self.means:
                return [1]
            case "sum" | "sum_distinct" if not self.means:
                return [first.unit, first.center]
            case "avg" if self.means:
                half = Fraction(first.high - first.low) / 2
                return [first.unit / MEAN_OF, first.unit * half / MEAN_OF]
            case _:
                raise Unknown
