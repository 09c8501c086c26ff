"""The noise is discrete Laplace of the asked scale, and loses what it is charged for."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dp4sql.errors import InternalError
from dp4sql.noise import LIMIT, half_width, laplace
from dp4sql.noise.laplace import float_up

DRAWS = 20_000
SCALE = Fraction(12)


def draws(scale: Fraction, count: int = DRAWS) -> list[int]:
    return laplace([0] * count, 1, scale, Fraction(1))


def scale_is(sample: list[int], scale: Fraction) -> bool:
    """Whether the mean of |Z| is within 7 standard errors of its expectation (false alarm below 1e-11).

    E|Z| = 2q / (1 - q**2) and E Z**2 = 2q / (1 - q)**2 for q = exp(-1 / scale).
    """
    q = math.exp(-1 / float(scale))
    expected = 2 * q / (1 - q * q)
    deviation = math.sqrt(2 * q / (1 - q) ** 2 - expected**2)
    mean = sum(map(abs, sample)) / len(sample)
    return abs(mean - expected) < 7 * deviation / math.sqrt(len(sample))


def test_the_right_scale_is_accepted() -> None:
    assert scale_is(draws(SCALE), SCALE)


@pytest.mark.parametrize("factor", [Fraction(7, 10), Fraction(13, 10)])
def test_a_wrong_scale_is_rejected(factor: Fraction) -> None:
    assert not scale_is(draws(SCALE * factor), SCALE)


def test_probabilities_are_those_of_the_discrete_laplace() -> None:
    """Chi-square over k = -5..5 and the two tails; above 80 in one of 10**11 at 12 degrees of freedom."""
    scale, count = Fraction(3), 40_000
    q = math.exp(-1 / float(scale))
    sample = draws(scale, count)
    expected = {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-5, 6)}
    cells = [(sum(1 for z in sample if z == k), p * count) for k, p in expected.items()]
    tail = q**6 / (1 + q) * count
    cells += [(sum(1 for z in sample if z > 5), tail), (sum(1 for z in sample if z < -5), tail)]
    assert sum((seen - want) ** 2 / want for seen, want in cells) < 80


def test_a_scale_too_small_for_the_charge_is_refused() -> None:
    with pytest.raises(InternalError):
        laplace([0], 12, Fraction(11), Fraction(1))


def test_the_scale_handed_to_opendp_is_never_smaller() -> None:
    for scale in (Fraction(1, 3), Fraction(10, 3), Fraction(2**60 + 1, 7), Fraction(12)):
        assert Fraction(float_up(scale)) >= scale


def test_values_beyond_the_limit_do_not_fail() -> None:
    (value,) = laplace([2**80], 1, Fraction(1), Fraction(1))
    assert abs(value - LIMIT) < 1000


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(12), Fraction(287), Fraction(1, 3)])
def test_half_width_covers_95_percent_and_not_much_more(scale: Fraction) -> None:
    """Pr[|Z| <= h] = 1 - 2 q**(h + 1) / (1 + q)."""
    q = math.exp(-1 / float(scale))

    def covered(h: int) -> float:
        return 1 - 2 * q ** (h + 1) / (1 + q)

    h = half_width(scale)
    assert covered(h) >= 0.95
    assert h == 0 or covered(h - 1) < 0.95


def test_no_noise_has_no_width() -> None:
    assert half_width(Fraction(0)) == 0


@pytest.mark.parametrize("digits", [20, 60, 300])
def test_half_width_is_exact_for_scales_that_floats_cannot_tell_apart(digits: int) -> None:
    """For a large scale h is scale * ln(20) - 1/2, up to 1; ln(20) has the digits 2.995732273553991."""
    scale = Fraction(10**digits)
    assert abs(half_width(scale) / scale - Fraction("2.995732273553991")) < Fraction(1, 10**15)


def test_a_scale_beyond_floats_is_refused() -> None:
    with pytest.raises(InternalError, match="beyond every float"):
        laplace([0], 1, Fraction(10**400), Fraction(1))


def test_no_values_need_no_noise() -> None:
    assert laplace([], 1, SCALE, Fraction(1)) == []


def test_neighbours_differ_by_the_loss_and_no_more() -> None:
    """The ratio of probabilities is e**epsilon in favour of the nearer neighbour.

    The rarest cell has probability 0.059, so a ratio of two counts out of 100000 has a relative standard
    error of at most 1.8 %; 1.15 is 7 of them (false alarm below 1e-10 over all cells).
    """
    scale, count = Fraction(4), 100_000
    here = laplace([0] * count, 1, scale, Fraction(1, 4))
    there = laplace([1] * count, 1, scale, Fraction(1, 4))
    for k in range(-2, 4):
        ratio = here.count(k) / there.count(k)
        assert 1 / 1.15 < ratio / math.exp(math.copysign(0.25, 0.5 - k)) < 1.15
