"""Coins, tables and private selection come out as often as they should."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import pytest

from dp4sql.errors import InternalError
from dp4sql.noise import bernoulli, choose, randbelow, select

DRAWS = 10_000


def near(seen: int, probability: float) -> bool:
    """Within 7 standard errors: a false alarm less than once in 10**11."""
    return abs(seen - DRAWS * probability) < 7 * math.sqrt(DRAWS * probability * (1 - probability))


def test_a_uniform_number() -> None:
    seen = Counter(randbelow(3) for _ in range(DRAWS))
    assert set(seen) == {0, 1, 2}
    assert all(near(n, 1 / 3) for n in seen.values())


def test_a_coin() -> None:
    assert near(sum(bernoulli(Fraction(2, 7)) for _ in range(DRAWS)), 2 / 7)
    assert not any(bernoulli(Fraction(0)) for _ in range(100))
    assert all(bernoulli(Fraction(1)) for _ in range(100))


def test_a_table_of_weights() -> None:
    seen = Counter(choose([3, 0, 1, 6]) for _ in range(DRAWS))
    assert set(seen) == {0, 2, 3}
    assert near(seen[0], 0.3)
    assert near(seen[2], 0.1)


def test_weights_larger_than_floats_stay_exact() -> None:
    seen = Counter(choose([2**2000, 2**2000]) for _ in range(DRAWS))
    assert near(seen[0], 0.5)


def test_selection_of_two_follows_permute_and_flip() -> None:
    """With a gap g between two scores and scale s the lesser one wins with probability p / 2, p = exp(-g / s)."""
    seen = Counter(select([[0, 2]] * DRAWS, 1, Fraction(2), Fraction(1)))
    assert near(seen[0], math.exp(-1) / 2)
    assert not near(seen[0], math.exp(-2) / 2)


def test_selection_refuses_a_scale_too_small_for_the_charge() -> None:
    with pytest.raises(InternalError):
        select([[0, 1]], 1, Fraction(2), Fraction(99, 100))
