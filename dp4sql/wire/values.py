"""Result columns on the wire: OIDs, and values as text and as binary.

Text is what Postgres prints under DateStyle ISO, IntervalStyle postgres and extra_float_digits 1.
Instants (timestamp with time zone) are shown in the session's zone and kept in UTC.
"""

from __future__ import annotations

import datetime
import math
import re
import struct
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, TypeAlias

from dp4sql.algebra.jsonb import printed
from dp4sql.algebra.types import Kind, Type
from dp4sql.errors import ProtocolViolation, Unsupported
from dp4sql.rows import OutputColumn
from dp4sql.wire import intervals, numerics
from dp4sql.wire.replies import Field

TEXT_FORMAT: Final = 0
BINARY_FORMAT: Final = 1

Encoder: TypeAlias = Callable[[Any], bytes]

#: kind -> (OID, pg_type.typlen)
_OIDS: Final[dict[Kind, tuple[int, int]]] = {
    "boolean": (16, 1),
    "bigint": (20, 8),
    "smallint": (21, 2),
    "integer": (23, 4),
    "text": (25, -1),
    "real": (700, 4),
    "double precision": (701, 8),
    "unknown": (705, -2),
    "character": (1042, -1),
    "character varying": (1043, -1),
    "date": (1082, 4),
    "timestamp without time zone": (1114, 8),
    "timestamp with time zone": (1184, 8),
    "interval": (1186, 16),
    "numeric": (1700, -1),
    "uuid": (2950, 16),
    "jsonb": (3802, -1),
}
_KINDS: Final = {oid: kind for kind, (oid, _) in _OIDS.items() if kind != "jsonb"}
"""What a parameter can be."""

#: kind -> OID of its arrays
_ARRAYS: Final[dict[Kind, int]] = {
    "boolean": 1000,
    "bigint": 1016,
    "smallint": 1005,
    "integer": 1007,
    "text": 1009,
    "real": 1021,
    "double precision": 1022,
    "character": 1014,
    "character varying": 1015,
    "date": 1182,
    "timestamp without time zone": 1115,
    "timestamp with time zone": 1185,
    "interval": 1187,
    "numeric": 1231,
    "uuid": 2951,
}
_ELEMENTS: Final = {oid: kind for kind, oid in _ARRAYS.items()}

EPOCH_DAY: Final = datetime.date(2000, 1, 1).toordinal()
EPOCH: Final = datetime.datetime(2000, 1, 1)
MICROSECOND: Final = datetime.timedelta(microseconds=1)


def oid_of(type: Type) -> int:
    return _ARRAYS[type.kind] if type.array else _OIDS[type.kind][0]


def type_of(oid: int) -> Type | None:
    """The type an OID names; None for 0 and unknown, which leave it to the statement."""
    if oid in (0, 705):
        return None
    if oid in _ELEMENTS:
        return Type(_ELEMENTS[oid], array=True)
    if oid not in _KINDS:
        raise Unsupported(
            f"a parameter of the type with OID {oid} is not supported",
            hint="Cast it to a scalar type, such as $1::text.",
        )
    return Type(_KINDS[oid])


def field_of(column: OutputColumn) -> Field:
    # Postgres resolves an output column of type unknown to text.
    kind: Kind = "text" if column.type.kind == "unknown" else column.type.kind
    size = -1 if column.type.array else _OIDS[kind][1]
    return Field(column.name, oid_of(replace(column.type, kind=kind)), size, _modifier(column.type))


def _modifier(type: Type) -> int:
    """pg_attribute.atttypmod: lengths and numeric precision are sent with a header of 4."""
    if type.kind == "numeric" and type.precision is not None:
        return (type.precision << 16 | (type.scale or 0)) + 4
    return -1 if type.length is None else type.length + 4


@lru_cache(maxsize=256)
def formats_for(codes: tuple[int, ...], count: int, what: str) -> tuple[int, ...]:
    """One format code for each of `count` things: none sent means text, one sent means all."""
    if any(code not in (TEXT_FORMAT, BINARY_FORMAT) for code in codes):
        raise ProtocolViolation(f"unsupported {what} format code", hint="0 is text, 1 is binary.")
    if len(codes) <= 1:
        return (codes[0] if codes else TEXT_FORMAT,) * count
    if len(codes) != count:
        raise ProtocolViolation(f"{len(codes)} {what} formats for {count} {what}s")
    return tuple(codes)


def encoder(type: Type, code: int, zone: datetime.tzinfo = datetime.UTC) -> Encoder:
    """The function that writes non-NULL values of `type` in format `code`."""
    if type.array:
        each = encoder(replace(type, array=False), code, zone)
        if code == TEXT_FORMAT:
            return lambda values: _array_text(values, each)
        return lambda values: _array(values, each, _OIDS[type.kind][0])
    if type.kind == "character" and (width := type.length) is not None:
        return lambda value: value.ljust(width).encode()
    if code == TEXT_FORMAT:
        if type.kind == "timestamp with time zone":
            return lambda value: _instant_text(value, zone)
        return _TEXT[type.kind]
    return _BINARY[type.kind]


