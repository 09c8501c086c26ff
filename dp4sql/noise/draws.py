"""Exact public coins and table draws, from the operating system's randomness."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from fractions import Fraction


def randbelow(n: int) -> int:
    """A uniform integer in [0, n)."""
    return secrets.randbelow(n)


def bernoulli(p: Fraction) -> bool:
    """True with probability exactly `p`."""
    return secrets.randbelow(p.denominator) < p.numerator


def choose(weights: Sequence[int]) -> int:
    """Index i with probability exactly weights[i] / sum(weights)."""
    point = secrets.randbelow(sum(weights))
    for index, weight in enumerate(weights):
        if point < weight:
            return index
        point -= weight
    raise AssertionError("weights do not add up")
