"""Zero-concentrated differential privacy: integer Gaussian noise of a given rho, and rho as (epsilon, delta).

Bun and Steinke, "Concentrated differential privacy": losses rho add up, a loss of pure epsilon is one of
epsilon**2 / 2, and Gaussian noise of standard deviation s on integers of L2 sensitivity d loses
(d / s)**2 / 2; the discrete Gaussian loses no more (Canonne, Kamath and Steinke). What rho means as (epsilon,
delta) is OpenDP's conversion.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import opendp.prelude as dp

from dp4sql.errors import InternalError
from dp4sql.noise.blocks import Ints, noised
from dp4sql.noise.gaussian import _measurement, _sampler
from dp4sql.noise.laplace import float_up

STEPS = 30
"""Bisections: rho is found to one part in 2**30."""


def gaussian_of_rho(values: Ints, l2_squared: Fraction, scale: Fraction, rho: Fraction) -> Ints:
    """`values` with independent noise each; `l2_squared` is their sensitivity in L2, squared. InternalError when
    the loss would be above rho, by exact arithmetic or by OpenDP's own map."""
    if l2_squared < 0 or scale <= 0:
        raise InternalError("noise needs a sensitivity of 0 or more and a positive scale")
    _check_rho(l2_squared, scale, rho)
    return noised(_sampler(float_up(scale)), values)


@lru_cache(maxsize=4096)
def _check_rho(l2_squared: Fraction, scale: Fraction, rho: Fraction) -> None:
    measurement = _measurement(float_up(scale))
    mapped = Fraction(measurement.map(float_up(root_up(l2_squared))))
    exact = l2_squared / scale**2 / 2
    # OpenDP rounds its map up to a float, by a few units in the last place.
    if exact > rho or mapped > rho * (1 + Fraction(1, 2**45)):
        raise InternalError("OpenDP's map exceeds the rho to be charged")


@lru_cache(maxsize=4096)
def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon, from above, at which a total loss of `rho` is (epsilon, delta)."""
    if rho == 0:
        return Fraction(0)
    noise = dp.c.make_zCDP_to_approxDP(_measurement(1.0))
    curve = noise.map(float_up(root_up(2 * rho)))
    return Fraction(curve.epsilon(_float_down(delta)))


@lru_cache(maxsize=1024)
def rho_within(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A total of rho that is (epsilon, delta), nearly the largest."""
    low, high = Fraction(0), Fraction(1)
    while epsilon_of(high, delta) <= epsilon:
        low, high = high, 2 * high
    for _ in range(STEPS):
        middle = (low + high) / 2
        if epsilon_of(middle, delta) <= epsilon:
            low = middle
        else:
            high = middle
    return low


def root_up(square: Fraction) -> Fraction:
    """The root where it is rational and short, else a little more."""
    scaled = square * 4**64
    floor = math.isqrt(math.floor(scaled))
    return Fraction(floor if floor * floor == scaled else floor + 1, 2**64)


def _float_down(number: Fraction) -> float:
    nearest = float(number)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, 0.0)


@lru_cache(maxsize=4096)
def gaussian_half_width(scale: Fraction, confidence: float = 0.95) -> int:
    """The least integer h with Pr[|Z| <= h] >= confidence; beyond a scale of 1000 that of the continuous law,
    and one more."""
    if scale > 1000:
        return math.ceil(1.96 * scale) + 1
    s = float(scale)
    weights = [1.0, *(2 * math.exp(-((k / s) ** 2) / 2) for k in range(1, math.ceil(12 * s) + 2))]
    total, below = math.fsum(weights), 0.0
    for h, weight in enumerate(weights):
        below += weight
        if below >= confidence * total:
            return h
    return len(weights)
