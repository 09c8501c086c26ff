"""Integer (discrete) Laplace noise through OpenDP: the mechanism behind every noisy number.

The noise Z has Pr[Z = k] = (1 - q) / (1 + q) * q**|k| with q = exp(-1 / scale) (Ghosh, Roughgarden and
Sundararajan, "Universally utility-maximizing privacy mechanisms"; sampler: Canonne, Kamath and Steinke).
Added to integers of L1 sensitivity d it loses exactly d / scale. Nothing here is a float but the scale that
OpenDP takes, which is rounded up so that the true loss is never above d / scale.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import opendp.prelude as dp

from dp4sql.errors import InternalError
from dp4sql.noise.blocks import Ints, Measure, measure, noised

dp.enable_features("contrib")


def float_up(scale: Fraction) -> float:
    """The least float that is not below `scale`. InternalError beyond the floats (about 1.8e308)."""
    try:
        nearest = float(scale)
    except OverflowError:
        raise InternalError("the noise scale is beyond every float") from None
    return nearest if Fraction(nearest) >= scale else math.nextafter(nearest, math.inf)


@lru_cache(maxsize=256)
def _measurement(scale: float) -> Any:
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l1_distance(T=dp.i64)
    return dp.m.make_laplace(*space, scale=scale)


@lru_cache(maxsize=256)
def _sampler(scale: float) -> Measure:
    return measure(_measurement(scale))


@lru_cache(maxsize=4096)
def _loss(scale: float, sensitivity: int) -> float:
    """OpenDP's own map, a function of these two alone."""
    return float(_measurement(scale).map(sensitivity))


def laplace(values: Ints, sensitivity: int, scale: Fraction, epsilon: Fraction) -> Ints:
    """`values` with independent noise each: an array for an array, else a list.

    sensitivity: L1 distance of the whole vector between neighbours, in the values' unit.
    scale: exact noise scale in the same unit. epsilon: what this call may lose; InternalError when
    OpenDP's own map says that it would lose more.
    """
    if sensitivity < 0 or scale <= 0:
        raise InternalError("noise needs a sensitivity of 0 or more and a positive scale")
    rounded = float_up(scale)
    check_loss(_loss(rounded, sensitivity), sensitivity, scale, epsilon)
    return noised(_sampler(rounded), values)


@lru_cache(maxsize=4096)
def check_loss(mapped: float, sensitivity: int, scale: Fraction, epsilon: Fraction) -> None:
    """OpenDP rounds its map up to a float, by at most a few units in the last place; the exact loss must fit."""
    if Fraction(sensitivity) / scale > epsilon:
        raise InternalError("the noise scale is too small for the epsilon to be charged")
    if Fraction(mapped) > epsilon * (1 + Fraction(1, 2**48)):
        raise InternalError("OpenDP's map exceeds the epsilon to be charged")


@lru_cache(maxsize=4096)
def half_width(scale: Fraction, confidence: Fraction = Fraction(95, 100)) -> int:
    """The least integer h with Pr[|Z| <= h] >= confidence, where Pr[|Z| > h] = 2 q**(h + 1) / (1 + q).

    Decimals carry 30 digits more than the scale has. Where even those could not tell, h is one too large.
    """
    if scale == 0:
        return 0
    digits = len(str(scale.numerator // scale.denominator)) + len(str(scale.denominator))
    context = Context(prec=digits + 30)
    s, miss = _decimal(scale, context), _decimal(1 - confidence, context)
    q = context.exp(context.divide(Decimal(-1), s))
    tail = context.divide(context.multiply(miss, context.add(1, q)), Decimal(2))
    exact = context.subtract(context.multiply(context.minus(s), context.ln(tail)), Decimal(1))
    slack = context.add(exact, Decimal(1).scaleb(-20))
    return max(0, int(slack.to_integral_value(rounding=ROUND_CEILING, context=context)))


def _decimal(number: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))
