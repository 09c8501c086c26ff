"""Literals: text to typed values, and interval arithmetic on constants."""

from __future__ import annotations

import calendar
import datetime
import re
import uuid
from decimal import Decimal, InvalidOperation

from dp4sql.algebra.expr import Interval_
from dp4sql.algebra.types import (
    BIGINT,
    FLOATS,
    INTEGER,
    INTEGERS,
    NUMERIC,
    TEXTS,
    Type,
    Value,
)
from dp4sql.errors import InvalidText
from dp4sql.sql.intervals import interval


def number_literal(text: str) -> tuple[Value, Type]:
    """A numeric literal and the type Postgres gives it."""
    if re.fullmatch(r"\d+", text):
        value = int(text)
        if value < 2**31:
            return value, INTEGER
        return (value, BIGINT) if value < 2**63 else (Decimal(value), NUMERIC)
    return Decimal(text), NUMERIC


_TRUE = {"t", "true", "y", "yes", "on", "1"}
_FALSE = {"f", "false", "n", "no", "off", "0"}


def read(text: str, type: Type) -> Value:
    """`text` as a value of `type`; InvalidText (22P02) when it is none."""
    try:
        return _read(text.strip() if type.kind not in TEXTS else text, type)
    except (ValueError, InvalidOperation):
        raise InvalidText(
            f'invalid input syntax for type {type.kind}: "{text}"',
            hint=_EXAMPLES.get(type.kind),
        ) from None


_EXAMPLES = {
    "date": "Dates are written '1995-03-15'.",
    "timestamp without time zone": "Timestamps are written '1995-03-15 10:30:00'.",
    "interval": "Intervals are written '3 months', '1 year 2 days' or '90 days'.",
}


def _read(text: str, type: Type) -> Value:
    kind = type.kind
    if kind == "character":
        return text.rstrip(" ")  # blanks at its end mean nothing, and are not compared
    if kind in TEXTS or kind == "unknown":
        return text
    if kind in INTEGERS:
        return int(text)
    if kind == "numeric":
        return Decimal(text)
    if kind in FLOATS:
        return float(text)
    if kind == "boolean":
        return _boolean(text.lower())
    if kind == "date":
        return datetime.date.fromisoformat(text[:10])
    if kind == "uuid":
        return uuid.UUID(text)
    if kind == "interval":
        return interval(text)  # type: ignore[return-value]
    return datetime.datetime.fromisoformat(text)


def _boolean(text: str) -> bool:
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise ValueError


def shift(start: datetime.date, by: Interval_, sign: int) -> datetime.date | datetime.datetime:
    """Date or timestamp plus an interval, months clamped to the month's last day, as Postgres does.

    A date stays a date while the interval has whole days only: it then compares with dates as the
    timestamp at midnight would.
    """
    months = start.year * 12 + start.month - 1 + sign * by.months
    year, month = divmod(months, 12)
    day = min(start.day, calendar.monthrange(year, month + 1)[1])
    moved = start.replace(year=year, month=month + 1, day=day) + datetime.timedelta(
        days=sign * by.days
    )
    if by.micros and not isinstance(moved, datetime.datetime):
        moved = datetime.datetime.combine(moved, datetime.time())
    return moved + sign * datetime.timedelta(microseconds=by.micros) if by.micros else moved
