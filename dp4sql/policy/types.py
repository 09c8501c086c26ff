"""Postgres type names, and what a file's scalars mean in a column of some type."""

from __future__ import annotations

import datetime
import re
import uuid
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from dp4sql.algebra.types import FLOATS, INTEGERS, NUMBERS, TEXTS, TIMES, Kind, Type, Value
from dp4sql.policy.source import suggest

NAMES: Final[dict[str, Kind]] = {
    "smallint": "smallint",
    "int2": "smallint",
    "integer": "integer",
    "int": "integer",
    "int4": "integer",
    "bigint": "bigint",
    "int8": "bigint",
    "numeric": "numeric",
    "decimal": "numeric",
    "real": "real",
    "float4": "real",
    "double precision": "double precision",
    "float8": "double precision",
    "float": "double precision",
    "boolean": "boolean",
    "bool": "boolean",
    "text": "text",
    "varchar": "character varying",
    "character varying": "character varying",
    "char": "character",
    "character": "character",
    "bpchar": "character",
    "date": "date",
    "timestamp": "timestamp without time zone",
    "timestamp without time zone": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "timestamp with time zone": "timestamp with time zone",
    "interval": "interval",
    "uuid": "uuid",
}
_FORM: Final = re.compile(r"([a-z][a-z0-9 ]*?) ?(?:\( ?(\d+) ?(?:, ?(\d+) ?)?\))?")
_EPOCH: Final = datetime.datetime(1970, 1, 1)
_LIMITS: Final = {"smallint": 2**15, "integer": 2**31, "bigint": 2**63}


def parse_type(text: str) -> Type:
    """`numeric(15,2)`, `varchar(25)`, `double precision` ...; ValueError says what is wanted."""
    form = _FORM.fullmatch(" ".join(text.lower().split()))
    kind = NAMES.get(form[1]) if form else None
    if form is None or kind is None:
        raise ValueError(f"a known type; {suggest(text, NAMES)}")
    return _sized(kind, *(int(size) for size in form.groups()[1:] if size is not None))


def _sized(kind: Kind, *sizes: int) -> Type:
    match kind, sizes:
        case "character", ():
            return Type(kind, length=1)
        case _, ():
            return Type(kind)
        case "numeric", (precision, *rest):
            scale = rest[0] if rest else 0
            if not 1 <= precision <= 1000 or scale > precision:
                raise ValueError("numeric(p,s) with 1 to 1000 digits, s of them after the point")
            return Type(kind, precision=precision, scale=scale)
        case (("character varying" | "character"), (length,)) if length > 0:
            return Type(kind, length=length)
    raise ValueError("a type with this size; numeric(p,s), varchar(n) and char(n) have sizes")


@dataclass(frozen=True, slots=True)
class Span:
    """Numbers from `least` to `most`, without `most` where it is not `closed`; with `decimals` digits after
    the point at most."""

    least: Fraction
    most: Fraction
    closed: bool = True
    decimals: int | None = None

    def __contains__(self, number: Fraction) -> bool:
        fine = self.decimals is None or number.denominator <= 10**self.decimals
        return fine and (self.least <= number < self.most or (self.closed and number == self.most))

    def __str__(self) -> str:
        digits = "" if self.decimals is None else f", with {self.decimals} decimals at most"
        ends = (self.least, self.most)
        least, most = (Decimal(end.numerator) / Decimal(end.denominator) for end in ends)
        return f"from {least} to {'' if self.closed else 'below '}{most}{digits}"


def exact(raw: Any) -> Fraction:
    """A number of the file; ValueError for anything else."""
    if isinstance(raw, bool) or not isinstance(raw, int | Decimal | Fraction):
        raise ValueError("a number")
    return Fraction(raw)


def range_end(raw: Any, type: Type) -> Fraction:
    """A number, or the days since 1970-01-01 for dates; ValueError says what is wanted."""
    if type.kind in NUMBERS:
        return exact(raw)
    if type.kind not in TIMES:
        raise ValueError("a column of numbers, dates or timestamps")
    if type.kind == "date":
        return Fraction((_date(raw) - _EPOCH.date()).days)
    since = _timestamp(raw, type).replace(tzinfo=None) - _EPOCH
    return Fraction(since // datetime.timedelta(microseconds=1), 86_400_000_000)


def domain_value(raw: Any, type: Type) -> Value:
    """A bin as a value of `type`; ValueError says what is wanted."""
    kind = type.kind
    if kind in TEXTS and isinstance(raw, str):
        return raw
    if kind in INTEGERS and isinstance(raw, int) and not isinstance(raw, bool):
        return _whole(raw, _LIMITS[kind])
    if kind == "numeric" and isinstance(raw, int | Decimal) and not isinstance(raw, bool):
        return Decimal(raw)
    if kind in FLOATS:
        return float(exact(raw))
    if kind == "boolean" and isinstance(raw, bool):
        return raw
    if kind == "date":
        return _date(raw)
    if kind in TIMES:
        return _timestamp(raw, type)
    if kind == "uuid" and isinstance(raw, str):
        return _uuid(raw)
    raise ValueError(_WANTED.get(kind, "a column of another type"))


_WANTED: Final[dict[Kind, str]] = {
    **dict.fromkeys(TEXTS, "text (in quotes where YAML reads a number or true)"),  # type: ignore[arg-type]
    **dict.fromkeys(INTEGERS, "a whole number"),  # type: ignore[arg-type]
    "numeric": "a number",
    "boolean": "true or false",
    "uuid": "a UUID",
}


def _whole(raw: int, limit: int) -> int:
    if not -limit <= raw < limit:
        raise ValueError(f"a whole number from {-limit} to {limit - 1}")
    return raw


def _date(raw: Any) -> datetime.date:
    if isinstance(raw, str) and re.fullmatch(r"\d{4}-\d\d-\d\d", raw):
        try:
            return datetime.date.fromisoformat(raw)
        except ValueError:
            pass
    raise ValueError("a date such as 1995-03-15")


def _timestamp(raw: Any, type: Type) -> datetime.datetime:
    """Naive for timestamps without time zone; in UTC, which is also assumed, for those with one."""
    zoned = type.kind == "timestamp with time zone"
    try:
        moment = datetime.datetime.fromisoformat(raw) if isinstance(raw, str) else None
    except ValueError:
        moment = None
    if moment is None or (moment.tzinfo and not zoned):
        raise ValueError("a timestamp such as 1995-03-15 10:30:00" + ("+01:00" if zoned else ""))
    if not zoned:
        return moment
    aware = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    return aware.astimezone(datetime.UTC)


def _uuid(raw: str) -> uuid.UUID:
    try:
        return uuid.UUID(raw)
    except ValueError:
        raise ValueError("a UUID") from None
