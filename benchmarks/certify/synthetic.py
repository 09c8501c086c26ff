"""A finite universe of statements with known support, and how often each is emitted.

Supports are a mixture of two beta laws, as the paper's appendix C.1 describes in words; its parameters are
not printed, and these are ours. Emission probabilities are floats here; tests compare them with the exact
ones of dp4sql.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dp4sql.mechanisms.certify import laws
from dp4sql.mechanisms.certify.forms import Count
from dp4sql.mechanisms.certify.laws import Geometric
from dp4sql.noise import laplace
from dp4sql.noise.laplace import float_up
from dp4sql.policy.certify import MarginKind

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

HIGH, LOW, SHARE = (4, 9), (1, 40), 0.3
"""Three statements in ten come from Beta(4, 9), the others from Beta(1, 40)."""


@dataclass(frozen=True)
class Claims:
    """`counts` of supporting rows among n, and the threshold."""

    counts: Integers
    n: int
    theta: Fraction

    @property
    def excess(self) -> Integers:
        return self.counts - Count(self.n, self.theta).t + 1

    @property
    def supported(self) -> NDArray[np.bool_]:
        return self.excess >= 1


def universe(rng: np.random.Generator, size: int) -> Floats:
    high = rng.random(size) < SHARE
    return np.where(high, rng.beta(*HIGH, size), rng.beta(*LOW, size))


def claims(rng: np.random.Generator, m: int, n: int, theta: Fraction) -> Claims:
    """m candidates, uniform from a universe of 2000 statements."""
    support = rng.choice(universe(rng, 2000), m)
    return Claims(np.rint(support * n).astype(np.int64), n, theta)


# ---------------------------------------------------------------- emission, in expectation


def per_statement(epsilon: Fraction, m: int, moved: int = 1) -> Fraction:
    """The noise scale of one of m counts that share epsilon."""
    return Fraction(float_up(moved * m / epsilon))


def tail(k: Integers, scale: Fraction) -> Floats:
    """Pr[G >= k] of two-sided geometric noise."""
    q = np.exp(-1 / float(scale))
    return np.where(
        k >= 0, q ** np.maximum(k, 0) / (1 + q), 1 - q ** np.maximum(1 - k, 1) / (1 + q)
    )


def emission(kind: MarginKind, scale: Fraction, beta: Fraction, excess: Integers) -> Floats:
    """Pr[emit] over noise and coin."""
    tau = laws.margin(Geometric(scale, kind), beta)
    plain = tail(tau + 1 - excess, scale)
    if kind in ("sharp", "paper"):
        return plain
    luck = lucky(scale, beta, tau)
    return (1 - luck) * plain + luck * tail(tau - excess, scale)


def lucky(scale: Fraction, beta: Fraction, tau: int) -> float:
    """How often the coin takes one step off the margin `tau`."""
    at, above = tail(np.array([tau, tau + 1]), scale)
    return float((float(beta) - above) / (at - above))


def drawn(kind: MarginKind, scale: Fraction, beta: Fraction, excess: Integers) -> NDArray[np.bool_]:
    """One run with OpenDP's noise."""
    tau = laws.margin(Geometric(scale, kind), beta)
    noisy = np.array(laplace(excess.tolist(), 1, scale, 1 / scale))
    if kind in ("sharp", "paper"):
        return noisy > tau
    coins = np.random.default_rng().random(len(noisy))
    return noisy > np.where(coins < lucky(scale, beta, tau), tau - 1, tau)


# ---------------------------------------------------------------- what is measured


@dataclass(frozen=True)
class Rates:
    """As in the paper's appendix C: of all candidates, of the unsupported ones, of the supported ones."""

    emitted: float
    unsupported: float
    recall: float


def rates(found: Claims, emitted: NDArray[Any]) -> Rates:
    """`emitted` is 0 or 1 a candidate, or the probability of it."""
    supported = found.supported
    return Rates(
        float(emitted.mean()),
        float(emitted[~supported].mean()) if not supported.all() else 0.0,
        float(emitted[supported].mean()) if supported.any() else 0.0,
    )


def mean(all_of: Sequence[Rates]) -> Rates:
    table = np.array([(r.emitted, r.unsupported, r.recall) for r in all_of])
    return Rates(*(float(x) for x in table.mean(axis=0)))


def interval(found: Claims, tau: int, beta: Fraction) -> tuple[float, float]:
    """Theorem 4: (1 - beta) p(theta + 2 tau) <= EmitRate <= p(theta) + beta (1 - p(theta))."""
    p = float(found.supported.mean())
    high = float((found.excess - 1 >= 2 * tau).mean())
    return (1 - float(beta)) * high, p + float(beta) * (1 - p)
