"""One set of candidates under every mechanism and control, the paper's n 1800, m 200, theta and beta .05.

Each row is a mean over ten sets of candidates with five draws of noise each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.certify.synthetic import (
    Claims,
    Rates,
    claims,
    drawn,
    emission,
    interval,
    mean,
    per_statement,
    rates,
)
from dp4sql.mechanisms.certify import hist, laws, svt
from dp4sql.mechanisms.certify.forms import Count
from dp4sql.mechanisms.certify.judge import Evidence, judge
from dp4sql.mechanisms.certify.laws import Gap, Gaussian, Geometric
from dp4sql.noise import gaussian, gaussian_scale, laplace
from dp4sql.noise.laplace import float_up
from dp4sql.policy.certify import Control, MarginKind

ROWS, M, SETS, DRAWS = 1800, 200, 10, 5
EPSILON, THETA, BETA = Fraction(10), Fraction(1, 20), Fraction(1, 20)
DELTA: Final = Fraction(1, 10**5)
SCALE: Final = per_statement(EPSILON, M)

Run = Callable[[Claims], NDArray[np.bool_]]


@dataclass(frozen=True)
class Row:
    name: str
    found: Rates
    any_false: float
    """Runs that emit at least one unsupported statement."""


def sets() -> list[Claims]:
    return [claims(np.random.default_rng([s, 18]), M, ROWS, THETA) for s in range(SETS)]


def mechanisms() -> Iterator[Row]:
    yield _row("Laplace, plain margin (the paper's)", _laplace("paper"))
    yield _row("Laplace, sharp margin", _laplace("sharp"))
    yield _row("Laplace, exact with coin", _laplace("exact"))
    yield _row("Gaussian, delta 1e-5", _gaussian())
    for cap in (4, 16, 64):
        yield _row(f"Hist, at most {cap} statements a row", _hist(cap))
    for cap in (10, 40):
        yield _row(f"SVT with free gap, cap {cap}", _svt(cap, Fraction(1)))
        yield _row(f"SVT, half for fresh noise, cap {cap}", _svt(cap, Fraction(1, 2)))


def reports() -> Iterator[Row]:
    yield _row("per statement, exact", _judged("per_statement", "exact"))
    yield _row("Bonferroni, plain margin (the paper's)", _judged("bonferroni", "paper"))
    yield _row("Bonferroni, exact", _judged("bonferroni", "exact"))
    yield _row("Holm, exact", _judged("report", "exact"))
    yield _row("Benjamini-Hochberg, exact", _judged("fdr", "exact"))


def _row(name: str, run: Run) -> Row:
    runs = [(c, run(c)) for c in sets() for _ in range(DRAWS)]
    false = [bool((e & ~c.supported).any()) for c, e in runs]
    return Row(name, mean([rates(c, e) for c, e in runs]), sum(false) / len(false))


# ---------------------------------------------------------------- one run of each


def _laplace(kind: MarginKind) -> Run:
    return lambda c: drawn(kind, SCALE, BETA, c.excess)


def _gaussian() -> Run:
    sigma = gaussian_scale(M, EPSILON, DELTA)
    tau = laws.margin(Gaussian(sigma), BETA)
    return lambda c: np.array(gaussian(c.excess.tolist(), M, sigma, EPSILON, DELTA)) > tau


def _hist(cap: int) -> Run:
    """Rows support statements independently of each other; each counts for the first `cap` that it does."""
    moved = hist.sensitivity(1, 2, cap, M)
    scale = Fraction(float_up(moved / EPSILON))

    def run(c: Claims) -> NDArray[np.bool_]:
        votes = np.random.default_rng([cap, int(c.counts[0])]).random((ROWS, M)) < c.counts / ROWS
        kept = votes & (np.cumsum(votes, axis=1) <= cap)
        clipped = Claims(kept.sum(axis=0), ROWS, THETA)
        return drawn("exact", scale, BETA, clipped.excess)

    return run


def _svt(cap: int, share: Fraction) -> Run:
    scales = svt.scales(EPSILON * share, cap)
    rho, nu = (Fraction(float_up(s)) for s in (scales.threshold, scales.statement))
    tau = laws.margin(Gap(rho, nu), BETA)
    fresh = None if share == 1 else Fraction(float_up(cap / (EPSILON * (1 - share))))

    def run(c: Claims) -> NDArray[np.bool_]:
        (shift,) = laplace([0], 0, rho, Fraction(0))
        noise = laplace([0] * M, 0, nu, Fraction(0))
        least = tau + 1 if fresh is None else 1
        gaps = svt.select(c.excess.tolist(), shift, noise, least, cap)
        chosen = np.array([gap is not None for gap in gaps])
        return chosen if fresh is None else chosen & drawn("exact", fresh, BETA, c.excess)

    return run


def _judged(control: Control, kind: MarginKind) -> Run:
    def run(c: Claims) -> NDArray[np.bool_]:
        noisy = laplace(c.excess.tolist(), 1, SCALE, 1 / SCALE)
        coins = [Fraction(int(x), 2**20) for x in np.random.default_rng().integers(1, 2**20, M)]
        evidence = [
            Evidence(Count(ROWS, THETA), x, laws.p_value(Geometric(SCALE, kind), coin))
            for x, coin in zip(noisy, coins, strict=True)
        ]
        return np.array([v.emitted for v in judge(evidence, control, BETA)])

    return run


# ---------------------------------------------------------------- budgets


@dataclass(frozen=True)
class Budget:
    epsilon: Fraction
    found: Rates
    low: float
    high: float


def budgets(kind: MarginKind, epsilons: list[Fraction]) -> Iterator[Budget]:
    """In expectation, with the interval of theorem 4."""
    for epsilon in epsilons:
        scale = per_statement(epsilon, M)
        tau = laws.margin(Geometric(scale, kind), BETA)
        every = sets()
        ends = np.array([interval(c, tau, BETA) for c in every]).mean(axis=0)
        found = mean([rates(c, emission(kind, scale, BETA, c.excess)) for c in every])
        yield Budget(epsilon, found, float(ends[0]), float(ends[1]))
