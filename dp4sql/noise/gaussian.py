"""Integer (discrete) Gaussian noise through OpenDP, for (epsilon, delta).

Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy". The scale is the least, to one
part in a thousand, at which OpenDP's own conversion from zero-concentrated privacy stays within epsilon.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import opendp.prelude as dp

from dp4sql.errors import InternalError
from dp4sql.noise.blocks import Ints, Measure, measure, noised
from dp4sql.noise.laplace import float_up

dp.enable_features("contrib")


@lru_cache(maxsize=256)
def _measurement(scale: float) -> Any:
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l2_distance(T=float)
    return dp.m.make_gaussian(*space, scale=scale)


@lru_cache(maxsize=256)
def _sampler(scale: float) -> Measure:
    return measure(_measurement(scale))


@lru_cache(maxsize=4096)
def gaussian_loss(l2_squared: int, scale: Fraction, delta: Fraction) -> float:
    """Epsilon of noise with standard deviation `scale` on integers whose L2 distance squared is at most
    `l2_squared`."""
    measure = dp.c.make_zCDP_to_approxDP(_measurement(float_up(scale)))
    return float(measure.map(_root_up(l2_squared)).epsilon(_down(delta)))


@lru_cache(maxsize=1024)
def gaussian_scale(l2_squared: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The standard deviation for a loss of (epsilon, delta), as a float's exact value."""
    low, high = Fraction(0), Fraction(math.isqrt(l2_squared) + 1)
    while Fraction(gaussian_loss(l2_squared, high, delta)) > epsilon:
        low, high = high, 2 * high
    while high - low > high / 1000:
        middle = Fraction(float_up((low + high) / 2))
        fits = Fraction(gaussian_loss(l2_squared, middle, delta)) <= epsilon
        low, high = (low, middle) if fits else (middle, high)
    return high


def gaussian(
    values: Ints, l2_squared: int, scale: Fraction, epsilon: Fraction, delta: Fraction
) -> Ints:
    """`values` with independent noise each; InternalError when the loss would be above epsilon."""
    if Fraction(gaussian_loss(l2_squared, scale, delta)) > epsilon:
        raise InternalError("OpenDP's map exceeds the epsilon to be charged")
    return noised(_sampler(float_up(scale)), values)


def _down(delta: Fraction) -> float:
    nearest = float(delta)
    return nearest if Fraction(nearest) <= delta else math.nextafter(nearest, 0.0)


def _root_up(square: int) -> float:
    root = math.sqrt(square)
    return root if Fraction(root) ** 2 >= square else math.nextafter(root, math.inf)
