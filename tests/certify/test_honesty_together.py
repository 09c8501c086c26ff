"""Honesty and validity of the mechanisms that measure statements together: Gaussian noise, and clipped votes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from dp4sql.mechanisms.certify import hist, laws
from dp4sql.mechanisms.certify.forms import Count, Form, Private, Steps
from dp4sql.mechanisms.certify.intervals import Interval, exp
from dp4sql.mechanisms.certify.judge import Evidence, Verdict, judge
from dp4sql.mechanisms.certify.laws import Gaussian
from tests.certify.test_honesty import BETAS, overstates, probability, sizes

SIGMAS = [Fraction(1, 2), Fraction(1), Fraction(7, 2), Fraction(6)]


# ---------------------------------------------------------------- Gaussian


@cache
def gaussian_law(sigma: Fraction) -> dict[int, Fraction]:
    """Upper bounds of the discrete Gaussian's probabilities, e^(-k^2 / (2 sigma^2)) over their sum; the ends
    take all that lies beyond, at most a geometric series."""
    reach = 8 * int(sigma) + 8

    def weight(k: int) -> Interval:
        return exp(-Fraction(k * k) / (2 * sigma**2))

    least = sum((weight(k).low for k in range(-reach, reach + 1)), start=Fraction(0))
    found = {k: weight(k).high / least for k in range(-reach, reach + 1)}
    beyond = weight(reach).high / (1 - exp(-Fraction(reach) / sigma**2).high) / least
    return found | {-reach: beyond, reach: beyond}


def gaussian_probability(
    form: Form, sigma: Fraction, beta: Fraction, exact: int, event: Callable[[Verdict], bool]
) -> Fraction:
    p_value = laws.p_value(Gaussian(sigma))
    return sum(
        (
            p
            for noise, p in gaussian_law(sigma).items()
            if event(
                judge([Evidence(form, form.excess(exact) + noise, p_value)], "per_statement", beta)[
                    0
                ]
            )
        ),
        start=Fraction(0),
    )


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("beta", BETAS)
def test_gaussian_of_a_known_population(sigma: Fraction, beta: Fraction) -> None:
    for theta, unit in product((Fraction(1, 2), Fraction(1)), (1, 2)):
        for n, count in sizes(1, 3):
            form: Form = Count(n, theta) if unit == 1 else Steps(n, theta, unit)
            support = Fraction(count, n)
            emitted = gaussian_probability(form, sigma, beta, count, lambda v: v.emitted)
            assert emitted <= beta or support >= theta
            wrong = gaussian_probability(form, sigma, beta, count, lambda v: overstates(v, support))  # noqa: B023
            assert wrong <= beta


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("unit", [1, 3])
def test_gaussian_of_a_private_population(sigma: Fraction, unit: int) -> None:
    theta, beta = Fraction(1, 3), Fraction(1, 20)
    form = Private(theta, unit)
    for n, count in sizes(0, 3):
        weight = theta.denominator * count - theta.numerator * n
        emitted = gaussian_probability(form, sigma, beta, weight, lambda v: v.emitted)
        assert emitted <= beta or count > theta * n


def test_a_gaussian_margin_of_two_steps_less_is_caught() -> None:
    sigma, beta = Fraction(7, 2), Fraction(1, 20)
    tau = laws.margin(Gaussian(sigma), beta) - 2
    assert sum(p for k, p in gaussian_law(sigma).items() if k - tau >= 1) > beta


# ---------------------------------------------------------------- Hist


@pytest.mark.parametrize("cap", [1, 2])
@pytest.mark.parametrize("rows", [1, 2])
def test_clipped_votes(cap: int, rows: int) -> None:
    """Noise and coin of each statement are its own, so each is judged by its own clipped count; what it says
    has to hold for the count before clipping."""
    theta, beta = Fraction(1, 2), Fraction(1, 20)
    form, clipped_away = Count(rows, theta), 0
    for votes in product(product((False, True), repeat=3), repeat=rows):
        kept = [hist.clip(vote, cap) for vote in votes]
        for i in range(3):
            true, count = (sum(vote[i] for vote in of) for of in (votes, kept))
            clipped_away += true - count
            support = Fraction(true, rows)
            emitted = probability(form, "exact", beta, count, lambda v: v.emitted)
            assert emitted <= beta or support >= theta
            wrong = probability(form, "exact", beta, count, lambda v: overstates(v, support))  # noqa: B023
            assert wrong <= beta
    assert clipped_away > 0


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_no_row_moves_the_clipped_counts_further_than_the_sensitivity(cap: int) -> None:
    """Of every population of two rows and every other row: L1 of all three counts, D 1 and D 2."""
    every = list(product((False, True), repeat=3))

    def counts(*rows: tuple[bool, ...]) -> list[int]:
        return [sum(votes) for votes in zip(*(hist.clip(r, cap) for r in rows), strict=True)]

    replaced = both = 0
    for first, second, other in product(every, repeat=3):
        before = counts(first, second)
        one, two = counts(first, other), counts(other, other)
        replaced = max(replaced, _distance(before, one))
        both = max(both, _distance(before, two))
    assert replaced == hist.sensitivity(1, 2, cap, 3)
    assert both == hist.sensitivity(2, 4, cap, 3)


def _distance(a: list[int], b: list[int]) -> int:
    return sum(abs(x - y) for x, y in zip(a, b, strict=True))
