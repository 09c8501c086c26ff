"""Ranges of dates and timestamps, in days since 1970-01-01, through functions that keep their order."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Final, TypeAlias

from dp4sql.algebra.expr import Expr, Interval_, Lit
from dp4sql.algebra.times import shift, truncate

Range: TypeAlias = tuple[Fraction | None, Fraction | None]
EPOCH: Final = datetime.date(1970, 1, 1)
_START: Final = datetime.datetime(1970, 1, 1)
_MICROSECOND: Final = datetime.timedelta(microseconds=1)
_DAY: Final = 86_400_000_000
_PERIODS: Final = {"extract_month": 12, "extract_quarter": 4}


def days(value: datetime.date) -> Fraction:
    """A timestamp with time zone counts in UTC."""
    if not isinstance(value, datetime.datetime):
        return Fraction((value - EPOCH).days)
    # Not as a moment in UTC, which the first hours of the year 1 may have none of.
    since = value.replace(tzinfo=None) - _START - (value.utcoffset() or datetime.timedelta())
    return Fraction(since // _MICROSECOND, _DAY)


def truncated(unit: Expr, a: Range) -> Range:
    """DATE_TRUNC."""
    if not isinstance(unit, Lit):
        return (None, None)
    return _through(partial(truncate, str(unit.value)), a)


def shifted(by: Expr, a: Range) -> Range:
    """Plus a constant interval: later moments stay later, or become the same."""
    if not isinstance(by, Lit) or not isinstance(by.value, Interval_):
        return (None, None)
    interval = by.value

    def moved(moment: datetime.datetime) -> datetime.datetime:
        found = shift(moment, interval, 1)
        assert isinstance(found, datetime.datetime)
        return found

    return _through(moved, a)


def part_range(op: str, a: Range, whole: tuple[int, int]) -> Range:
    """A part of a date: all it can be, or the months and quarters of a range within one year."""
    low, high = (_moment(end, math.floor) for end in a)
    if op not in _PERIODS or low is None or high is None or low.year != high.year:
        return (Fraction(whole[0]), Fraction(whole[1]))
    months = 12 // _PERIODS[op]
    return (Fraction((low.month - 1) // months + 1), Fraction((high.month - 1) // months + 1))


def year_range(a: Range) -> Range:
    low, high = (_moment(end, math.floor) for end in a)
    return (
        None if low is None else Fraction(low.year),
        None if high is None else Fraction(high.year),
    )


def epoch_range(a: Range) -> Range:
    low, high = (None if end is None else end * 86_400 for end in a)
    return (low, high)


def _through(change: Callable[[datetime.datetime], datetime.datetime], a: Range) -> Range:
    low, high = _moment(a[0], math.floor), _moment(a[1], math.ceil)
    return (_days(change, low), _days(change, high))


def _days(
    change: Callable[[datetime.datetime], datetime.datetime], moment: datetime.datetime | None
) -> Fraction | None:
    """None where the result is no date, and is NULL."""
    try:
        return None if moment is None else days(change(moment))
    except (ValueError, OverflowError):
        return None


def _moment(point: Fraction | None, rounded: Callable[[Fraction], int]) -> datetime.datetime | None:
    try:
        return None if point is None else _START + rounded(point * _DAY) * _MICROSECOND
    except OverflowError:
        return None
