"""Interval arithmetic and NULL analysis of scalar expressions (sensitivity.md section 4, ranges).

A `Range` is (lowest, highest), each None where nothing is known. Dates and timestamps count in days since
1970-01-01. A range speaks of the non-NULL values alone.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from dp4sql.algebra.digits import fits, width
from dp4sql.algebra.expr import Call, Case, Cast, Col, Constant, Expr, In, Lit, Over, Scalar
from dp4sql.algebra.functions import FUNCTIONS, PARTS
from dp4sql.algebra.types import (
    FLOATS,
    INTEGERS,
    LIMITS,
    NUMBERS,
    TEXTS,
    TIMES,
    Type,
    Value,
)
from dp4sql.infer.moments import (
    Range,
    days,
    epoch_range,
    part_range,
    shifted,
    truncated,
    year_range,
)

ANY: Range = (None, None)


@dataclass(frozen=True, slots=True)
class Source:
    """The base column that a view's column passes through unchanged."""

    alias: str
    table: str
    column: str


@dataclass(frozen=True, slots=True)
class Fact:
    """What holds of a column in every admissible database."""

    type: Type
    nullable: bool
    range: Range = ANY
    source: Source | None = None


Columns: TypeAlias = Mapping[str, Fact]


def number(value: Value) -> Fraction | None:
    """A literal as the number that ranges count in; None for text, NULL and other kinds."""
    match value:
        case bool():
            return Fraction(int(value))
        case int() | Decimal() | Fraction():
            return Fraction(value)
        case float() if math.isfinite(value):
            return Fraction(value)
        case datetime.date():
            return days(value)
        case _:
            return None


def holds(type: Type, value: Value) -> bool:
    """Whether a column of `type` can have this very value."""
    if type.kind in TEXTS and isinstance(value, str):
        return type.length is None or len(value) <= type.length
    if type.kind not in INTEGERS | {"numeric"}:
        return True
    point = number(value)
    if point is None:
        return False
    if type.kind == "numeric" and type.precision is None:
        return True
    most = LIMITS[type.kind] if type.precision is None else 10**type.precision
    steps: Fraction = point * 10 ** (type.scale or 0)
    return steps.denominator == 1 and -most <= steps < most


def hull(*ranges: Range) -> Range:
    lows = [low for low, _ in ranges]
    highs = [high for _, high in ranges]
    return (
        None if None in lows else min(low for low in lows if low is not None),
        None if None in highs else max(high for high in highs if high is not None),
    )


def meet(a: Range, b: Range) -> Range:
    lows = [low for low in (a[0], b[0]) if low is not None]
    highs = [high for high in (a[1], b[1]) if high is not None]
    low, high = max(lows, default=None), min(highs, default=None)
    if low is not None and high is not None and low > high:
        return (low, low)
    return (low, high)


def add(a: Range, b: Range) -> Range:
    return (
        None if a[0] is None or b[0] is None else a[0] + b[0],
        None if a[1] is None or b[1] is None else a[1] + b[1],
    )


def negate(a: Range) -> Range:
    return (None if a[1] is None else -a[1], None if a[0] is None else -a[0])


def known(*ranges: Range) -> bool:
    return all(low is not None and high is not None for low, high in ranges)


def multiply(a: Range, b: Range) -> Range:
    if not known(a, b):
        return ANY
    products = [x * y for x in a for y in b if x is not None and y is not None]
    return (min(products), max(products))


def divide(a: Range, b: Range, integer: bool) -> Range:
    """Quotients for every non-zero divisor; division by zero yields NULL, which a range ignores."""
    if not known(a):
        return ANY
    low, high = b
    if integer:
        reach = max(abs(x) for x in a if x is not None)
        if low is not None and low >= 1 and a[0] is not None and a[0] >= 0:
            top = math.floor(a[1] / low) if a[1] is not None else None
            bottom = math.floor(a[0] / high) if high is not None else 0
            return (Fraction(bottom), None if top is None else Fraction(top))
        return (Fraction(-math.floor(reach)), Fraction(math.floor(reach)))
    if low is None or high is None or low <= 0 <= high:
        return ANY
    return multiply(a, (1 / high, 1 / low))


def rounded(a: Range, step: int = 1) -> Range:
    """Covers floor, ceiling, round and truncation to multiples of `step`."""
    return (
        None if a[0] is None else Fraction(math.floor(a[0] / step) * step),
        None if a[1] is None else Fraction(math.ceil(a[1] / step) * step),
    )


def _rounding_step(args: tuple[Expr, ...]) -> int:
    """ROUND(x, -2) goes to hundreds."""
    places = args[1].value if len(args) > 1 and isinstance(args[1], Lit) else 0
    return 10 ** max(0, -places) if isinstance(places, int) else 1


