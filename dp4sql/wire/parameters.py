"""Parameters off the wire: text or binary, by the type the statement gives them.

Bytes that are not of the type raise InvalidText; the text never quotes them.
"""

from __future__ import annotations

import datetime
import struct
import uuid
from collections.abc import Callable
from dataclasses import replace
from decimal import InvalidOperation
from typing import Any, Final

from dp4sql.algebra.types import Element, Kind, Type, Value
from dp4sql.errors import InvalidText
from dp4sql.sql.intervals import interval
from dp4sql.sql.literals import array_items, check_elements
from dp4sql.wire import intervals, numerics
from dp4sql.wire.values import BINARY_FORMAT, EPOCH, EPOCH_DAY, MICROSECOND, single


def decode(type: Type, code: int, data: bytes, zone: datetime.tzinfo = datetime.UTC) -> Value:
    """A parameter's value, an array's as a tuple. Raises InvalidText on bytes that are not of its type."""
    if type.array:
        return _array(replace(type, array=False), code, data, zone)
    return _element(type, code, data, zone)


def _element(type: Type, code: int, data: bytes, zone: datetime.tzinfo) -> Element:
    reader = _BINARY_IN[type.kind] if code == BINARY_FORMAT else _TEXT_IN[type.kind]
    try:
        value: Element = reader(data)
    except (ValueError, OverflowError, InvalidOperation, struct.error):
        raise _invalid(type, code) from None
    if type.kind == "timestamp with time zone" and isinstance(value, datetime.datetime):
        return value if value.tzinfo else value.replace(tzinfo=zone)
    return value


def _invalid(type: Type, code: int) -> InvalidText:
    form = "binary" if code == BINARY_FORMAT else "text"
    return InvalidText(f"invalid {form} value for type {type}")


def _array(type: Type, code: int, data: bytes, zone: datetime.tzinfo) -> tuple[Element, ...]:
    try:
        items = _array_binary(data) if code == BINARY_FORMAT else _array_text(data)
    except (ValueError, struct.error):
        raise _invalid(replace(type, array=True), code) from None
    return tuple(None if item is None else _element(type, code, item, zone) for item in items)


def _array_text(data: bytes) -> list[bytes | None]:
    items = array_items(_string(data))
    return [None if item is None else item.encode() for item in items]


def _array_binary(data: bytes) -> list[bytes | None]:
    """int32 dimensions, flags and element OID; size and first index of each dimension; lengths (-1 is NULL)
    and values."""
    dimensions, _, _ = struct.unpack_from("!iiI", data)
    if dimensions == 0:
        return []
    if dimensions != 1:
        raise ValueError
    (count, _), at = struct.unpack_from("!ii", data, 12), 20
    check_elements(min(count, len(data) // 4))
    found: list[bytes | None] = []
    while at < len(data):
        (length,) = struct.unpack_from("!i", data, at)
        at += 4
        if not -1 <= length <= len(data) - at:
            raise ValueError
        found.append(None if length < 0 else data[at : at + length])
        at += max(length, 0)
    if len(found) != count:
        raise ValueError
    return found


def _integer(kind: Kind) -> Callable[[bytes], int]:
    bits = {"smallint": 15, "integer": 31, "bigint": 63}[kind]

    def read(data: bytes) -> int:
        value = int(_words(data))
        if not -(1 << bits) <= value < 1 << bits:
            raise OverflowError
        return value

    return read


def _unpack(layout: str) -> Callable[[bytes], Any]:
    reader = struct.Struct(layout)
    return lambda data: reader.unpack(data)[0]


def _words(data: bytes) -> str:
    """Trimmed text; int() and float() would take underscores, which Postgres 15 does not."""
    text = data.decode().strip()
    if "_" in text or "\0" in text:
        raise ValueError
    return text


def _string(data: bytes) -> str:
    text = data.decode()
    if "\0" in text:
        raise ValueError
    return text


_TRUE: Final = {"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"}
_FALSE: Final = {"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"}


def _boolean(data: bytes) -> bool:
    text = _words(data).lower()
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise ValueError


def _boolean_binary(data: bytes) -> bool:
    return bool(struct.unpack("!?", data)[0])


def _date(data: bytes) -> datetime.date:
    return datetime.datetime.fromisoformat(_words(data)).date()


def _datetime(data: bytes) -> datetime.datetime:
    return datetime.datetime.fromisoformat(_words(data))


def _naive(data: bytes) -> datetime.datetime:
    """Postgres drops a zone written in a timestamp without time zone."""
    return _datetime(data).replace(tzinfo=None)


def _date_binary(data: bytes) -> datetime.date:
    return datetime.date.fromordinal(struct.unpack("!i", data)[0] + EPOCH_DAY)


def _datetime_binary(data: bytes) -> datetime.datetime:
    micros: int = struct.unpack("!q", data)[0]
    return EPOCH + micros * MICROSECOND


_TEXT_IN: Final[dict[Kind, Callable[[bytes], Any]]] = {
    "boolean": _boolean,
    "bigint": _integer("bigint"),
    "smallint": _integer("smallint"),
    "integer": _integer("integer"),
    "text": _string,
    "real": lambda data: single(float(_words(data))),
    "double precision": lambda data: float(_words(data)),
    "unknown": _string,
    "character": lambda data: _string(data).rstrip(" "),
    "character varying": _string,
    "date": _date,
    "timestamp without time zone": _naive,
    "timestamp with time zone": _datetime,
    "interval": lambda data: interval(_words(data)),
    "numeric": lambda data: numerics.from_text(_words(data)),
    "uuid": lambda data: uuid.UUID(_words(data)),
}

_BINARY_IN: Final[dict[Kind, Callable[[bytes], Any]]] = {
    "boolean": _boolean_binary,
    "bigint": _unpack("!q"),
    "smallint": _unpack("!h"),
    "integer": _unpack("!i"),
    "text": _string,
    "real": _unpack("!f"),
    "double precision": _unpack("!d"),
    "unknown": _string,
    "character": lambda data: _string(data).rstrip(" "),
    "character varying": _string,
    "date": _date_binary,
    "timestamp without time zone": _datetime_binary,
    "timestamp with time zone": lambda data: _datetime_binary(data).replace(tzinfo=datetime.UTC),
    "interval": intervals.from_binary,
    "numeric": numerics.from_binary,
    "uuid": lambda data: uuid.UUID(bytes=data),
}
