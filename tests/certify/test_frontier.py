"""The default margin is optimal: emission probabilities equal the frontier, exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dp4sql.mechanisms.certify import frontier
from dp4sql.mechanisms.certify.forms import Count, Private, Steps, needed
from dp4sql.mechanisms.certify.intervals import Interval
from dp4sql.mechanisms.certify.laws import Geometric, half_emission
from dp4sql.mechanisms.certify.margins import (
    emission,
    margin,
    p_value,
    plain,
)
from dp4sql.mechanisms.certify.tails import difference, geometric, powers
from dp4sql.policy.certify import MarginKind
from tests.certify.laws import rational

HALF = Fraction(1, 2)
BETAS = [Fraction(1, 100), Fraction(1, 20), Fraction(1, 10), Fraction(2, 5), Fraction(49, 100)]
DECAYS = [Fraction(1, 2), Fraction(3, 5), Fraction(1, 10), Fraction(19, 20)]


def recurrence(beta: Fraction, q: Fraction, steps: int) -> list[Fraction]:
    """p_0 .. p_steps from the definition."""
    found = [beta]
    for _ in range(steps):
        found.append(min(found[-1] / q, 1 - q * (1 - found[-1])))
    return found


def exactly(x: Interval) -> Fraction:
    assert x.low == x.high
    return x.low


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("q", DECAYS)
def test_emission_with_the_coin_is_the_frontier(beta: Fraction, q: Fraction) -> None:
    want = recurrence(beta, q, 60)
    assert [exactly(frontier.optimum(beta, rational(q), d)) for d in range(61)] == want
    assert [exactly(emission(geometric(rational(q)), beta, d)) for d in range(61)] == want


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("q", DECAYS)
def test_half_emission_is_where_the_frontier_reaches_one_half(beta: Fraction, q: Fraction) -> None:
    want = next(d for d, p in enumerate(recurrence(beta, q, 400)) if p >= HALF)
    assert frontier.half_emission(beta, rational(q)) == want


@pytest.mark.parametrize("q", DECAYS)
def test_tails_are_sums_of_the_distribution(q: Fraction) -> None:
    tail = geometric(rational(q))
    constant = (1 - q) / (1 + q)
    for k in range(-8, 9):
        assert exactly(tail(k)) - exactly(tail(k + 1)) == constant * q ** abs(k)
    assert exactly(tail(-40)) > 1 - q**40


def test_tail_of_a_difference_is_the_convolution() -> None:
    a, b = Fraction(1, 2), Fraction(1, 3)
    tail = difference(rational(a), rational(b))

    def probability(k: int) -> Fraction:
        """Of A - B = k: between -60 and 60 by summation, the rest of the sum is below 2^-55."""
        ca, cb = (1 - a) / (1 + a), (1 - b) / (1 + b)
        return sum(
            (ca * a ** abs(i) * cb * b ** abs(i - k) for i in range(-60, 61)), start=Fraction(0)
        )

    for k in range(-6, 7):
        assert abs(exactly(tail(k)) - exactly(tail(k + 1)) - probability(k)) < Fraction(1, 2**55)
    assert exactly(tail(0)) + exactly(tail(1)) == 1


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3)])
def test_margin_without_a_coin_has_the_closed_form(beta: Fraction, epsilon: Fraction) -> None:
    found = margin(plain(geometric(powers(1 / epsilon))), beta)
    q = math.exp(-epsilon)
    assert found == math.ceil(math.log(1 / (float(beta) * (1 + q))) / float(epsilon)) - 1


def test_a_threshold_is_an_exact_ceiling() -> None:
    assert math.ceil(100 * 0.07) == 8  # what floats would ask for
    assert needed(100, Fraction("0.07")) == 7
    assert Count(100, Fraction("0.07")).t == 7
    assert Steps(100, Fraction("0.07"), 6).t == 7


# ---------------------------------------------------------------- figures


def half_in_records(kind: MarginKind, epsilon: Fraction, unit: int) -> int:
    beta, theta = Fraction(1, 20), Fraction(1, 10)
    if kind == "threshold":
        steps = half_emission(Geometric(1 / epsilon, kind), beta)
        return Steps(1000, theta, unit).records(steps)
    return Count(1000, theta).records(half_emission(Geometric(unit / epsilon, kind), beta))


@pytest.mark.parametrize(
    ("epsilon", "unit", "paper", "sharp", "exact", "threshold"),
    [
        ("0.2", 1, 16, 13, 12, 12),
        ("0.5", 1, 7, 6, 5, 5),
        ("1", 1, 4, 4, 3, 3),
        ("1", 6, 19, 15, 14, 13),
    ],
)
def test_half_emission_in_records(
    epsilon: str, unit: int, paper: int, sharp: int, exact: int, threshold: int
) -> None:
    kinds: tuple[MarginKind, ...] = ("paper", "sharp", "exact", "threshold")
    found = tuple(half_in_records(kind, Fraction(epsilon), unit) for kind in kinds)
    assert found == (paper, sharp, exact, threshold)


def test_emission_probabilities_at_epsilon_1() -> None:
    tail = geometric(powers(Fraction(1)))
    found = [float(emission(tail, Fraction(1, 20), d).high) for d in range(6)]
    assert found == pytest.approx([0.0500, 0.1359, 0.3695, 0.7680, 0.9147, 0.9686], abs=5e-5)


def test_half_emission_of_a_private_population() -> None:
    form = Private(Fraction(1, 10), unit=9)
    steps = half_emission(Geometric(Fraction(5)), Fraction(1, 20))
    assert form.records(steps) == 10
    known = Count(2000, Fraction(1, 10))
    assert known.t - 1 + known.records(steps) - 200 == 11


def test_bounds_of_real_powers_are_tight_and_in_order() -> None:
    q = powers(Fraction(7, 3))
    for k in range(0, 200, 7):
        x = q(k)
        assert x.low <= x.high
        assert x.high - x.low <= x.high / 10**55


def test_real_powers_never_err_more_than_beta() -> None:
    """Not even in the 60th digit, and emission at the frontier's start is beta to that digit."""
    tail, beta = geometric(powers(Fraction(13, 7))), Fraction(1, 20)
    for i in range(1, 41):
        p = p_value("exact", powers(Fraction(13, 7)), Fraction(i, 40))
        tau = margin(p, beta)
        assert p(tau + 1) <= beta < p(tau)
    assert emission(tail, beta, 0).low <= beta <= emission(tail, beta, 0).high
