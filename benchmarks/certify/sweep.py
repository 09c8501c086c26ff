"""The paper's synthetic sweep and its budget sweep, with dp4sql's margins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Final

import numpy as np

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
from dp4sql.mechanisms.certify import laws
from dp4sql.mechanisms.certify.laws import Geometric
from dp4sql.policy.certify import MarginKind

EPSILONS: Final = [Fraction(e) for e in (1, 4, 10, 20)]
THETAS: Final = [Fraction(t) for t in ("0.05", "0.1", "0.2")]
BETAS: Final = [Fraction(b) for b in ("0.01", "0.05", "0.1")]
SIZES: Final = [50, 200, 1000]
SEEDS: Final = 5
ROWS: Final = 10_000
KINDS: Final[tuple[MarginKind, ...]] = ("paper", "sharp", "exact")


@dataclass(frozen=True)
class Cell:
    """One configuration under one margin: expectations, and what five runs with real noise gave."""

    kind: MarginKind
    epsilon: Fraction
    theta: Fraction
    beta: Fraction
    m: int
    expected: Rates
    observed: Rates
    inside: bool
    """The expectation of every seed lies in the interval of theorem 4."""

    excused: bool
    """The runs emit no more unsupported statements than beta allows, but for sampling."""


def sweep() -> Iterator[Cell]:
    for epsilon, theta, m, beta in product(EPSILONS, THETAS, SIZES, BETAS):
        every = [
            claims(np.random.default_rng([seed, m, 7]), m, ROWS, theta) for seed in range(SEEDS)
        ]
        for kind in KINDS:
            yield _cell(kind, epsilon, theta, beta, m, every)


def _cell(
    kind: MarginKind,
    epsilon: Fraction,
    theta: Fraction,
    beta: Fraction,
    m: int,
    every: list[Claims],
) -> Cell:
    scale = per_statement(epsilon, m)
    tau = laws.margin(Geometric(scale, kind), beta)
    expected = [rates(c, emission(kind, scale, beta, c.excess)) for c in every]
    emitted = [drawn(kind, scale, beta, c.excess) for c in every]
    within = [interval(c, tau, beta) for c in every]
    false = sum(int((e & ~c.supported).sum()) for c, e in zip(every, emitted, strict=True))
    return Cell(
        kind, epsilon, theta, beta, m, mean(expected),
        mean([rates(c, e) for c, e in zip(every, emitted, strict=True)]),
        all(low <= r.emitted <= high for r, (low, high) in zip(expected, within, strict=True)),
        false <= _most(sum(int((~c.supported).sum()) for c in every), float(beta)),
    )  # fmt: skip


def _most(trials: int, beta: float) -> float:
    """What a binomial count passes with a probability of one in ten thousand (normal bound)."""
    return trials * beta + 3.72 * (trials * beta * (1 - beta)) ** 0.5 + 1
