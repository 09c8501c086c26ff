"""Literals: text to typed values, and interval arithmetic on constants."""

from __future__ import annotations

import datetime
import math
import re
import uuid
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import Final

from dp4sql.algebra.types import (
    BIGINT,
    FLOATS,
    INTEGER,
    INTEGERS,
    LIMITS,
    NUMERIC,
    TEXTS,
    TIMESTAMP,
    Type,
    Value,
)
from dp4sql.errors import InvalidText, NumberOutOfRange, TooComplex
from dp4sql.sql.intervals import interval

MAX_EXPONENT = 1000


def decimal(text: str) -> Decimal:
    """A finite number that can be written out."""
    value = Decimal(text)
    if not value.is_finite():
        raise ValueError(text)
    if value and abs(value.adjusted()) > MAX_EXPONENT:
        raise NumberOutOfRange("value overflows numeric format")
    return value


def writable(value: Value) -> None:
    """NumberOutOfRange for a number of a parameter that cannot be written out, in a list of them, too."""
    for part in value if isinstance(value, tuple) else (value,):
        if isinstance(part, Decimal) and not part.is_finite():
            raise NumberOutOfRange(
                "NaN and infinity of type numeric are not supported",
                hint="Send it as double precision.",
            )
        if isinstance(part, Decimal) and part and abs(part.adjusted()) > MAX_EXPONENT:
            raise NumberOutOfRange("value overflows numeric format")


def number_literal(text: str) -> tuple[Value, Type]:
    """A numeric literal and the type Postgres gives it."""
    if re.fullmatch(r"\d{1,19}", text):
        value = int(text)
        if value < 2**31:
            return value, INTEGER
        return (value, BIGINT) if value < 2**63 else (decimal(text), NUMERIC)
    return decimal(text), NUMERIC


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


_ITEM: Final = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|((?:[^",{}\\]|\\.)*?))\s*(,|$)', re.DOTALL)


#: Elements of an array; as many as IN (...) can list.
MAX_ELEMENTS: Final = 50_000


def check_elements(count: int) -> None:
    if count > MAX_ELEMENTS:
        raise TooComplex(
            f"an array may have at most {MAX_ELEMENTS} elements",
            hint="Ask for a range, or for values that stand in a table: IN (SELECT ...).",
        )


def array_items(text: str) -> list[str | None]:
    """The texts in an array of one dimension as Postgres writes it, as in {a,"b, c",NULL}; ValueError."""
    inner = text.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        raise ValueError
    inner, found, at = inner[1:-1], list[str | None](), 0
    some = bool(inner.strip())
    while some and at <= len(inner):
        check_elements(len(found) + 1)
        item = _ITEM.match(inner, at)
        if item is None or (item[1] is None and not item[2]):
            raise ValueError
        bare = item[1] is None
        value = re.sub(r"\\(.)", r"\1", item[2] if bare else item[1], flags=re.DOTALL)
        found.append(None if bare and item[2].upper() == "NULL" else value)
        at = item.end()
        if not item[3]:
            break
    return found


_EXAMPLES = {
    "date": "Dates are written '1995-03-15'; today is CURRENT_DATE.",
    "timestamp without time zone": "Timestamps are written '1995-03-15 10:30:00'; now is CURRENT_TIMESTAMP.",
    "interval": "Intervals are written '3 months', '1 year 2 days' or '90 days'.",
}


def _read(text: str, type: Type) -> Value:
    kind = type.kind
    if kind in TEXTS or kind == "unknown":
        short = text[: type.length] if type.length is not None else text
        # Blanks at the end of char(n) mean nothing, and are not compared.
        return short.rstrip(" ") if kind == "character" else short
    if kind in INTEGERS:
        return _integer(text, type)
    if kind == "numeric":
        return _numeric(text, type)
    if kind in FLOATS:
        return _float(text, type)
    if kind == "boolean":
        return _boolean(text.lower())
    if kind == "date":
        return _date(text)
    if kind == "uuid":
        return uuid.UUID(text)
    if kind == "interval":
        return interval(text)  # type: ignore[return-value]
    moment = datetime.datetime.fromisoformat(text)
    # Postgres reads a zone there, and forgets it.
    return moment.replace(tzinfo=None) if type == TIMESTAMP else moment


def _integer(text: str, type: Type) -> int:
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(text)
    return in_range(int(text), type)


def in_range(value: int, type: Type) -> int:
    if not -LIMITS[type.kind] <= value < LIMITS[type.kind]:
        raise NumberOutOfRange(f"value out of range for type {type.kind}")
    return value


def _numeric(text: str, type: Type) -> Decimal:
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        raise ValueError(text)
    value = decimal(text)
    return value if type.precision is None else rounded(value, type.precision, type.scale or 0)


def rounded(value: Decimal, precision: int, scale: int) -> Decimal:
    """`value` as numeric(precision, scale) holds it."""
    with localcontext(prec=2 * MAX_EXPONENT):
        found = value.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_HALF_UP)
    if found and found.adjusted() >= precision - scale:
        raise NumberOutOfRange("numeric field overflow")
    return found


def has_room(type: Type, value: Value) -> bool:
    """Whether a column of `type` holds this text or number just as it is."""
    if type.length is not None and isinstance(value, str):
        return len(value) <= type.length
    if type.precision is None or not isinstance(value, Decimal):
        return True
    try:
        return rounded(value, type.precision, type.scale or 0) == value
    except NumberOutOfRange:
        return False


def _float(text: str, type: Type) -> float:
    value = float(text)
    limit = 3.4028235677973366e38 if type.kind == "real" else math.inf
    if "_" in text or (math.isinf(value) and "inf" not in text.lower()):
        raise NumberOutOfRange(f"value out of range for type {type.kind}")
    if math.isfinite(value) and abs(value) >= limit:
        raise NumberOutOfRange(f"value out of range for type {type.kind}")
    return value


def _date(text: str) -> datetime.date:
    if not re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError(text)
    return datetime.datetime.fromisoformat(text).date()


def _boolean(text: str) -> bool:
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise ValueError
