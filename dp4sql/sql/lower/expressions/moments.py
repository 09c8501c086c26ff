"""The moment of a statement, and what functions make of constant times.

CURRENT_DATE, NOW() and the like are public constants, fixed once for each statement in the session's time
zone. What is computed from them alone is a constant, too, so that a filter, a bin or a kept answer knows it.
"""

from __future__ import annotations

import contextlib
import datetime
import re
from typing import Final

from sqlglot import exp

from dp4sql.algebra.expr import Expr, Lit
from dp4sql.algebra.times import truncate
from dp4sql.algebra.types import DATE, TIMESTAMP, TIMESTAMPTZ, Type
from dp4sql.errors import Unsupported
from dp4sql.sql.parse import position

_TODAY: Final = re.compile(r"\b(current_date|age)\b", re.IGNORECASE)
_NOW: Final = re.compile(
    r"\b(current_timestamp|localtimestamp|now|transaction_timestamp|statement_timestamp)\b",
    re.IGNORECASE,
)
_ZONED: Final = frozenset({"transaction_timestamp", "statement_timestamp"})


def fixed(sql: str, now: datetime.datetime | None = None) -> datetime.datetime | None:
    """What `sql` may know of `now`: nothing, the day, or the moment. A plan holds as long as that is the same.

    `now` is aware; by default it is the present in UTC. A word in a text or a comment counts as well.
    """
    now = now or datetime.datetime.now(datetime.UTC)
    if _NOW.search(sql):
        return now
    return now.replace(hour=0, minute=0, second=0, microsecond=0) if _TODAY.search(sql) else None


def moment(e: exp.Expr, now: datetime.datetime | None) -> Expr | None:
    """The value of CURRENT_DATE and its kin; None for every other expression."""
    match e:
        case exp.CurrentDate():
            return _known(e, now, DATE)
        case exp.CurrentTimestamp():
            return _known(e, now, TIMESTAMPTZ)
        case exp.Localtimestamp():
            return _known(e, now, TIMESTAMP)
        case exp.Anonymous() if str(e.name).lower() in _ZONED and not e.expressions:
            return _known(e, now, TIMESTAMPTZ)
        case _:
            return None


def _known(e: exp.Expr, now: datetime.datetime | None, type: Type) -> Expr:
    exact = not isinstance(e, exp.Anonymous) and e.this is not None
    if now is None or exact:
        raise Unsupported(
            "the moment is not known here, or not to a number of digits",
            hint="Write CURRENT_TIMESTAMP without digits, or the date or timestamp itself.",
            position=position(e),
        )
    return Lit(converted(now, type), type)


def local(value: datetime.datetime) -> datetime.datetime:
    """A moment by the clock of its zone: the session's for those of this module, UTC for offsets."""
    return value.astimezone(datetime.UTC) if isinstance(value.tzinfo, datetime.timezone) else value


def midnight(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time())


def converted(value: datetime.date, type: Type) -> datetime.date | None:
    """A constant time as another type of time; None where that is left to the engine."""
    with contextlib.suppress(OverflowError):  # The first hours of the year 1 are in no other zone.
        return _converted(value, type)
    return None


def _converted(value: datetime.date, type: Type) -> datetime.date | None:
    if not isinstance(value, datetime.datetime):
        if type == TIMESTAMP:
            return midnight(value)
        return value if type == DATE else None
    if type == DATE:
        return local(value).date()
    if type == TIMESTAMP:
        return local(value).replace(tzinfo=None)
    return value if type == TIMESTAMPTZ and value.tzinfo is not None else None


def truncated(unit: str, value: datetime.date) -> datetime.datetime:
    """DATE_TRUNC of a constant; a date counts as its midnight."""
    whole = local(value) if isinstance(value, datetime.datetime) else midnight(value)
    return truncate(unit, whole.replace(tzinfo=None)).replace(tzinfo=whole.tzinfo)


def part(field: str, value: datetime.date) -> int | None:
    """EXTRACT of a constant; None for fields with a fraction, which are left to the engine."""
    whole = local(value) if isinstance(value, datetime.datetime) else value
    year, week, weekday = whole.isocalendar()
    fields = {
        "year": whole.year,
        "quarter": (whole.month - 1) // 3 + 1,
        "month": whole.month,
        "week": week,
        "day": whole.day,
        "dow": weekday % 7,
        "isodow": weekday,
        "isoyear": year,
        "doy": whole.timetuple().tm_yday,
    }
    if isinstance(whole, datetime.datetime):
        fields |= {"hour": whole.hour, "minute": whole.minute}
    return fields.get(field)
