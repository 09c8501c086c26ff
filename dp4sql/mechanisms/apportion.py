"""How the measurements of one mean, variance or deviation share its part of epsilon.

With noise s_i in measurement i, which moves the result by c_i a step, the variance is the sum of (c_i s_i)^2. Where
s_i is b_i over a share of epsilon, it is least with shares as (c_i b_i)^(2/3) (as c_i b_i for Gaussian noise, whose
variance goes by the share itself). How much a count matters depends on how far the mean lies from the middle of
its range, which is private: it is taken to lie anywhere in the range, as likely here as there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from dp4sql.algebra.nodes import AggregateFunction
from dp4sql.mechanisms.measure import Quantity
from dp4sql.mechanisms.stages import Measurement, Plan

AWAY: Final = 1 / math.sqrt(3)
"""How far a mean lies from the middle, in halves of its range: the root of its expected square."""
DIGITS: Final = 100
"""Weights are hundredths, so that shares are short."""


Kind: TypeAlias = Literal["mean", "spread", ""]


def apportioned(plan: Plan, epsilons: Mapping[str, Fraction]) -> dict[tuple[int, int], Fraction]:
    """Weights of measurements (stage, index) that only one mean or deviation is made of, or several of the same
    values; together one for each of them. All others weigh 1."""
    found: dict[tuple[int, int], Fraction] = {}
    for stage, release in plan.releases():
        made = {(_kind(c.agg.function), c.measurements) for c in release.built}
        uses = Counter(i for _, measurements in made for i in measurements)
        for kind, measurements in made:
            parts = [release.measurements[i] for i in measurements]
            if kind and all(uses[i] == 1 for i in measurements) and _alike(parts, epsilons):
                shares = _shares(_leverage(kind, parts[0].quantity), parts, epsilons)
                found |= {(stage, i): w for i, w in zip(measurements, shares, strict=True)}
    return found


def _kind(function: AggregateFunction) -> Kind:
    if function == "avg":
        return "mean"
    return "spread" if function.startswith(("var", "stddev")) else ""


def _alike(parts: Sequence[Measurement], epsilons: Mapping[str, Fraction]) -> bool:
    """Whether one policy asks for the noise of all parts: else a larger share may not lessen it."""
    asking = {_asking(m, epsilons) for m in parts}
    return len(asking) == 1 and None not in asking


def _asking(m: Measurement, epsilons: Mapping[str, Fraction]) -> str | None:
    scales = {p: m.scale(p, epsilons[p], Fraction(1)) for p in epsilons if m.bounds.get(p)}
    return max(scales, key=lambda p: scales[p], default=None)


def _shares(
    leverage: Sequence[float], parts: Sequence[Measurement], epsilons: Mapping[str, Fraction]
) -> Iterator[Fraction]:
    asking = _asking(parts[0], epsilons)
    assert asking is not None
    scales = [m.scale(asking, epsilons[asking], Fraction(1)) for m in parts]
    pull = [
        (by * float(scale)) ** (1 if m.gaussian else 2 / 3)
        for by, scale, m in zip(leverage, scales, parts, strict=True)
    ]
    for each in pull:
        yield Fraction(max(1, round(DIGITS * len(pull) * each / sum(pull))), DIGITS)


def _leverage(kind: Kind, total: Quantity) -> list[float]:
    """What a step of each measurement moves the result by, but for a common factor."""
    half = float(total.high - total.low) / 2
    if kind == "mean":
        return [1.0, AWAY * half]
    # Of a variance and the squared distance of its mean, which weigh against each other in the count, a quarter
    # of the largest square is usual.
    return [2 * AWAY * half, 1.0, half * half / 4]
