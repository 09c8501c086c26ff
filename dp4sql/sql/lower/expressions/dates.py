"""Times that are put together from others: spans between two and their parts, ages, dates from numbers."""

from __future__ import annotations

import datetime
import zoneinfo
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeGuard

from sqlglot import exp

from dp4sql.algebra.expr import Call, Case, Cast, Expr, Interval_, Lit
from dp4sql.algebra.types import (
    BOOLEAN,
    DATE,
    INTEGER,
    INTERVAL,
    NUMERIC,
    TIMES,
    TIMESTAMP,
    TIMESTAMPTZ,
    Type,
)
from dp4sql.errors import InvalidText, NumberOutOfRange, SyntaxError_, Unsupported
from dp4sql.sql.lower.expressions.composed import PIECE
from dp4sql.sql.lower.expressions.moments import midnight
from dp4sql.sql.lower.expressions.types import is_integer
from dp4sql.sql.parse import position

if TYPE_CHECKING:
    from dp4sql.sql.lower.expressions import Expressions

WHOLE: Final = Type("numeric", None, 0)
READ: Final = {
    "YYYY": "%Y",
    "MM": "%m",
    "MON": "%b",
    "MONTH": "%B",
    "DD": "%d",
    "DDD": "%j",
    "HH24": "%H",
    "MI": "%M",
    "SS": "%S",
}
UTC: Final = frozenset({"utc", "gmt", "etc/utc", "etc/gmt", "z", "zulu"})


