"""Protocol 3 as data: what the server says, encoded. `dp4sql.wire.messages` is what it is told.

Source: the PostgreSQL documentation, "Frontend/Backend Protocol", Message Formats.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from dp4sql.wire.messages import PROTOCOL_3_0

_SIZE = struct.Struct("!i")


class Field(NamedTuple):
    """One column of a RowDescription. `size` and `modifier` as in pg_type.typlen and atttypmod."""

    name: str
    oid: int
    size: int = -1
    modifier: int = -1


_COUNT = struct.Struct("!H")
_FIELD = struct.Struct("!ihihih")
_NULL = _SIZE.pack(-1)


def frame(kind: bytes, body: bytes = b"") -> bytes:
    return kind + _SIZE.pack(len(body) + 4) + body


def _text(text: str) -> bytes:
    return text.encode() + b"\0"


PARSE_COMPLETE: Final = frame(b"1")
BIND_COMPLETE: Final = frame(b"2")
CLOSE_COMPLETE: Final = frame(b"3")
NO_DATA: Final = frame(b"n")
EMPTY_QUERY: Final = frame(b"I")
PORTAL_SUSPENDED: Final = frame(b"s")
COPY_DONE: Final = frame(b"c")
AUTHENTICATION_OK: Final = frame(b"R", _SIZE.pack(0))


def authentication_sasl(mechanisms: Sequence[str]) -> bytes:
    return frame(b"R", _SIZE.pack(10) + b"".join(map(_text, mechanisms)) + b"\0")


def authentication_sasl_continue(data: bytes) -> bytes:
    return frame(b"R", _SIZE.pack(11) + data)


def authentication_sasl_final(data: bytes) -> bytes:
    return frame(b"R", _SIZE.pack(12) + data)


def negotiate_protocol_version(unknown_options: Sequence[str]) -> bytes:
    options = b"".join(map(_text, unknown_options))
    return frame(b"v", struct.pack("!ii", PROTOCOL_3_0, len(unknown_options)) + options)


def parameter_status(name: str, value: str) -> bytes:
    return frame(b"S", _text(name) + _text(value))


def backend_key_data(pid: int, secret: bytes) -> bytes:
    return frame(b"K", _SIZE.pack(pid) + secret)


def ready_for_query(status: bytes) -> bytes:
    """`status` is I (idle), T (in a transaction) or E (in a failed one)."""
    return frame(b"Z", status)


def parameter_description(oids: Sequence[int]) -> bytes:
    return frame(b"t", struct.pack(f"!H{len(oids)}I", len(oids), *oids))


@lru_cache(maxsize=256)
def row_description(fields: tuple[Field, ...], formats: tuple[int, ...]) -> bytes:
    """`formats` has one code a field."""
    parts = [_COUNT.pack(len(fields))]
    for field, code in zip(fields, formats, strict=True):
        parts.append(_text(field.name))
        parts.append(_FIELD.pack(0, 0, field.oid, field.size, field.modifier, code))
    return frame(b"T", b"".join(parts))


def data_row(values: Sequence[bytes | None]) -> bytes:
    parts = [_COUNT.pack(len(values))]
    for value in values:
        parts.append(_NULL if value is None else _SIZE.pack(len(value)) + value)
    return frame(b"D", b"".join(parts))


def command_complete(tag: str) -> bytes:
    return frame(b"C", _text(tag))


def copy_out_response(columns: int, code: int) -> bytes:
    return frame(b"H", struct.pack(f"!bH{columns}H", code, columns, *[code] * columns))


def copy_data(data: bytes) -> bytes:
    return frame(b"d", data)


def error_response(severity: str, fields: Mapping[str, str]) -> bytes:
    return frame(b"E", _report(severity, fields))


def notice_response(severity: str, fields: Mapping[str, str]) -> bytes:
    return frame(b"N", _report(severity, fields))


def _report(severity: str, fields: Mapping[str, str]) -> bytes:
    """Fields by their one-letter codes: C sqlstate, M message, D detail, H hint, P position, R routine."""
    everything = {"S": severity, "V": severity, **fields}
    parts = [code.encode() + _text(text.replace("\0", "")) for code, text in everything.items()]
    return b"".join(parts) + b"\0"
