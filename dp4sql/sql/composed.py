"""Functions that are put together from others: width_bucket and to_char of times."""

from __future__ import annotations

import calendar
import math
import re
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from dp4sql.algebra.expr import Call, Case, Cast, Expr, Lit, conjunction
from dp4sql.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOATS,
    INTEGER,
    NUMERIC,
    TEXT,
    TIMES,
    TIMESTAMP,
    UNKNOWN,
    Type,
)
from dp4sql.errors import Unsupported
from dp4sql.sql.parse import position
from dp4sql.sql.types import is_integer, is_number

if TYPE_CHECKING:
    from dp4sql.sql.expressions import Expressions

PARTS: Final = {
    "YYYY": ("year", 4),
    "YY": ("year", 2),
    "MM": ("month", 2),
    "DD": ("day", 2),
    "DDD": ("doy", 3),
    "HH24": ("hour", 2),
    "MI": ("minute", 2),
    "SS": ("second", 2),
    "IYYY": ("isoyear", 4),
    "IW": ("week", 2),
    "Q": ("quarter", 1),
}
"""The parts of a time that TO_CHAR writes, and their digits."""
MONTHS: Final = tuple(calendar.month_name)[1:]
PIECE: Final = re.compile(
    r'"[^"]*"|(?:FM)?(?i:month|mon)|(?i:YYYY|IYYY|YY|MM|DDD|DD|HH24|MI|SSSS|SS|IW|Q)|.', re.DOTALL
)
"""A format's longest words first, as Postgres reads it. SSSS is none of `PARTS`, and no two of seconds."""


def width_bucket(ex: Expressions, e: exp.WidthBucket) -> Expr:
    """0 below `low`, 1 to `count` in equal steps, and one more from `high` on; NULL for NULL."""
    value, low, high, count = (
        ex.coerce(ex.lower(e.args[key]), NUMERIC)
        for key in ("this", "min_value", "max_value", "num_buckets")
    )
    for part in (value, low, high, count):
        ex.need(is_number(part.type), f"a number is needed, not {part.type.kind}", e)
    if not _ascending(low, high) or not (
        isinstance(count, Lit) and isinstance(count.value, int) and count.value > 0
    ):
        raise Unsupported(
            "WIDTH_BUCKET needs constants: a lower end, an upper end beyond it and a number of buckets",
            hint="For instance WIDTH_BUCKET(x, 0, 100, 10).",
            position=position(e),
        )
    (value, low, high), kind = ex.together([value, low, high], e, "WIDTH_BUCKET")
    inside = Call("greatest", (Call("least", (value, high), kind), low), kind)
    steps = ex.arithmetic("*", ex.arithmetic("-", inside, low, e), count, e)
    place = ex.arithmetic("/", steps, ex.arithmetic("-", high, low, e), e)
    if not is_integer(place.type):
        place = Cast(Call("floor", (place,), place.type), INTEGER)
    if kind.kind in FLOATS:
        return _of_float(value, low, ex.arithmetic("+", place, Lit(1, INTEGER), e))
    below = Call("<", (value, low), BOOLEAN)
    bucket = Case(
        ((below, Lit(0, INTEGER)),), ex.arithmetic("+", place, Lit(1, INTEGER), e), place.type
    )
    # LEAST and GREATEST pass over a NULL.
    nothing = ex.cast(ex.arithmetic("*", Lit(0, INTEGER), value, e), INTEGER, e)
    return ex.cast(ex.arithmetic("+", bucket, nothing, e), INTEGER, e)


def _of_float(value: Expr, low: Expr, bucket: Expr) -> Expr:
    """No arithmetic on the value itself, which may be infinite; NaN is an error in Postgres."""
    below, inside = (Call(op, (value, low), BOOLEAN) for op in ("<", ">="))
    number = Call("<>", (value, Lit(math.nan, DOUBLE)), BOOLEAN)
    whens = ((below, Lit(0, INTEGER)), (conjunction((inside, number)), bucket))
    return Case(whens, Lit(None, UNKNOWN), INTEGER)


def _ascending(low: Expr, high: Expr) -> bool:
    ends = [part.value for part in (low, high) if isinstance(part, Lit)]
    return len(ends) == 2 and None not in ends and ends[0] < ends[1]  # type: ignore[operator]


def to_char(ex: Expressions, e: exp.TimeToStr) -> Expr:
    """to_char of a time with a constant format of digits and names of months."""
    value = ex.coerce(ex.lower(e.this), TIMESTAMP)
    text = e.args["format"].this if isinstance(e.args.get("format"), exp.Literal) else ""
    pieces = PIECE.findall(str(text))
    parts = [_written(value, piece) for piece in pieces]
    if value.type.kind not in TIMES or None in parts or all(isinstance(p, Lit) for p in parts):
        raise Unsupported(
            "TO_CHAR takes a date or timestamp and a constant format of YYYY, YY, Q, MM, Mon, Month, DD, DDD, IYYY, "
            "IW, HH24, MI, SS and text in double quotes",
            hint="For instance TO_CHAR(d, 'YYYY-MM'). EXTRACT gives other parts, such as ISODOW.",
            position=position(e),
        )
    found, *rest = (part for part in parts if part is not None)
    for part in rest:
        found = Call("||", (found, part), TEXT)
    return found


def _written(value: Expr, piece: str) -> Expr | None:
    """One piece of a format; None for what is not known."""
    if piece.upper() in PARTS:
        return _digits(value, *PARTS[piece.upper()])
    name = piece.removeprefix("FM")
    if name.lower() in ("mon", "month"):
        return _month(value, name, padded=name == piece)
    if "\\" in piece or piece == '"':
        return None
    if piece.startswith('"'):
        return Lit(piece[1:-1], TEXT)
    return None if piece.isalpha() else Lit(piece, TEXT)


def _month(value: Expr, form: str, *, padded: bool) -> Expr | None:
    """The name of a month in the case of `form`; whole names are filled up with blanks."""
    case = {"M": str.title, "MO": str.upper, "m": str.lower}.get(form[: 1 + form[1].isupper()])
    if case is None or form not in (form.title(), form.upper(), form.lower()):
        return None
    whole = len(form) > 3
    names = [
        case(name if whole else name[:3]).ljust(9 if whole and padded else 0) for name in MONTHS
    ]
    number = Call("extract_month", (value,), Type("numeric", None, 0))
    tests = (Call("=", (number, Lit(i, INTEGER)), BOOLEAN) for i in range(1, 13))
    whens = tuple((test, Lit(name, TEXT)) for test, name in zip(tests, names, strict=True))
    return Case(whens, Lit(None, TEXT), TEXT)


def _digits(value: Expr, part: str, width: int) -> Expr:
    if value.type == DATE and part in ("hour", "minute", "second"):
        return Lit("0" * width, TEXT)
    number: Expr = Call(f"extract_{part}", (value,), NUMERIC)
    number = Call("trunc", (number,), NUMERIC) if part == "second" else number
    text = Cast(Cast(number, INTEGER), TEXT)
    padded = Call("||", (Lit("0" * (width - 1), TEXT), text), TEXT)
    return Call("right", (padded, Lit(width, INTEGER)), TEXT)