class Dates:
    """Lowers what has to do with spans of time; `ex` lowers its parts."""

    def __init__(self, ex: Expressions) -> None:
        self.ex = ex

    # ------------------------------------------------------------ spans

    def part(self, field: str, span: Call, at: exp.Expr) -> Expr:
        """EXTRACT of what is no time but a span or an age."""
        if span.op == "age":
            a, b = span.args
            return self._part_of_age(field, a, b, at)
        a, b = span.args
        return self._part(field, self._seconds(a, b, at), at)

    def _seconds(self, a: Expr, b: Expr, at: exp.Expr) -> Expr:
        return self.ex.arithmetic("-", _epoch(a), _epoch(b), at)

    def _part(self, field: str, seconds: Expr, at: exp.Expr) -> Expr:
        if field == "epoch":
            return _rounded(seconds)
        if field == "day":
            days = self.ex.arithmetic("/", seconds, Lit(86400, INTEGER), at)
            return Call("trunc", (days,), WHOLE)
        raise Unsupported(
            f'EXTRACT field "{field}" of a span of time is not supported',
            hint="A span of two timestamps has day and epoch, all of it in seconds: EXTRACT(EPOCH FROM a - b) / 3600 "
            "counts hours. EXTRACT(YEAR FROM AGE(a, b)) counts whole years.",
            position=position(at),
        )

    def compared(self, op: str, left: Expr, right: Expr, at: exp.Expr) -> Expr:
        """a - b > INTERVAL '1 day', by the seconds of both."""
        return self.ex.compare(op, self._length(left, at), self._length(right, at), at)

    def _length(self, span: Expr, at: exp.Expr) -> Expr:
        """A span in seconds, as Postgres compares them: months have 30 days."""
        span = self.ex.coerce(span, INTERVAL)
        if isinstance(span, Call) and span.op == "span":
            a, b = span.args
            return _rounded(self._seconds(a, b, at))
        if not isinstance(span, Lit) or not isinstance(span.value, Interval_):
            raise Unsupported(
                "a span of time is compared with constant intervals and other spans only",
                hint="For instance a - b > INTERVAL '1 day', or EXTRACT(YEAR FROM AGE(a, b)) >= 18.",
                position=position(at),
            )
        by = span.value
        micros = (by.months * 30 + by.days) * 86_400_000_000 + by.micros
        return Lit(Decimal(micros) / 1_000_000, NUMERIC)

    # ------------------------------------------------------------ ages

    def age(self, e: exp.Anonymous) -> Expr:
        """AGE(a, b); AGE(b) counts until today."""
        times = [self.ex.coerce(self.ex.lower(time), TIMESTAMP) for time in e.expressions]
        if len(times) == 1:
            times.insert(0, self.ex.lower(exp.CurrentDate()))
        if len(times) != 2:
            raise SyntaxError_("age takes one or two times", position=position(e))
        for time in times:
            self.ex.need(
                time.type.kind in TIMES, f"function age({time.type.kind}) does not exist", e
            )
        return Call("age", tuple(times), INTERVAL)

    def _part_of_age(self, field: str, a: Expr, b: Expr, at: exp.Expr) -> Expr:
        """Whole years, and whole months beyond them."""
        if field not in ("year", "month"):
            raise Unsupported(
                f'EXTRACT field "{field}" of AGE is not supported',
                hint="AGE has year and month here; EXTRACT(DAY FROM a - b) counts days between timestamps.",
                position=position(at),
            )
        months = self._months(a, b, at)
        twelve = Lit(12, INTEGER)
        found = self.ex.arithmetic("/" if field == "year" else "%", months, twelve, at)
        return self.ex.cast(found, WHOLE, at)

    def _months(self, a: Expr, b: Expr, at: exp.Expr) -> Expr:
        """Whole months from b to a. A month is whole where the later time is as far into its own month."""

        def difference(part: str) -> Expr:
            return self.ex.arithmetic("-", _number(part, a), _number(part, b), at)

        one, none = Lit(1, INTEGER), Lit(0, INTEGER)
        into = [self._into_month(time, at) for time in (a, b)]
        short = Case(((Call("<", (into[0], into[1]), BOOLEAN), one),), none, INTEGER)
        long = Case(((Call(">", (into[0], into[1]), BOOLEAN), Lit(-1, INTEGER)),), none, INTEGER)
        forward = self.ex.compare(">=", a, b, at)
        years = self.ex.arithmetic("*", Lit(12, INTEGER), difference("year"), at)
        months = self.ex.arithmetic("+", years, difference("month"), at)
        return self.ex.arithmetic("-", months, Case(((forward, short),), long, INTEGER), at)

    def _into_month(self, time: Expr, at: exp.Expr) -> Expr:
        start_type = TIMESTAMP if time.type == DATE else time.type
        start = Call("date_trunc", (Lit("month", Type("text")), time), start_type)
        return self._seconds(time, start, at)

    # ------------------------------------------------------------ dates from their parts

    def make_date(self, e: exp.Anonymous) -> Expr:
        parts = [self.ex.coerce(self.ex.lower(part), INTEGER) for part in e.expressions]
        for part in parts:
            self.ex.need(is_integer(part.type), "make_date takes three integers", e)
        self.ex.need(len(parts) == 3, "make_date takes a year, a month and a day", e)
        given = [part.value for part in parts if isinstance(part, Lit)]
        if len(given) < 3:
            return Call("make_date", tuple(parts), DATE)
        try:
            return Lit(datetime.date(*(int(str(value)) for value in given)), DATE)
        except (ValueError, OverflowError):
            raise NumberOutOfRange("date field value out of range", position=position(e)) from None

    def read(self, e: exp.StrToDate | exp.StrToTime) -> Expr:
        """TO_DATE and TO_TIMESTAMP of constants."""
        type = DATE if isinstance(e, exp.StrToDate) else TIMESTAMPTZ
        text, format = (self.ex.lower(e.args[part]) for part in ("this", "format"))
        if not all(
            isinstance(part, Lit) and isinstance(part.value, str) for part in (text, format)
        ):
            raise Unsupported(
                "TO_DATE and TO_TIMESTAMP take constants: a text from data may be no date",
                hint="Compare texts with texts, or cast them where the data lies in DuckDB: x::date.",
                position=position(e),
            )
        given, words = (str(part.value) for part in (text, format) if isinstance(part, Lit))
        try:
            found = datetime.datetime.strptime(given, _directives(words, e))
        except ValueError:
            raise InvalidText(
                f'invalid value "{given}" for this format', position=position(e)
            ) from None
        return (
            Lit(found.date(), DATE)
            if type == DATE
            else Lit(found.replace(tzinfo=datetime.UTC), type)
        )

    # ------------------------------------------------------------ zones and multiples

    def at_zone(self, e: exp.AtTimeZone) -> Expr:
        """AT TIME ZONE: of constants in any zone, of columns in UTC, by which engines keep them."""
        time, zone = self.ex.coerce(self.ex.lower(e.this), TIMESTAMP), self.ex.lower(e.args["zone"])
        self.ex.need(time.type.kind in TIMES, f"AT TIME ZONE of {time.type.kind} does not exist", e)
        name = str(zone.value) if isinstance(zone, Lit) else ""
        if isinstance(time, Lit) and isinstance(time.value, datetime.date):
            return self._constant_at(time.value, name, e)
        if name.lower() not in UTC:
            raise Unsupported(
                "AT TIME ZONE of a column is supported with 'UTC' only",
                hint="Shift it by a constant, as in x + INTERVAL '1 hour'.",
                position=position(e),
            )
        return Cast(time, TIMESTAMPTZ if time.type == TIMESTAMP else TIMESTAMP)

    def _constant_at(self, value: datetime.date, name: str, at: exp.Expr) -> Expr:
        try:
            zone = zoneinfo.ZoneInfo("UTC" if name.lower() in UTC else name)
        except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
            raise InvalidText(f'time zone "{name}" not recognized', position=position(at)) from None
        if isinstance(value, datetime.datetime):
            time = value
        else:
            # Of a date Postgres makes a timestamp with time zone first.
            time = midnight(value).replace(tzinfo=datetime.UTC)
        if time.tzinfo is None:
            return Lit(time.replace(tzinfo=zone), TIMESTAMPTZ)
        return Lit(time.astimezone(zone).replace(tzinfo=None), TIMESTAMP)


