"""Gaussian noise loses the rho it is charged for, and rho is the (epsilon, delta) it is taken for."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dp4sql.errors import InternalError
from dp4sql.noise import epsilon_of, gaussian_half_width, gaussian_of_rho, rho_within, root_up

DELTA = Fraction(1, 10**6)
DRAWS = 40_000


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(7, 3), Fraction(250)])
def test_the_noise_has_its_standard_deviation(scale: Fraction) -> None:
    """And not one that is 10 % off: the estimate is good to half a percent (1 / sqrt(2 * DRAWS))."""
    drawn = gaussian_of_rho([5] * DRAWS, Fraction(1), scale, 1 / (2 * scale**2))
    assert abs(np.mean(drawn) - 5) < 7 * float(scale) / math.sqrt(DRAWS)
    assert 0.97 < np.std(drawn) / float(scale) < 1.03


def test_what_would_lose_more_is_refused() -> None:
    scale = Fraction(10)
    rho = (Fraction(3) / scale) ** 2 / 2
    assert len(gaussian_of_rho([1, 2], Fraction(9), scale, rho)) == 2
    for wrong in (
        (Fraction(16), scale, rho),
        (Fraction(91, 10), scale, rho),
        (Fraction(9), scale * Fraction(99, 100), rho),
        (Fraction(9), scale, rho * Fraction(99999, 100000)),
        (Fraction(9), Fraction(0), rho),
        (Fraction(-1), scale, rho),
    ):
        with pytest.raises(InternalError):
            gaussian_of_rho([1, 2], *wrong)


@pytest.mark.parametrize("rho", [Fraction(1, 10**4), Fraction(1, 50), Fraction(1), Fraction(20)])
def test_conversion_is_between_what_is_known(rho: Fraction) -> None:
    """Above the exact curve of one Gaussian mechanism, whose delta at that epsilon is then no more than
    asked for; below the bound of Bun and Steinke (Proposition 1.3)."""
    epsilon = float(epsilon_of(rho, DELTA))
    r = float(rho)
    assert epsilon <= r + 2 * math.sqrt(r * math.log(1e6)) * (1 + 1e-9)
    mean, spread = epsilon / math.sqrt(2 * r), math.sqrt(2 * r) / 2
    upper = math.erfc((mean - spread) / math.sqrt(2)) / 2
    lower = math.erfc((mean + spread) / math.sqrt(2)) / 2
    assert upper - math.exp(epsilon) * lower <= 1e-6


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(20)])
def test_the_total_of_a_budget_fits_it_and_hardly_more_would(epsilon: Fraction) -> None:
    rho = rho_within(epsilon, DELTA)
    assert 0 < epsilon_of(rho, DELTA) <= epsilon
    assert epsilon_of(rho * Fraction(1001, 1000), DELTA) > epsilon
    assert rho_within(epsilon, DELTA / 100) < rho


def test_roots_are_never_too_small() -> None:
    for square in (Fraction(0), Fraction(4), Fraction(9, 16)):
        assert root_up(square) ** 2 == square
    for square in (Fraction(2), Fraction(1, 3), Fraction(10**12 + 1)):
        root = root_up(square)
        assert square < root**2 < square * (1 + Fraction(1, 10**12))


def test_half_widths_hold_95_of_100_draws() -> None:
    assert gaussian_half_width(Fraction(1, 10)) == 0
    for scale in (Fraction(1), Fraction(3), Fraction(40), Fraction(5000)):
        drawn = np.abs(gaussian_of_rho([0] * DRAWS, Fraction(1), scale, 1 / (2 * scale**2)))
        inside = np.mean(drawn <= gaussian_half_width(scale))
        assert 0.942 < inside < 0.999