def absolute(a: Range) -> Range:
    if not known(a):
        return (Fraction(0), None)
    ends = [abs(x) for x in a if x is not None]
    inside = a[0] is not None and a[1] is not None and a[0] <= 0 <= a[1]
    return (Fraction(0) if inside else min(ends), max(ends))


def range_of(expr: Expr, columns: Columns) -> Range:
    """The range of `expr` when each column stays within its own."""
    match expr:
        case Col(id):
            return columns[id].range
        case Lit(value):
            point = number(value)
            return ANY if point is None else (point, point)
        case Case(whens, default):
            branches = [then for _, then in whens] + [default]
            return hull_of(branches, [range_of(branch, columns) for branch in branches])
        case Cast(arg, type):
            return cast_range(range_of(arg, columns), arg.type, type)
        case Call(op, args, type):
            return call_range(op, args, type, columns)
        case In() | Scalar() | Constant() | Over():
            return ANY


def hull_of(branches: Sequence[Expr], ranges: Sequence[Range]) -> Range:
    """NULL branches add nothing."""
    found = [
        range
        for branch, range in zip(branches, ranges, strict=True)
        if not (isinstance(branch, Lit) and branch.value is None)
    ]
    return hull(*found) if found else ANY


def cast_range(a: Range, source: Type, target: Type) -> Range:
    if source.kind == "boolean" and target.kind in NUMBERS:
        return (Fraction(0), Fraction(1))
    if target.kind in INTEGERS and source.kind in NUMBERS:
        return rounded(a)
    if target.kind in NUMBERS and source.kind in NUMBERS:
        if target.kind == "numeric" and target.scale is not None:
            step = Fraction(1, 10**target.scale)
            return (None if a[0] is None else a[0] - step, None if a[1] is None else a[1] + step)
        return widened(a) if target.kind in FLOATS else a
    if target.kind in TIMES and source.kind in TIMES:
        return rounded(a) if target.kind == "date" else a
    return ANY


def widened(a: Range) -> Range:
    """A float may round away from zero by a part in 2**23 (real) at most."""
    slack = Fraction(1, 2**22)
    low, high = a
    return (
        None if low is None else low - abs(low) * slack,
        None if high is None else high + abs(high) * slack,
    )


def call_range(op: str, args: tuple[Expr, ...], type: Type, columns: Columns) -> Range:
    ranges = [range_of(arg, columns) for arg in args]
    match op:
        case "+" | "date+days":
            return add(ranges[0], ranges[1])
        case "-" | "date-days" | "date-date":
            return add(ranges[0], negate(ranges[1]))
        case "*" if args[0] == args[1]:
            low, high = absolute(ranges[0])
            return multiply((low, high), (low, high)) if known((low, high)) else (Fraction(0), None)
        case "*":
            return multiply(ranges[0], ranges[1])
        case "/":
            return divide(ranges[0], ranges[1], type.kind in INTEGERS)
        case "%":
            return modulo_range(ranges[0], ranges[1])
        case "neg":
            return negate(ranges[0])
        case "abs":
            return absolute(ranges[0])
        case "floor" | "ceil" | "trunc":
            return rounded(ranges[0])
        case "round":
            return rounded(ranges[0], _rounding_step(args))
        case "sign":
            return (Fraction(-1), Fraction(1))
        case "sqrt" | "ln" | "log10" | "exp":
            return rising_range(op, ranges[0])
        case "coalesce":
            return hull_of(args, ranges)
        case "nullif":
            return ranges[0]
        case "least" | "greatest":
            return extreme_range(op, args, ranges, columns)
        case "held in":
            return hull_of(args[1:], ranges[1:])
        case "extract_year":
            return year_range(ranges[0])
        case "extract_isoyear":
            # The first and the last days of a year may count to its neighbours.
            return add(year_range(ranges[0]), (Fraction(-1), Fraction(1)))
        case "length" | "position":
            return (Fraction(0), None)
        case "ascii":
            return (Fraction(0), Fraction(0x10FFFF))
        case "date_trunc":
            return truncated(args[0], ranges[1])
        case "time+interval":
            return shifted(args[1], ranges[0])
        case "extract_epoch":
            return epoch_range(ranges[0])
        case _ if op in PARTS:
            return part_range(op, ranges[0], PARTS[op])
        case _:
            return ANY


_RISING: Mapping[str, tuple[Callable[[float], float], Fraction, Fraction]] = {
    "sqrt": (math.sqrt, Fraction(0), Fraction(10) ** 300),
    "ln": (math.log, Fraction(1, 10**300), Fraction(10) ** 300),
    "log10": (math.log10, Fraction(1, 10**300), Fraction(10) ** 300),
    "exp": (math.exp, Fraction(-700), Fraction(700)),
}
"""Functions that grow with their argument, each with the ends between which this takes them."""


