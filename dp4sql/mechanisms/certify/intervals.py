"""Real numbers between rationals, so that a guarantee is never up to a float.

A formula written with intervals gives bounds of its value; with exact rationals it gives the value.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from dp4sql.mechanisms.exponential import exp_lower, exp_upper


@dataclass(frozen=True, slots=True)
class Interval:
    """A number that is at least `low` and at most `high`."""

    low: Fraction
    high: Fraction

    def __add__(self, other: Real) -> Interval:
        o = interval(other)
        return Interval(self.low + o.low, self.high + o.high)

    def __radd__(self, other: Real) -> Interval:
        return self + other

    def __sub__(self, other: Real) -> Interval:
        o = interval(other)
        return Interval(self.low - o.high, self.high - o.low)

    def __rsub__(self, other: Real) -> Interval:
        return interval(other) - self

    def __mul__(self, other: Real) -> Interval:
        o = interval(other)
        ends = [a * b for a in (self.low, self.high) for b in (o.low, o.high)]
        return Interval(min(ends), max(ends))

    def __rmul__(self, other: Real) -> Interval:
        return self * other

    def __truediv__(self, other: Real) -> Interval:
        """ZeroDivisionError where `other` may be 0."""
        o = interval(other)
        if o.low <= 0 <= o.high:
            raise ZeroDivisionError("division by an interval that holds 0")
        return self * Interval(1 / o.high, 1 / o.low)

    def __rtruediv__(self, other: Real) -> Interval:
        return interval(other) / self


Real: TypeAlias = Interval | Fraction | int


def interval(number: Real) -> Interval:
    return number if isinstance(number, Interval) else Interval(Fraction(number), Fraction(number))


def exp(x: Fraction) -> Interval:
    """e^x, to about 59 digits."""
    return Interval(exp_lower(x), exp_upper(x))