def _directives(words: str, at: exp.Expr) -> str:
    """A format of Postgres as one of Python."""
    pieces = [READ.get(piece.upper(), piece) for piece in PIECE.findall(words)]
    if any(piece.isalnum() or piece[0] in '"\\' for piece in pieces):
        raise Unsupported(
            "TO_DATE and TO_TIMESTAMP take a format of YYYY, MM, Mon, Month, DD, DDD, HH24, MI and SS",
            hint="For instance TO_DATE('2026-01-31', 'YYYY-MM-DD').",
            position=position(at),
        )
    return "".join("%%" if piece == "%" else piece for piece in pieces)


def is_span(expr: Expr) -> TypeGuard[Call]:
    """Whether it is the time between two others, or an age."""
    return isinstance(expr, Call) and expr.op in ("span", "age")


def folded(op: str, left: Expr, right: Expr) -> Expr | None:
    """Arithmetic on constant intervals; None for everything else."""
    if not (isinstance(left, Lit) and isinstance(right, Lit)):
        return None
    a, b = left.value, right.value
    if isinstance(a, Interval_) and isinstance(b, Interval_) and op in "+-":
        sign = 1 if op == "+" else -1
        return Lit(
            Interval_(
                a.months + sign * b.months, a.days + sign * b.days, a.micros + sign * b.micros
            ),
            INTERVAL,
        )
    if isinstance(b, Interval_) and op == "*":
        a, b = b, a
    if isinstance(a, Interval_) and isinstance(b, int) and op == "*" and abs(b) < 2**31:
        return Lit(Interval_(a.months * b, a.days * b, a.micros * b), INTERVAL)
    return None


def multiplied(ex: Expressions, left: Expr, right: Expr, at: exp.Expr) -> Expr:
    """n * INTERVAL '7 days', which a date can be moved by."""
    number, span = (right, left) if left.type == INTERVAL else (left, right)
    by = span.value if isinstance(span, Lit) else None
    if not isinstance(by, Interval_) or by.months or by.micros or not is_integer(number.type):
        raise Unsupported(
            "a multiple of an interval is supported for whole numbers of whole days",
            hint="For instance d + n * INTERVAL '7 days'.",
            position=position(at),
        )
    return Call("days", (ex.arithmetic("*", number, Lit(by.days, INTEGER), at),), INTERVAL)


def by_days(op: str, date: Expr, by: Call, at: exp.Expr) -> Expr:
    """A date plus or minus a number of days."""
    if date.type != DATE:
        raise Unsupported(
            "a multiple of an interval can be added to a date only",
            hint="Cast it, as in x::date + n * INTERVAL '1 day'.",
            position=position(at),
        )
    return Cast(Call("date+days" if op == "+" else "date-days", (date, *by.args), DATE), TIMESTAMP)


def _rounded(seconds: Expr) -> Expr:
    """To the microsecond, which the difference of two doubles is near."""
    return Call("round", (seconds, Lit(6, INTEGER)), Type("numeric", None, 6))


def _epoch(time: Expr) -> Expr:
    return Call("extract_epoch", (time,), NUMERIC)


def _number(part: str, time: Expr) -> Expr:
    return Cast(Call(f"extract_{part}", (time,), WHOLE), INTEGER)
