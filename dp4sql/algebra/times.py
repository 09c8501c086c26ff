"""Arithmetic of dates and timestamps as Postgres has it, on single values."""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Mapping
from typing import Final

from dp4sql.algebra.expr import Interval_

MONTHS: Final[Mapping[str, int]] = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
"""What DATE_TRUNC cuts to that has no fixed length, in months."""
MICROS: Final[Mapping[str, int]] = {
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 7 * 86_400_000_000,
}
"""The other units, in microseconds."""
_MONDAY: Final = datetime.datetime(1, 1, 1)


def truncate(unit: str, moment: datetime.datetime) -> datetime.datetime:
    """DATE_TRUNC in the moment's own zone. Decades begin with years that 10 divides; before the first is the year 1."""
    if unit in MICROS:
        since = moment - _MONDAY
        return moment - since % datetime.timedelta(microseconds=MICROS[unit])
    months = moment.year * 12 + moment.month - 1
    year, month = divmod(months - months % MONTHS[unit], 12)
    return datetime.datetime(max(1, year), month + 1, 1)


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
