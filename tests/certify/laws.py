"""Exact distributions over small integer grids, shared by the tests of honesty."""

from __future__ import annotations

from fractions import Fraction

from dp4sql.mechanisms.certify.intervals import interval
from dp4sql.mechanisms.certify.tails import Powers


def rational(q: Fraction) -> Powers:
    """Powers of a rational q: every probability is then one rational number."""
    return lambda k: interval(q**k)


def geometric_law(q: Fraction, reach: int) -> dict[int, Fraction]:
    """Two-sided geometric noise, with all that lies beyond `reach` put on the ends."""
    inner = {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-reach + 1, reach)}
    end = q**reach / (1 + q)
    return {-reach: end, **inner, reach: end}


def coin_law(faces: int) -> dict[Fraction, Fraction]:
    return {Fraction(i, faces): Fraction(1, faces) for i in range(1, faces + 1)}