def rising_range(op: str, a: Range) -> Range:
    """Between the values at both ends, and a little more: engines differ in the last digits."""
    function, least, most = _RISING[op]
    found = [
        None if end is None or not least <= end <= most else Fraction(function(float(end)))
        for end in a
    ]
    if op in ("exp", "sqrt") and found[0] is None:
        found[0] = Fraction(0)
    return widened((found[0], found[1]))


def modulo_range(a: Range, b: Range) -> Range:
    if not known(b):
        return a if known(a) and min(x for x in a if x is not None) >= 0 else ANY
    reach = max(abs(x) for x in b if x is not None)
    low = Fraction(0) if a[0] is not None and a[0] >= 0 else -reach
    high = Fraction(0) if a[1] is not None and a[1] <= 0 else reach
    return (low, high)


def extreme_range(op: str, args: tuple[Expr, ...], ranges: list[Range], columns: Columns) -> Range:
    """LEAST and GREATEST skip NULLs, so only arguments that are never NULL tighten the far end."""
    whole = hull(*ranges)
    firm = [r for arg, r in zip(args, ranges, strict=True) if not nullable(arg, columns)]
    if op == "least":
        highs = [high for _, high in firm if high is not None]
        return (whole[0], min(highs, default=whole[1]))
    lows = [low for low, _ in firm if low is not None]
    return (max(lows, default=whole[0]), whole[1])


def nullable(expr: Expr, columns: Columns) -> bool:
    """Whether `expr` can be NULL, division by zero and failed casts included."""
    match expr:
        case Col(id):
            return columns[id].nullable
        case Lit(value):
            return value is None
        case Case(whens, default):
            return nullable(default, columns) or any(nullable(then, columns) for _, then in whens)
        case Cast(arg, type):
            roomy = type.kind not in INTEGERS or arg.type.kind not in INTEGERS or fits(arg)
            return nullable(arg, columns) or not lossless(arg.type, type) or not roomy
        case In(arg):
            return nullable(arg, columns)
        case Call(op, args):
            return call_nullable(op, args, columns)
        case Scalar() | Constant() | Over():
            return True


WIDER: Mapping[str, frozenset[str]] = {
    "boolean": frozenset({"smallint", "integer", "bigint", "text"}),
    "smallint": frozenset({"integer", "bigint", "real", "double precision", "text"}),
    "integer": frozenset({"bigint", "double precision", "text"}),
    "bigint": frozenset({"double precision", "text"}),
    "numeric": frozenset({"text"}),
    "real": frozenset({"double precision", "text"}),
    "double precision": frozenset({"text"}),
    "date": frozenset({"text"}),
    "character varying": frozenset({"text"}),
    "character": frozenset({"text"}),
    "uuid": frozenset({"text"}),
}


def lossless(source: Type, target: Type) -> bool:
    """Conversions that can never fail and so never yield a NULL of their own."""
    if source.kind in TEXTS and target.kind in TEXTS:
        return True
    if source.kind == target.kind:
        return target.precision is None
    if source.kind == "numeric" and target.kind == "double precision":
        return source.precision is not None or source.scale is not None
    if target.kind == "numeric":
        return source.kind in INTEGERS and target.precision is None
    return target.kind in WIDER.get(source.kind, frozenset())


def _may_be_zero(divisor: Expr, columns: Columns) -> bool:
    """By the divisor's own form alone. A declared range is no help: it is enforced where values are
    summed, not where they divide, and a zero beyond it would make a NULL that a count could show."""
    unlimited = {id: replace(fact, range=ANY) for id, fact in columns.items()}
    low, high = range_of(divisor, unlimited)
    return (low is None or low <= 0) and (high is None or high >= 0)


def _may_overflow(args: tuple[Expr, ...]) -> bool:
    """Arithmetic in double precision is NULL beyond what it can hold; exact numbers have room."""
    return any(width(arg) is None for arg in args)


def call_nullable(op: str, args: tuple[Expr, ...], columns: Columns) -> bool:
    match op:
        case "is null" | "is true" | "is false" | "is distinct":
            return False
        case "coalesce" | "least" | "greatest":
            return all(nullable(arg, columns) for arg in args)
        case "nullif":
            return True
        case "held in":
            return nullable(args[0], columns) and nullable(args[3], columns)
        case "+" | "-" | "*":
            return _may_overflow(args) or any(nullable(arg, columns) for arg in args)
        case "/" | "%":
            unsafe = _may_be_zero(args[1], columns) or _may_overflow(args)
            return unsafe or any(nullable(arg, columns) for arg in args)
        case _:
            return FUNCTIONS[op].may_fail or any(nullable(arg, columns) for arg in args)
