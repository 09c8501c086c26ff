"""What a query costs, exactly, or rounded up by what nobody could tell."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal, TypeAlias

BRIEF: Final = 2**2048

Measure: TypeAlias = Literal["epsilon", "rho"]
"""What losses add up as: pure epsilon, or the rho of zero-concentrated privacy. One for all amounts of an
account; a charge's field `epsilon` and an entry's are the loss in this measure."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A further cap on what a policy may lose: by the queries of `role` (of everybody, when None), since
    the start of the UTC day `since` (ever, when None). `name` is what a refusal calls it."""

    name: str
    amount: Fraction
    role: str | None = None
    since: datetime.date | None = None


@dataclass(frozen=True, slots=True)
class Charge:
    """Loss of one policy in one query; `budget` is the policy's total, None for no limit. `member` is the
    key of the one entity that loses it; empty when every entity may. `own_budget` is the total of that
    member's own charges, which leaves the rest of `budget` to queries about everybody. `delta` is lost beside
    epsilon, and `most_delta` the total of those; sums of both add up (basic composition)."""

    policy: str
    entity: str
    epsilon: Fraction
    budget: Fraction | None
    member: str = ""
    own_budget: Fraction | None = None
    limits: tuple[Limit, ...] = ()
    delta: Fraction = Fraction(0)
    measure: Measure = "epsilon"
    most_delta: Fraction | None = None


def paid(charges: Iterable[Charge]) -> tuple[Charge, ...]:
    """The charges that cost anything."""
    return tuple(charge for charge in charges if charge.epsilon > 0)


def amount(charge: Charge) -> str:
    """The loss for people: 0.5, or 0.5 rho."""
    return show(charge.epsilon) + (" rho" if charge.measure == "rho" else "")


def brief(amount: Fraction) -> Fraction:
    """`amount`, or less than 1 / BRIEF more where it has a greater denominator: sums of many fractions would soon
    take thousands of digits, and Python writes 4300 of them at most."""
    if amount.denominator <= BRIEF:
        return amount
    return Fraction(math.ceil(amount * BRIEF), BRIEF)


@lru_cache(maxsize=4096)
def show(number: Fraction) -> str:
    """A short decimal for people: exact where four digits suffice, else marked with ~. Smaller amounts have
    the digits that it takes to tell them from nothing."""
    size = float(number)
    digits = next((n for n in range(4, 13) if abs(size) >= 10**-n), 4)
    short = f"{size:.{digits}f}".rstrip("0").rstrip(".")
    return short if Fraction(short) == number else f"~{short}"
