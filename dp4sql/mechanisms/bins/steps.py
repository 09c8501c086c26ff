"""Timestamps as bins: in steps of public size, where a key tells no moments apart within a step."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from dp4sql.algebra.expr import Call, Cast, Col, Expr, Interval_, Lit, children, reads
from dp4sql.algebra.nodes import Series
from dp4sql.algebra.times import MICROS, MONTHS
from dp4sql.algebra.types import TIMES, Type
from dp4sql.infer.moments import Range, days

DAY: Final = MICROS["day"]
_TIMED: Final = {"hour": MICROS["hour"], "minute": MICROS["minute"]}
_DATED: Final = frozenset({"year", "quarter", "month", "week", "day", "dow", "isodow", "doy"})


def is_stepped(type: Type) -> bool:
    return type.kind in TIMES and type.kind != "date"


def grain(expr: Expr, leaf: str) -> int | None:
    """The longest step, in microseconds, such that all moments of one give `expr` the same value; days at most.
    None where single moments matter."""
    if leaf not in reads(expr):
        return DAY
    step = _step(expr)
    moved = None if step is None else _moved(_inner(expr), leaf)
    if step is not None and moved is not None:
        return math.gcd(step, moved)
    if isinstance(expr, Col):
        return None
    found = [grain(part, leaf) for part in children(expr)]
    return math.gcd(*(g for g in found if g)) if all(found) else None


def _step(expr: Expr) -> int | None:
    """Of a function that cuts a moment to days or parts of them."""
    match expr:
        case Call("date_trunc", (Lit(str() as unit), _)):
            return DAY if unit in MONTHS or unit == "week" else MICROS[unit]
        case Call(op, (_,)) if op.startswith("extract_"):
            part = op.removeprefix("extract_")
            return DAY if part in _DATED else _TIMED.get(part)
        case Cast(_, type) if type.kind == "date":
            return DAY
        case _:
            return None


def _inner(expr: Expr) -> Expr:
    return children(expr)[-1]


def _moved(expr: Expr, leaf: str) -> int | None:
    """By how much of a day `expr` is the moment `leaf` moved by constants; None where it is something else."""
    match expr:
        case Col(id) if id == leaf:
            return 0
        case Cast(arg, type) if is_stepped(type) and is_stepped(arg.type):
            return _moved(arg, leaf)
        case Call("time+interval", (arg, Lit(value))) if is_stepped(arg.type):
            before = _moved(arg, leaf)
            if before is None or not isinstance(value, Interval_):
                return None
            return math.gcd(before, value.micros)
        case _:
            return None


def narrowed(span: Range, leaf: str, conditions: Iterable[Expr]) -> Range:
    """The range where every row meets `conditions`, comparisons with constants among them."""
    low, high = span
    for part in conditions:
        match part:
            case Call(op, (Col(id), Lit(datetime.date() as value))) if id == leaf:
                point = days(value)
            case _:
                continue
        least = Fraction(1, DAY) if op in ("<", ">") else Fraction(0)
        if op in ("=", ">", ">="):
            low = point + least if low is None else max(low, point + least)
        if op in ("=", "<", "<="):
            high = point - least if high is None else min(high, point - least)
    return low, high


def stepped(leaf: str, type: Type, span: Range, step: int) -> Series | None:
    """The beginnings of the steps that `span` meets; None where it has no ends, or lies beyond the calendar."""
    low, high = span
    if low is None or high is None:
        return None
    first, last = (math.floor(end * DAY / step) for end in (low, high))
    return Series(leaf, type, first, max(first, last), step)