def _float_text(value: float) -> bytes:
    return _float(value, repr(float(value)), 15)


def _real_text(value: float) -> bytes:
    number = single(value)
    shortest = (f"{number:.{digits}g}" for digits in range(6, 10))
    return _float(number, next((t for t in shortest if single(float(t)) == number), "nan"), 6)


def _float(value: float, text: str, fixed_below: int) -> bytes:
    """`text` has the fewest digits that read back as `value`; exponents as Postgres writes them."""
    if not math.isfinite(value):
        return b"NaN" if math.isnan(value) else b"Infinity" if value > 0 else b"-Infinity"
    return _layout(Decimal(text), fixed_below, text.startswith("-"))


def single(value: float) -> float:
    number: float = struct.unpack("!f", struct.pack("!f", value))[0]
    return number


def _layout(number: Decimal, fixed_below: int, negative: bool) -> bytes:
    _, digits, exponent = number.normalize().as_tuple()
    assert isinstance(exponent, int)
    sign, leading = "-" if negative else "", exponent + len(digits) - 1
    if number == 0:
        return f"{sign}0".encode()
    if -4 <= leading < fixed_below:
        return f"{sign}{abs(number.normalize()):f}".encode()
    first, *others = map(str, digits)
    fraction = "." + "".join(others) if others else ""
    return f"{sign}{first}{fraction}e{leading:+03d}".encode()


def _timestamp_text(value: datetime.datetime) -> bytes:
    text = value.replace(tzinfo=None).isoformat(" ")
    return (text.rstrip("0") if value.microsecond else text).encode()


def _instant_text(value: datetime.datetime, zone: datetime.tzinfo) -> bytes:
    local = _aware(value).astimezone(zone)
    offset = local.strftime("%z")
    hours, minutes, seconds = offset[:3], offset[3:5], offset[5:7]
    shown = hours + (f":{minutes}" if minutes != "00" or seconds else "")
    shown += f":{seconds}" if seconds else ""
    return _timestamp_text(local) + shown.encode()


def _aware(value: datetime.datetime) -> datetime.datetime:
    return value if value.tzinfo else value.replace(tzinfo=datetime.UTC)


def _micros(value: datetime.datetime) -> bytes:
    """int64 microseconds since 2000-01-01."""
    return struct.pack("!q", (value.replace(tzinfo=None) - EPOCH) // MICROSECOND)


def _instant(value: datetime.datetime) -> bytes:
    return _micros(_aware(value).astimezone(datetime.UTC))


def _array_text(values: Sequence[Any], each: Encoder) -> bytes:
    """'{1,NULL,"a b"}'"""
    return b"{" + b",".join(b"NULL" if v is None else _quoted(each(v)) for v in values) + b"}"


def _quoted(text: bytes) -> bytes:
    if text and text.upper() != b"NULL" and not _SPECIAL.search(text):
        return text
    return b'"' + text.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


_SPECIAL: Final = re.compile(rb'[\s{},"\\]')


def _array(values: Sequence[Any], each: Encoder, oid: int) -> bytes:
    """One dimension, counted from 1; elements as their own binary."""
    parts = [None if value is None else each(value) for value in values]
    head = struct.pack("!iiiii", 1, None in parts, oid, len(parts), 1)
    return head + b"".join(
        struct.pack("!i", -1) if part is None else struct.pack("!i", len(part)) + part
        for part in parts
    )


def _plain(value: object) -> bytes:
    return str(value).encode()


_TEXT: Final[dict[Kind, Encoder]] = {
    "boolean": lambda value: b"t" if value else b"f",
    "bigint": _plain,
    "smallint": _plain,
    "integer": _plain,
    "text": str.encode,
    "real": _real_text,
    "double precision": _float_text,
    "unknown": str.encode,
    "character": str.encode,
    "character varying": str.encode,
    "date": lambda value: value.isoformat().encode(),
    "timestamp without time zone": _timestamp_text,
    "timestamp with time zone": lambda value: _instant_text(value, datetime.UTC),
    "interval": intervals.to_text,
    "numeric": numerics.to_text,
    "uuid": _plain,
    "jsonb": lambda value: printed(value).encode(),
}

_BINARY: Final[dict[Kind, Encoder]] = {
    "boolean": lambda value: b"\x01" if value else b"\x00",
    "bigint": struct.Struct("!q").pack,
    "smallint": struct.Struct("!h").pack,
    "integer": struct.Struct("!i").pack,
    "text": str.encode,
    "real": struct.Struct("!f").pack,
    "double precision": struct.Struct("!d").pack,
    "unknown": str.encode,
    "character": str.encode,
    "character varying": str.encode,
    "date": lambda value: struct.pack("!i", value.toordinal() - EPOCH_DAY),
    "timestamp without time zone": _micros,
    "timestamp with time zone": _instant,
    "interval": intervals.to_binary,
    "numeric": numerics.to_binary,
    "uuid": lambda value: uuid.UUID(str(value)).bytes,
    # The byte in front is the version of the format.
    "jsonb": lambda value: b"\x01" + printed(value).encode(),
}
