"""SUMs from measurements that are taken anyway: SUM(x) = SUM(x - c) + c COUNT(x).

Where the range of x is [a, b] and c its middle, the centred sum moves by half the width where the plain one
moves by max(|a|, |b|). With the count measured for another column, that is less noise at the same epsilon; with
AVG(x) beside it there is one measurement less to share epsilon with. Alone a plain SUM has the least noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from dp4sql.algebra.nodes import Agg
from dp4sql.mechanisms.measure import Column
from dp4sql.mechanisms.stages import Measurement


@dataclass(frozen=True, slots=True)
class Measuring:
    """Measurements, and how the aggregates are put together from them."""

    measurements: tuple[Measurement, ...]
    built: tuple[Column, ...]


def shared(
    planned: Callable[[frozenset[str]], Measuring],
    aggs: Iterable[Agg],
    epsilons: Mapping[str, Fraction],
) -> Measuring:
    """The plan with those SUMs centred that have less noise so, and cost no other column anything."""
    centred: frozenset[str] = frozenset()
    best = planned(centred)
    for agg in aggs:
        if agg.function != "sum":
            continue
        other = planned(centred | {agg.id})
        if _better(other, best, agg.id, epsilons):
            centred, best = centred | {agg.id}, other
    return best


def _better(new: Measuring, old: Measuring, id: str, epsilons: Mapping[str, Fraction]) -> bool:
    if _moving(new) > _moving(old):
        return False
    return _variance(new, id, epsilons) < _variance(old, id, epsilons)


def _moving(plan: Measuring) -> int:
    return sum(m.private for m in plan.measurements)


def _variance(plan: Measuring, id: str, epsilons: Mapping[str, Fraction]) -> Fraction:
    """That of a SUM's noise, but for a factor, with equal shares of epsilon."""
    column = next(c for c in plan.built if c.agg.id == id)
    parts = [plan.measurements[i] for i in column.measurements]
    total = parts[0].quantity
    factors = [total.unit, total.center][: len(parts)]
    share = Fraction(1, max(1, _moving(plan)))
    scales = (scale_of(m, epsilons, share) for m in parts)
    return sum(((f * s) ** 2 for f, s in zip(factors, scales, strict=True)), Fraction(0))


def scale_of(m: Measurement, epsilons: Mapping[str, Fraction], share: Fraction) -> Fraction:
    """The noise of a measurement with this share of every epsilon."""
    asked = (m.scale(p, epsilons[p], share) for p, bound in m.bounds.items() if bound)
    return max(asked, default=Fraction(0))
