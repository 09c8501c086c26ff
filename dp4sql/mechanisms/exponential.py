"""e^x between rationals. Privacy checks compare exact ratios with these bounds, never with a float.

`decimal` rounds `exp` correctly, so the true value lies strictly between the neighbours of its result; the
argument is rounded towards the safe side first.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Final

DIGITS: Final = 60
STEP: Final = Fraction(1, 10**9)


@lru_cache(maxsize=65536)
def exp_lower(x: Fraction, digits: int = DIGITS) -> Fraction:
    """A rational at most e^x, within about 10^(1 - digits) of it relatively."""
    if x == 0:
        return Fraction(1)
    with localcontext(_context(digits, ROUND_FLOOR)) as context:
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp().next_minus(context))


@lru_cache(maxsize=65536)
def exp_upper(x: Fraction, digits: int = DIGITS) -> Fraction:
    """A rational at least e^x, within about 10^(1 - digits) of it relatively."""
    if x == 0:
        return Fraction(1)
    with localcontext(_context(digits, ROUND_CEILING)) as context:
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp().next_plus(context))


def log_upper(ratio: Fraction) -> Fraction:
    """The least multiple of STEP whose exponential is certainly at least `ratio`; `ratio` >= 1."""
    low, high = 0, 1
    while exp_lower(high * STEP) < ratio:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if exp_lower(middle * STEP) >= ratio else (middle, high)
    return Fraction(0) if ratio <= 1 else high * STEP


def _context(digits: int, rounding: str) -> Context:
    return Context(prec=digits, rounding=rounding, Emax=10**9, Emin=-(10**9))
