"""Functions that are put together from others: width_bucket and to_char of times."""

from __future__ import annotations

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
)
from dp4sql.errors import Unsupported
from dp4sql.sql.parse import position
from dp4sql.sql.types import is_integer, is_number

if TYPE_CHECKING:
    from dp4sql.sql.expressions import Expressions

PARTS: Final = {
    "%Y": ("year", 4),
    "%m": ("month", 2),
    "%d": ("day", 2),
    "%H": ("hour", 2),
    "%M": ("minute", 2),
    "%S": ("second", 2),
}
"""What the parser makes of YYYY, MM, DD, HH24, MI and SS: the part of a time and its digits."""


def width_bucket(ex: Expressions, e: exp.WidthBucket) -> Expr:
    """0 below `low`, 1 to `count` in equal steps, and one more from `high` on; NULL for NULL."""
    value, low, high, count = (
        ex.coerce(ex.lower(e.args[key]), NUMERIC)
        for key in ("this", "min_value", "max_value", "num_buckets")
    )
    ex.need(is_number(value.type), f"a number is needed, not {value.type.kind}", e)
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
    """to_char of a time with a constant format of digits."""
    value = ex.coerce(ex.lower(e.this), TIMESTAMP)
    text = e.args["format"].this if isinstance(e.args.get("format"), exp.Literal) else ""
    pieces = re.findall(r"%.|[^%]", str(text))
    if (
        value.type.kind not in TIMES
        or not any(p in PARTS for p in pieces)
        or not all(map(_known, pieces))
    ):
        raise Unsupported(
            "TO_CHAR takes a date or timestamp and a constant format of YYYY, MM, DD, HH24, MI and SS",
            hint="For instance TO_CHAR(d, 'YYYY-MM'). EXTRACT gives other parts.",
            position=position(e),
        )
    parts = [_digits(value, *PARTS[p]) if p in PARTS else Lit(p, TEXT) for p in pieces]
    found = parts[0]
    for part in parts[1:]:
        found = Call("||", (found, part), TEXT)
    return found


def _known(piece: str) -> bool:
    return piece in PARTS or not (piece.isalnum() or piece in '%"\\')


def _digits(value: Expr, part: str, width: int) -> Expr:
    if value.type == DATE and part in ("hour", "minute", "second"):
        return Lit("0" * width, TEXT)
    number: Expr = Call(f"extract_{part}", (value,), NUMERIC)
    number = Call("trunc", (number,), NUMERIC) if part == "second" else number
    text = Cast(Cast(number, INTEGER), TEXT)
    padded = Call("||", (Lit("0" * (width - 1), TEXT), text), TEXT)
    return Call("right", (padded, Lit(width, INTEGER)), TEXT)
