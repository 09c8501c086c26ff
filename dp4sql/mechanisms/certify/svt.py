"""Sparse vector: one noisy threshold, many statements, a price for at most `cap` of them.

Lyu, Su and Li, "Understanding the sparse vector technique for differential privacy", algorithm 7 without its
numeric phase; the gap of a selected statement comes free of charge (Ding, Wang, Zhang and Kifer, "Free gap
information from the differentially private sparse vector and noisy max mechanisms").

Why the loss is D / s1 + 2 cap D / s2 with s1 and s2 the scales of rho and nu: let the neighbour's threshold
noise be rho + D. Statements below stay below, as none has grown by more than D. A selected one with
noise nu + X - X' + D has the very same gap; that moves nu by at most 2 D, and at most `cap` of them are.

Half of 2 would do if all X moved one way. They do not: with a known population an entity replaces rows, and
with a private one each row counts for some statements and against others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Scales:
    """Of rho and nu, in units of the sensitivity D."""

    threshold: Fraction
    statement: Fraction

    def loss(self, cap: int) -> Fraction:
        return 1 / self.threshold + 2 * cap / self.statement


def scales(epsilon: Fraction, cap: int) -> Scales:
    """Split 1 : (2 cap)^(2/3), which makes the variance of nu - rho least."""
    ratio = Fraction(round((2 * cap) ** (2 / 3) * 1000), 1000)
    first = epsilon / (1 + ratio)
    return Scales(1 / first, 2 * cap / (epsilon - first))


def select(
    excesses: Sequence[int], rho: int, nu: Sequence[int], threshold: int, cap: int
) -> list[int | None]:
    """The noisy excess X + nu - rho of each selected statement; None below the threshold or past the cap."""
    found: list[int | None] = []
    left = cap
    for excess, noise in zip(excesses, nu, strict=True):
        gap = excess + noise - rho
        selected = left > 0 and gap >= threshold
        left -= selected
        found.append(gap if selected else None)
    return found
