"""generate_series and unnest in FROM: constants as rows, such as the months that a report has to show."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from dp4sql.algebra.expr import Interval_, Lit
from dp4sql.algebra.times import shift
from dp4sql.algebra.types import BIGINT, INTEGER, INTERVAL, TIMESTAMP, Type, Value
from dp4sql.errors import InvalidParameter, Unsupported
from dp4sql.sql.parse import position

if TYPE_CHECKING:
    from dp4sql.sql.lower.expressions import Expressions

MOST: Final = 10_000


def is_series(e: exp.Expr) -> bool:
    return isinstance(e.this, exp.ExplodingGenerateSeries | exp.GenerateSeries)


def series(e: exp.Expr, lowering: Expressions) -> tuple[Type, tuple[Value, ...]]:
    """The type and the values of generate_series(start, stop, step)."""
    call = e.this
    start, stop, step = (
        None if call.args.get(key) is None else lowering.lower(call.args[key])
        for key in ("start", "end", "step")
    )
    like = start.type if isinstance(start, Lit) and start.type.kind != "unknown" else TIMESTAMP
    bounds = [lowering.coerce(x, like) for x in (start, stop) if x is not None]
    by = lowering.coerce(step, INTERVAL) if step is not None else Lit(1, INTEGER)
    given = [part.value for part in (*bounds, by) if isinstance(part, Lit)]
    if len(given) != 3:
        raise Unsupported(
            "generate_series takes constants only",
            hint="For instance generate_series(1, 10), or "
            "generate_series(DATE '2024-01-01', DATE '2024-12-01', INTERVAL '1 month').",
            position=position(call),
        )
    return _typed(given, call)


def _typed(given: list[Value], at: exp.Expr) -> tuple[Type, tuple[Value, ...]]:
    first, last, by = given
    if isinstance(first, int) and isinstance(last, int) and isinstance(by, int) and by:
        type = BIGINT if max(abs(first), abs(last)) >= 2**31 else INTEGER
        return type, _listed(iter(range(first, last + (1 if by > 0 else -1), by)), at)
    if not isinstance(first, datetime.date) or not isinstance(last, datetime.date):
        raise _neither(at)
    if not isinstance(by, Interval_):
        raise _neither(at)
    return TIMESTAMP, _listed(_moments(_moment(first), _moment(last), by, at), at)


def _neither(at: exp.Expr) -> Unsupported:
    return Unsupported(
        "generate_series goes from a whole number to another, or from a date to another by an interval",
        hint="For instance generate_series(DATE '2024-01-01', DATE '2024-12-01', INTERVAL '1 month').",
        position=position(at),
    )


def _moment(value: datetime.date) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=None)
    return datetime.datetime(value.year, value.month, value.day)


def _moments(
    first: datetime.datetime, last: datetime.datetime, by: Interval_, at: exp.Expr
) -> Iterator[datetime.datetime]:
    second = shift(first, by, 1)
    if not isinstance(second, datetime.datetime) or second == first:
        raise InvalidParameter("step size cannot equal zero", position=position(at))
    up, place = second > first, first
    while place <= last if up else place >= last:
        yield place
        moved = shift(place, by, 1)
        assert isinstance(moved, datetime.datetime)
        place = moved


def _listed(values: Iterator[Value], at: exp.Expr) -> tuple[Value, ...]:
    found: list[Value] = []
    for value in values:
        if len(found) == MOST:
            raise Unsupported(
                f"generate_series of more than {MOST:,} rows is not supported",
                hint="Take a larger step.",
                position=position(at),
            )
        found.append(value)
    return tuple(found)
