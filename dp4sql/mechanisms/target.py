"""dp4sql.target_error: the noise scales with which every count and sum is as exact as is asked for."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from dp4sql.errors import InternalError, InvalidParameter
from dp4sql.mechanisms.measure import Column
from dp4sql.mechanisms.stages import Measurement, Plan, Price
from dp4sql.noise import gaussian_half_width, half_width

DIGITS = 1000
"""Scales are found to one part in so many, on the side of less noise."""


def reaching(plan: Plan, target: Fraction, policies: Iterable[str]) -> Price:
    """The cheapest price at which each measurement is within `target` in 95 % of answers.

    InvalidParameter where the statement measures something else than counts and sums: how exact a mean
    is, for one, depends on how many rows there are.
    """
    scales: dict[tuple[int, int], Fraction] = {}
    charges = dict.fromkeys(policies, Fraction(0))
    for index, release in plan.releases():
        _check(release.built)
        for i, measurement in enumerate(release.measurements):
            scale = _scale(measurement, target) if measurement.private else Fraction(0)
            scales[index, i] = scale
            for policy in measurement.bounds:
                charges[policy] += measurement.loss(policy, scale)
    return Price(scales, charges)


def _check(built: Iterable[Column]) -> None:
    for column in built:
        if column.agg.function == "sum" and len(column.measurements) > 1:
            raise InternalError("a sum that is put together has no error of its own")
        if not column.agg.function.startswith(("count", "sum")):
            word = column.agg.function.split("_")[0].upper()
            raise InvalidParameter(
                f"dp4sql.target_error is for counts and sums, and the query asks for {word}",
                hint="SET dp4sql.epsilon instead, or ask for the sum and the count that it is made of.",
            )


def _scale(measurement: Measurement, target: Fraction) -> Fraction:
    return _widest(math.floor(target / measurement.quantity.unit), measurement.gaussian)


@lru_cache(maxsize=1024)
def _widest(steps: int, gaussian: bool) -> Fraction:
    """The largest scale whose noise is within `steps` in 95 % of draws, or a little less.

    The noise is within h with a chance that falls as the scale grows, so bisection finds it.
    """
    width = gaussian_half_width if gaussian else half_width
    low, high = Fraction(1, 8), Fraction(steps + 1)
    while high - low > low / DIGITS:
        middle = Fraction(math.floor((low + high) / 2 * DIGITS**2), DIGITS**2)
        if width(middle) <= steps:
            low = middle
        else:
            high = middle
    return 1 / _rounded_up(1 / low)


def _rounded_up(number: Fraction) -> Fraction:
    """With four significant digits, so that prices are short."""
    step = Fraction(10) ** (math.floor(math.log10(number)) - 3)
    return math.ceil(number / step) * step
