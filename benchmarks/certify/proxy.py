"""The boundary of the contract: what holds in private synthetic data need not hold in the data.

Rows have six attributes that depend on each other through a hidden class. The proxy releases a private
histogram of each attribute and draws rows from their product; its claims are read off those rows. Both spend
the same epsilon on the same candidates, every pair of values of two attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Final

import numpy as np

from benchmarks.certify.synthetic import (
    Claims,
    Floats,
    Integers,
    Rates,
    drawn,
    mean,
    per_statement,
    rates,
)
from dp4sql.noise import laplace

ROWS, PROXY_ROWS = 1800, 1000
ATTRIBUTES, VALUES, CLASSES = 6, 5, 4
EPSILON, BETA = Fraction(10), Fraction(1, 20)
THETAS: Final = [Fraction(1, 20), Fraction(1, 10)]
WORLDS, DRAWS = 5, 10


@dataclass(frozen=True)
class Row:
    theta: Fraction
    method: str
    found: Rates
    any_false: int
    runs: int


def world(rng: np.random.Generator) -> Integers:
    """One row a record, one column an attribute."""
    laws = rng.dirichlet([0.6] * VALUES, size=(CLASSES, ATTRIBUTES))
    classes = rng.choice(CLASSES, ROWS, p=rng.dirichlet([3.0] * CLASSES))
    return _sampled(rng, laws[classes])


def _sampled(rng: np.random.Generator, laws: Floats) -> Integers:
    """From laws of shape (rows, attributes, values)."""
    points = rng.random(laws.shape[:2])
    return np.asarray((np.cumsum(laws, axis=2) < points[..., None]).sum(axis=2).clip(0, VALUES - 1))


def pairs(rows: Integers) -> Integers:
    """How many rows support each candidate."""
    found = []
    for i, j in combinations(range(ATTRIBUTES), 2):
        cells = rows[:, i] * VALUES + rows[:, j]
        found.append(np.bincount(cells, minlength=VALUES * VALUES))
    return np.concatenate(found)


def synthetic(rng: np.random.Generator, rows: Integers) -> Integers:
    """A row that is replaced moves each histogram by 2."""
    scale = Fraction(2 * ATTRIBUTES) / EPSILON
    laws = []
    for column in rows.T:
        counts = np.bincount(column, minlength=VALUES).tolist()
        noisy = np.maximum(laplace(counts, 2, scale, EPSILON / ATTRIBUTES), 0) + 1e-9
        laws.append(noisy / noisy.sum())
    return _sampled(rng, np.broadcast_to(np.array(laws), (PROXY_ROWS, ATTRIBUTES, VALUES)))


def boundary() -> Iterator[Row]:
    for theta in THETAS:
        yield _row(theta, "certified on the data", _certified)
        yield _row(theta, "read off the proxy", _read_off)


Run = Callable[[np.random.Generator, Integers, Claims], np.ndarray]


def _row(theta: Fraction, method: str, run: Run) -> Row:
    found = []
    for seed in range(WORLDS):
        rng = np.random.default_rng([seed, 5])
        rows = world(rng)
        truth = Claims(pairs(rows), ROWS, theta)
        found += [(truth, run(rng, rows, truth)) for _ in range(DRAWS)]
    false = sum(bool((e & ~c.supported).any()) for c, e in found)
    return Row(theta, method, mean([rates(c, e) for c, e in found]), false, len(found))


def _certified(_: np.random.Generator, rows: Integers, truth: Claims) -> np.ndarray:
    return drawn("exact", per_statement(EPSILON, len(truth.counts)), BETA, truth.excess)


def _read_off(rng: np.random.Generator, rows: Integers, truth: Claims) -> np.ndarray:
    return Claims(pairs(synthetic(rng, rows)), PROXY_ROWS, truth.theta).supported
