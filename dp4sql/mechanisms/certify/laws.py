"""The laws of the noise that excesses are observed under, as values: what is computed of one is remembered."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from dp4sql.mechanisms.certify import frontier, margins
from dp4sql.mechanisms.certify.margins import PValue
from dp4sql.mechanisms.certify.tails import difference, powers
from dp4sql.policy.certify import MarginKind

SURE = Fraction(1)
"""A coin that never helps."""


@dataclass(frozen=True, slots=True)
class Exact:
    """No noise: nothing private is behind what is observed."""


@dataclass(frozen=True, slots=True)
class Geometric:
    """Integer Laplace noise, read with one of its margins."""

    scale: Fraction
    kind: MarginKind = "exact"


@dataclass(frozen=True, slots=True)
class Gaussian:
    sigma: Fraction


@dataclass(frozen=True, slots=True)
class Gap:
    """nu - rho of sparse vector."""

    threshold: Fraction
    statement: Fraction


Law: TypeAlias = Exact | Geometric | Gaussian | Gap


def p_value(law: Law, coin: Fraction = SURE) -> PValue:
    match law:
        case Exact():
            return lambda x: Fraction(x < 1)
        case Geometric(scale, kind):
            return margins.p_value(kind, powers(scale), coin)
        case Gaussian(sigma):
            return margins.gaussian(sigma)
        case Gap(threshold, statement):
            return margins.plain(difference(powers(threshold), powers(statement)))


@lru_cache(maxsize=4096)
def margin(law: Law, level: Fraction) -> int:
    """Without a lucky coin."""
    return margins.margin(p_value(law), level)


@lru_cache(maxsize=4096)
def half_emission(law: Law, level: Fraction) -> int:
    """The least X at which a claim is emitted with probability 1/2 or more."""
    if isinstance(law, Geometric) and law.kind in ("exact", "threshold"):
        return optimum(1 / law.scale, level)
    return margin(law, level) + 1


@lru_cache(maxsize=4096)
def optimum(epsilon: Fraction, level: Fraction) -> int:
    """The same for the best certifier that loses `epsilon` a step of X."""
    return frontier.half_emission(level, powers(1 / epsilon))
