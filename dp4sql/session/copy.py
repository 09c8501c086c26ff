"""COPY (SELECT ...) TO STDOUT of released rows: text, csv and binary, as Postgres writes them."""

from __future__ import annotations

import datetime
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from dp4sql.algebra.types import Value
from dp4sql.errors import InvalidParameter, Unsupported
from dp4sql.rows import Released
from dp4sql.session.results import Result
from dp4sql.wire import replies as r
from dp4sql.wire.values import BINARY_FORMAT, TEXT_FORMAT, encoder

FRAMES: Final = 256
_BINARY_HEADER: Final = b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0)
_BINARY_END: Final = struct.pack("!h", -1)
_ESCAPES: Final = {
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


@dataclass(frozen=True, slots=True)
class Layout:
    """How rows are written. `forced` names the columns that csv always quotes."""

    format: str
    delimiter: str
    null: str
    quote: str
    escape: str
    header: bool
    forced: frozenset[str]


def layout(options: Mapping[str, str]) -> Layout:
    """Options of COPY; InvalidParameter for values that make no sense."""
    unknown = options.keys() - {
        *("format", "delimiter", "null", "quote", "escape", "header", "force_quote", "encoding")
    }
    if unknown:
        raise Unsupported(f"COPY TO has no option {min(unknown)} here")
    format = options.get("format", "text").lower()
    if format not in ("text", "csv", "binary"):
        raise InvalidParameter(f'COPY format "{format}" not recognized', hint="text, csv or binary")
    csv = format == "csv"
    quote = options.get("quote", '"')
    found = Layout(
        format,
        options.get("delimiter", "," if csv else "\t"),
        options.get("null", "" if csv else "\\N"),
        quote,
        options.get("escape", quote),
        options.get("header", "off").lower() in ("on", "true", "1"),
        frozenset(name.strip() for name in options.get("force_quote", "").split(",")),
    )
    for name, text in (("delimiter", found.delimiter), ("quote", quote), ("escape", found.escape)):
        if len(text.encode()) != 1:
            raise InvalidParameter(f"COPY {name} must be a single one-byte character")
    return found


def copied(released: Released, how: Layout, zone: datetime.tzinfo) -> Result:
    """The frames of a whole COPY, from CopyOutResponse to CopyDone."""
    code = BINARY_FORMAT if how.format == "binary" else TEXT_FORMAT
    write = {"binary": _binary, "csv": _csv, "text": _text}[how.format]
    encoders = [encoder(column.type, code, zone) for column in released.columns]
    rows = ([_encoded(e, v) for e, v in zip(encoders, row, strict=True)] for row in released.rows)
    names = [column.name for column in released.columns]
    frames = [
        r.copy_out_response(len(names), code),
        *_joined(map(r.copy_data, write(rows, names, how))),
        r.COPY_DONE,
    ]
    notices = tuple(r.notice_response("NOTICE", {"C": "00000", "M": n}) for n in released.notices)
    return Result(f"COPY {len(released.rows)}", rows=frames, notices=notices)


def _joined(frames: Iterator[bytes]) -> Iterator[bytes]:
    """Many frames in one piece: a million of them by themselves take more memory than what is in them."""
    while part := b"".join(islice(frames, FRAMES)):
        yield part


def _encoded(encode: Callable[[Value], bytes], value: Value) -> bytes | None:
    return None if value is None else encode(value)


def _binary(
    rows: Iterator[list[bytes | None]], names: Sequence[str], how: Layout
) -> Iterator[bytes]:
    # As in Postgres the header shares its message with the first row; psycopg relies on it.
    before = _BINARY_HEADER
    for row in rows:
        cells = (struct.pack("!i", -1) if c is None else struct.pack("!i", len(c)) + c for c in row)
        yield before + struct.pack("!h", len(row)) + b"".join(cells)
        before = b""
    yield before + _BINARY_END


def _text(rows: Iterator[list[bytes | None]], names: Sequence[str], how: Layout) -> Iterator[bytes]:
    special = str.maketrans(
        _ESCAPES | {how.delimiter: _ESCAPES.get(how.delimiter, "\\" + how.delimiter)}
    )
    if how.header:
        yield _line(how, (name.translate(special) for name in names))
    for row in rows:
        yield _line(how, (how.null if c is None else c.decode().translate(special) for c in row))


def _csv(rows: Iterator[list[bytes | None]], names: Sequence[str], how: Layout) -> Iterator[bytes]:
    forced = [name in how.forced or "*" in how.forced for name in names]
    if how.header:
        yield _line(how, (_quoted(name, how, False, len(names)) for name in names))
    for row in rows:
        cells = zip(row, forced, strict=True)
        yield _line(
            how,
            (how.null if c is None else _quoted(c.decode(), how, f, len(row)) for c, f in cells),
        )


def _quoted(text: str, how: Layout, force: bool, columns: int) -> str:
    special = {how.delimiter, how.quote, "\n", "\r"}
    # A lone \. would end the data for old readers.
    needed = text == how.null or special & set(text) or (columns == 1 and text == "\\.")
    if not (force or needed):
        return text
    doubled = text.replace(how.escape, how.escape * 2)
    if how.quote != how.escape:
        doubled = doubled.replace(how.quote, how.escape + how.quote)
    return f"{how.quote}{doubled}{how.quote}"


def _line(how: Layout, cells: Iterator[str]) -> bytes:
    return (how.delimiter.join(cells) + "\n").encode()
