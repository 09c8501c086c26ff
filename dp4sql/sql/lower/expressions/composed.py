"""Functions that are put together from others: width_bucket and to_char of times."""

from __future__ import annotations

import calendar
import math
import re
from decimal import Decimal
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
from dp4sql.sql.lower.expressions.arrays import Arrays
from dp4sql.sql.lower.expressions.types import is_integer, is_number
from dp4sql.sql.parse import position

if TYPE_CHECKING:
    from dp4sql.sql.lower.expressions import Expressions

PARTS: Final = {
    "YYYY": ("year", 4),
    "YY": ("year", 2),
    "Q": ("quarter", 1),
    "MM": ("month", 2),
    "DD": ("day", 2),
    "DDD": ("doy", 3),
    "HH24": ("hour", 2),
    "MI": ("minute", 2),
    "SS": ("second", 2),
    "IYYY": ("isoyear", 4),
    "IW": ("week", 2),
    "ID": ("isodow", 1),
}
"""The part of a time that a piece of a format writes, and its digits."""
MONTHS: Final = tuple(calendar.month_name)[1:]
DAYS: Final = tuple(calendar.day_name)
NAMES: Final = {
    "MONTH": ("month", MONTHS),
    "MON": ("month", tuple(name[:3] for name in MONTHS)),
    "DAY": ("isodow", DAYS),
    "DY": ("isodow", tuple(name[:3] for name in DAYS)),
}
"""The same of names, which are counted from 1."""
OTHERS: Final = ("IDDD", "SSSSS", "SSSS")
"""What begins like a piece and is none: Postgres takes the longest."""
PIECE: Final = re.compile(
    rf'"[^"]*"|(?:FM)?(?:{"|".join(sorted((*OTHERS, *PARTS, *NAMES, "D"), key=len, reverse=True))})|.',
    re.DOTALL | re.IGNORECASE,
)


def width_bucket(ex: Expressions, e: exp.WidthBucket) -> Expr:
    """0 below `low`, 1 to `count` in equal steps, and one more from `high` on; NULL for NULL."""
    if e.args.get("threshold") is not None:
        return _by_limits(ex, e)
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


def _by_limits(ex: Expressions, e: exp.WidthBucket) -> Expr:
    """How many of some ascending constants the value has reached."""
    limits = Arrays(ex).elements(e.args["threshold"], NUMERIC) or []
    values = [part.value for part in limits if isinstance(part, Lit)]
    ends = [v for v in values if isinstance(v, int | Decimal) and not isinstance(v, bool)]
    if not ends or len(ends) < len(limits) or ends != sorted(set(ends)):
        raise Unsupported(
            "WIDTH_BUCKET of an array needs ascending constants",
            hint="For instance WIDTH_BUCKET(x, ARRAY[0, 10, 100]).",
            position=position(e),
        )
    value = ex.lower(e.this)
    ex.need(is_number(value.type), f"a number is needed, not {value.type.kind}", e)
    tests = (ex.compare("<", value, limit, e) for limit in limits)
    below = tuple((test, Lit(i, INTEGER)) for i, test in enumerate(tests))
    nothing = (Call("is null", (value,), BOOLEAN), Lit(None, INTEGER))
    return Case((nothing, *below), Lit(len(limits), INTEGER), INTEGER)


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
    """to_char of a time with a constant format of digits and names of months and days."""
    value = ex.coerce(ex.lower(e.this), TIMESTAMP)
    text = e.args["format"].this if isinstance(e.args.get("format"), exp.Literal) else ""
    pieces = PIECE.findall(str(text))
    parts = [_written(value, piece) for piece in pieces]
    if value.type.kind not in TIMES or None in parts or all(isinstance(p, Lit) for p in parts):
        raise Unsupported(
            "TO_CHAR takes a date or timestamp and a constant format of YYYY, YY, Q, MM, Mon, Month, DD, DDD, D, Dy, "
            "Day, IYYY, IW, ID, HH24, MI, SS, FM before them and text in double quotes",
            hint="For instance TO_CHAR(d, 'YYYY-MM'). EXTRACT gives other parts, such as EPOCH.",
            position=position(e),
        )
    found, *rest = (part for part in parts if part is not None)
    for part in rest:
        found = Call("||", (found, part), TEXT)
    return found


def _written(value: Expr, piece: str) -> Expr | None:
    """One piece of a format; None for what is not known."""
    if "\\" in piece or piece == '"':
        return None
    if piece.startswith('"'):
        return Lit(piece[1:-1], TEXT)
    whole = len(piece) > 2 and piece[:2] in ("FM", "fm")
    form = piece[2:] if whole else piece
    name = form.upper()
    if name in NAMES:
        return _name(value, form, padded=not whole)
    if form not in (name, form.lower()):
        return None
    if name == "D":
        # From Sunday on.
        day = Cast(Call("extract_dow", (value,), NUMERIC), INTEGER)
        return _number(Call("+", (day, Lit(1, INTEGER)), INTEGER), 0)
    if name in PARTS:
        part, width = PARTS[name]
        return _digits(value, part, 0 if whole else width)
    return None if piece.isalpha() else Lit(piece, TEXT)


def _name(value: Expr, form: str, *, padded: bool) -> Expr | None:
    """The name of a month or a day in the case of `form`; whole names are filled up with blanks."""
    cases = {form.title(): str.title, form.upper(): str.upper, form.lower(): str.lower}
    part, names = NAMES[form.upper()]
    case = cases.get(form)
    if case is None:
        return None
    width = 9 if padded and form.upper() in ("MONTH", "DAY") else 0
    number = Call(f"extract_{part}", (value,), Type("numeric", None, 0))
    tests = (Call("=", (number, Lit(i + 1, INTEGER)), BOOLEAN) for i in range(len(names)))
    shown = (Lit(case(name).ljust(width), TEXT) for name in names)
    return Case(tuple(zip(tests, shown, strict=True)), Lit(None, TEXT), TEXT)


def _digits(value: Expr, part: str, width: int) -> Expr:
    """With no `width` as many as there are."""
    if value.type == DATE and part in ("hour", "minute", "second"):
        return Lit("0" * max(1, width), TEXT)
    number: Expr = Call(f"extract_{part}", (value,), NUMERIC)
    number = Call("trunc", (number,), NUMERIC) if part == "second" else number
    return _number(Cast(number, INTEGER), width)


def _number(number: Expr, width: int) -> Expr:
    text = Cast(number, TEXT)
    if not width:
        return text
    padded = Call("||", (Lit("0" * (width - 1), TEXT), text), TEXT)
    return Call("right", (padded, Lit(width, INTEGER)), TEXT)
