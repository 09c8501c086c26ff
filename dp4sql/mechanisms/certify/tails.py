"""Tails of the noise: Pr[noise >= x] for integers x, between rationals.

G is the two-sided geometric (discrete Laplace): Pr[G = k] = (1 - q) / (1 + q) q^|k|, q = e^(-1 / scale).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from dp4sql.mechanisms.certify.intervals import Interval, exp, interval

Tail: TypeAlias = Callable[[int], Interval]
"""Non-increasing, and Pr[noise >= 0] >= 1/2 > Pr[noise >= 1], as for all noise here."""

Powers: TypeAlias = Callable[[int], Interval]
"""q^k for k >= 0, of a fixed q in (0, 1)."""


@lru_cache(maxsize=256)
def powers(scale: Fraction) -> Powers:
    """Of q = e^(-1 / scale)."""
    return lru_cache(maxsize=4096)(lambda k: exp(-k / scale))


@lru_cache(maxsize=256)
def geometric(q: Powers) -> Tail:
    """T(k) = Pr[G >= k] = q^k / (1 + q) for k >= 0, and 1 - q^(1 - k) / (1 + q) below. Values are remembered:
    all statements of a call search the same few for their margins."""

    @lru_cache(maxsize=4096)
    def tail(k: int) -> Interval:
        return q(k) / (1 + q(1)) if k >= 0 else 1 - q(1 - k) / (1 + q(1))

    return tail


@lru_cache(maxsize=256)
def difference(a: Powers, b: Powers) -> Tail:
    """Pr[A - B >= x] of independent geometrics with different q (the difference is like the sum).

    For k >= 0, Pr[A + B = k] is the product of the two constants times the sum over A < 0, 0 <= A <= k and
    A > k of a^|A| b^|k - A|; the tail adds that up over k.
    """

    @lru_cache(maxsize=4096)
    def above(x: int) -> Interval:
        p, q = a(1), b(1)
        outer = p * b(x + 1) / (1 - q) + q * a(x + 1) / (1 - p)
        inner = (a(x + 1) / (1 - p) - b(x + 1) / (1 - q)) / (p - q)
        return (1 - p) / (1 + p) * (1 - q) / (1 + q) * (outer / (1 - p * q) + inner)

    return lambda x: above(x) if x >= 0 else 1 - above(1 - x)


def certain(x: Interval | Fraction | int) -> Fraction:
    """A probability bound from above, for whoever must not err."""
    return min(interval(x).high, Fraction(1))
