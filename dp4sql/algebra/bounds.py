"""Exact bounds: integers, Fractions and one infinity, with 0 * infinity = 0.

Infinity is a value of its own, never a float, so that it cannot slip into arithmetic unseen.
"""

from __future__ import annotations

from fractions import Fraction
from functools import total_ordering
from typing import Final, TypeAlias, TypeGuard


@total_ordering
class Infinity:
    """Larger than every number and equal to itself alone."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Infinity)

    def __lt__(self, other: object) -> bool:
        return False

    def __hash__(self) -> int:
        return hash("dp4sql.Infinity")

    def __repr__(self) -> str:
        return "infinite"


INF: Final = Infinity()
Bound: TypeAlias = int | Fraction | Infinity


def finite(bound: Bound) -> TypeGuard[int | Fraction]:
    return not isinstance(bound, Infinity)


def plus(*bounds: Bound) -> Bound:
    total: int | Fraction = 0
    for bound in bounds:
        if isinstance(bound, Infinity):
            return INF
        total += bound
    return total


def times(*bounds: Bound) -> Bound:
    """Product with 0 * infinity = 0: no slot times any fan-out is no slot."""
    if 0 in bounds:
        return 0
    product: int | Fraction = 1
    for bound in bounds:
        if isinstance(bound, Infinity):
            return INF
        product *= bound
    return product


def least(*bounds: Bound) -> Bound:
    return min((bound for bound in bounds if finite(bound)), default=INF)


def most(*bounds: Bound) -> Bound:
    return INF if any(not finite(b) for b in bounds) else max(b for b in bounds if finite(b))
