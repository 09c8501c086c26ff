"""Exact fractions, and an engine's values, as the Python values of Postgres types."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import cast

from dp4sql.algebra.types import FLOATS, INTEGERS, LIMITS, Element, Type, Value
from dp4sql.errors import NumberOutOfRange
from dp4sql.mechanisms.measure import decimal


def number(value: Fraction, type: Type, digits: int | None = None) -> Value:
    """A Fraction as a Python value of a Postgres type."""
    if type.kind in INTEGERS:
        return int(value)
    if type.kind in FLOATS:
        return float(value)
    if digits is None:
        return decimal(value)
    scaled = round(value * 10**digits)
    return Decimal(scaled).scaleb(-digits)


def fit(value: Value, type: Type) -> Value:
    """An engine's value as the Python type of `type`: exact numbers stay exact."""
    if value is None:
        return None
    if type.array and isinstance(value, list | tuple):
        single = replace(type, array=False)
        return tuple(cast(Element, fit(part, single)) for part in value)
    if type.kind == "numeric" and not isinstance(value, Decimal):
        return _meant(value) if isinstance(value, float) else Decimal(str(value))
    if type.kind in INTEGERS:
        return whole_number(value, type)
    if type.kind in FLOATS and not isinstance(value, float):
        return float(value)  # type: ignore[arg-type]
    if type.kind == "character" and isinstance(value, str):
        return value.rstrip(" ")
    return value


def _meant(value: float) -> Decimal:
    """4.94 for 4.9399999999999995: numbers are computed in binary where their digits are not known."""
    short = Decimal(f"{value:.15g}")
    near = short.is_finite() and abs(float(short) - value) <= 2 * math.ulp(value)
    return short if near else Decimal(repr(value))


def whole_number(value: Value, type: Type) -> int:
    """NumberOutOfRange where the type has no such number."""
    whole = int(value)  # type: ignore[arg-type]
    if not -LIMITS[type.kind] <= whole < LIMITS[type.kind]:
        raise NumberOutOfRange(
            f"{type.kind} out of range",
            hint="Cast a part of the expression to bigint or numeric.",
        )
    return whole
