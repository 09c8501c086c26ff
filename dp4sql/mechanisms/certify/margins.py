"""Evidence in both directions: the p-value of an observation, and the lower bound at a level.

What is observed is an excess X + noise, where a claim is false exactly when the integer X <= 0. A p-value
`p(x)` bounds Pr[X + noise >= x] over every false claim; the margin at a level is the least observation
that passes, minus 1, so that "observation - margin >= 1" and "p <= level" are the same decision, and
observation - margin is above X with probability `level` at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

from dp4sql.mechanisms.certify.frontier import least
from dp4sql.mechanisms.certify.intervals import Interval
from dp4sql.mechanisms.certify.tails import Powers, Tail, certain, geometric
from dp4sql.policy.certify import MarginKind

PValue: TypeAlias = Callable[[int], Fraction]


def plain(tail: Tail) -> PValue:
    """Of any noise, without a coin."""
    return lambda x: certain(tail(x))


def with_coin(tail: Tail, coin: Fraction) -> PValue:
    """Between Pr[noise >= x + 1] and Pr[noise >= x], where a public coin in (0, 1] says.

    Under the smallest false claim this is uniform, so no probability of error is left unused: the integer
    form of the test of Awan and Slavkovic ("Differentially private uniformly most powerful tests for
    binomial data"). A coin on a grid is uniform from above, which errs on the safe side.
    """
    return lambda x: certain((1 - coin) * tail(x + 1) + coin * tail(x))


def sharp(q: Powers) -> PValue:
    """The paper's sharp margin ln(1 / (2 beta)) / eps, rounded up to whole steps.

    Sound for integer noise: q^(x - 1) / 2 >= q^x / (1 + q).
    """
    return lambda x: certain(q(x - 1) / 2) if x >= 1 else Fraction(1)


def paper(q: Powers) -> PValue:
    """The plain margin ln(1 / beta) / eps that reproduces the paper's figures."""
    return lambda x: certain(q(x - 1)) if x >= 1 else Fraction(1)


def gaussian(sigma: Fraction) -> PValue:
    """Of the discrete Gaussian: Pr[Y >= x] is at most the continuous Pr[N >= x - 1] (Canonne, Kamath and
    Steinke, "The discrete Gaussian for differential privacy"), rounded up."""

    def p(x: int) -> Fraction:
        tail = math.erfc((x - 1) / (float(sigma) * math.sqrt(2))) / 2
        return min(Fraction(1), Fraction(tail) * (1 + Fraction(1, 10**9)))

    return p


def p_value(kind: MarginKind, q: Powers, coin: Fraction) -> PValue:
    """For geometric noise."""
    match kind:
        case "exact" | "threshold":
            return with_coin(geometric(q), coin)
        case "sharp":
            return sharp(q)
        case "paper":
            return paper(q)


def margin(p: PValue, level: Fraction, near: int = 0) -> int:
    """The least observation with p <= level, minus 1; -1 where a lucky coin lets 0 pass. level < 1/2.
    `near` is a guess: under another coin it is the same or one off."""
    for guess in (near, near - 1, near + 1):
        if p(guess + 1) <= level < p(guess):
            return guess
    return least(lambda x: p(x) <= level) - 1


def emission(tail: Tail, level: Fraction, excess: int) -> Interval:
    """Pr[emit] at X = `excess` with a fair coin: the margin is tau, or tau - 1 with probability
    (level - T(tau + 1)) / (T(tau) - T(tau + 1)). Equals the optimal frontier for geometric noise."""
    tau = margin(plain(tail), level)
    lucky = (level - tail(tau + 1)) / (tail(tau) - tail(tau + 1))
    return (1 - lucky) * tail(tau + 1 - excess) + lucky * tail(tau - excess)
