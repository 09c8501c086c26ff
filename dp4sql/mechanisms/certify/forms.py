"""A claim as an integer X that is positive exactly where the claim holds.

The exact X of private rows gets noise; a lower bound of X goes back to a lower bound in records. A step is
what one unit of X stands for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias


def needed(n: int, theta: Fraction) -> int:
    """t: the least count that is at least the fraction `theta` of n rows, and at least 1."""
    return max(1, math.ceil(n * theta))


def steps(x: int, unit: int) -> int:
    """ceil(x / unit): moves by 1 at most when x moves by `unit` at most."""
    return -(-x // unit)


@dataclass(frozen=True, slots=True)
class Bound:
    """What a lower bound of X says: a count of rows and a fraction of the population, where known."""

    count: int | None
    fraction: Fraction


@dataclass(frozen=True, slots=True)
class Count:
    """N >= t of a known population: X = N - t + 1. The bound holds for all thresholds at once."""

    n: int
    theta: Fraction

    @property
    def t(self) -> int:
        return needed(self.n, self.theta)

    def excess(self, count: int) -> int:
        return count - self.t + 1

    def bound(self, lower: int) -> Bound:
        count = max(0, min(self.n, self.t - 1 + lower))
        return Bound(count, Fraction(count, max(1, self.n)))

    def records(self, excess: int) -> int:
        """Rows above the largest unsupported count at which X reaches `excess`."""
        return excess


@dataclass(frozen=True, slots=True)
class Steps:
    """N >= t of a known population in steps of `unit`: X = ceil((N - t + 1) / unit), of sensitivity 1.

    Emission is optimal when one entity moves N by `unit`; the bound is coarser and for one threshold.
    """

    n: int
    theta: Fraction
    unit: int

    @property
    def t(self) -> int:
        return needed(self.n, self.theta)

    def excess(self, count: int) -> int:
        return steps(count - self.t + 1, self.unit)

    def bound(self, lower: int) -> Bound:
        if lower < 1:
            return Bound(0, Fraction(0))
        count = min(self.n, self.t + self.unit * (lower - 1))
        return Bound(count, Fraction(count, max(1, self.n)))

    def records(self, excess: int) -> int:
        return self.unit * (excess - 1) + 1


@dataclass(frozen=True, slots=True)
class Private:
    """N > theta n of a private population: with theta = a / b, W = b N - a n, X = ceil(W / unit).

    Holds for every n, 0 included, and n costs nothing; what is bounded is the claim, not the fraction.
    """

    theta: Fraction
    unit: int = 1

    @property
    def weights(self) -> tuple[int, int]:
        """What a row adds to W: (in favour, against)."""
        a, b = self.theta.numerator, self.theta.denominator
        return b - a, -a

    def excess(self, weight: int) -> int:
        return steps(weight, self.unit)

    def bound(self, lower: int) -> Bound:
        return Bound(None, self.theta if lower >= 1 else Fraction(0))

    def records(self, excess: int) -> int:
        """Rows in favour, instead of others, above theta n."""
        return steps(self.unit * (excess - 1) + 1, self.theta.denominator)


Form: TypeAlias = Count | Steps | Private
