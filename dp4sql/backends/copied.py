"""Rows that Postgres sends by COPY in its binary format, as columns, while they come.

An ordinary fetch would hold each value as a Python object until the last row is there, and a cursor would
have the server forgo parallel plans. The format: 11 bytes that say what it is, flags, the length of an
extension; a row is the number of its fields and each field's length (-1 for NULL) and bytes; -1 ends it.
"""

from __future__ import annotations

import datetime
import struct
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from dp4sql.errors import InternalError
from dp4sql.rows import PART, Collected, listed

HEAD: Final = 19
END: Final = b"\xff\xff"
EPOCH: Final = datetime.date(2000, 1, 1).toordinal()
#: OIDs of smallint, integer, bigint: their bytes.
WHOLE: Final = {21: 2, 23: 4, 20: 8}


def _whole(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def _date(data: bytes) -> datetime.date:
    """ValueError where Python has no such date; the infinite ones are its last and its first."""
    days = _whole(data)
    if abs(days) >= 2**31 - 1:
        return datetime.date.max if days > 0 else datetime.date.min
    return datetime.date.fromordinal(EPOCH + days)


#: By OID; also boolean, date, text, character and character varying.
READERS: Final[dict[int, Callable[[bytes], Any]]] = {
    **dict.fromkeys(WHOLE, _whole),
    16: lambda data: data != b"\0",
    1082: _date,
    **dict.fromkeys((25, 1042, 1043), bytes.decode),
}


def readable(oids: Sequence[int]) -> bool:
    """Whether columns of these types can be read here."""
    return bool(oids) and all(oid in READERS for oid in oids)


class Copied:
    """What has come so far. Many integers without NULLs are arrays, which are read in one step."""

    def __init__(self, oids: Sequence[int]) -> None:
        self._found, self._readers = Collected(len(oids)), [READERS[oid] for oid in oids]
        self._sizes = [WHOLE[oid] for oid in oids if oid in WHOLE]
        self._fixed = _fixed(self._sizes) if len(self._sizes) == len(oids) else None
        self._rest, self._rows, self._begun = b"", list[tuple[Any, ...]](), False
        self._error: Exception | None = None

    async def take(self, data: bytes) -> None:
        """Never fails, for asyncpg would wait for ever then: `columns` does."""
        if self._error is None:
            try:
                self._take(data)
            except Exception as error:
                self._error = error

    def _take(self, data: bytes) -> None:
        self._rest += data
        if not self._begun and len(self._rest) >= HEAD:
            self._rest, self._begun = self._rest[HEAD:], True
        if self._begun:
            self._rest = self._rest[self._take_integers() :]
            # Rows with NULL are shorter.
            self._rest = self._rest[self._take_any() :]

    def columns(self) -> list[Any]:
        """All columns; short ones are lists."""
        if self._error is not None:
            raise self._error
        self._flush()
        if self._rest != END:
            raise InternalError("COPY ended within a row")
        return [c if len(c) >= PART else listed(c) for c in self._found.columns()]

    def _flush(self) -> None:
        if self._rows:
            self._found.add(self._rows)
            self._rows = []

    def _take_integers(self) -> int:
        """Bytes of whole rows that were taken; 0 where a field is not an integer of its size."""
        if self._fixed is None:
            return 0
        rows = np.frombuffer(self._rest, self._fixed, len(self._rest) // self._fixed.itemsize)
        if not (rows["fields"] == len(self._sizes)).all():
            return 0
        if not all((rows[f"size{i}"] == size).all() for i, size in enumerate(self._sizes)):
            return 0
        self._flush()
        self._found.add_columns(rows[f"value{i}"] for i in range(len(self._sizes)))
        return rows.nbytes

    def _take_any(self) -> int:
        data, end = self._rest, 0
        while (row := _row(data, end, self._readers)) is not None:
            values, end = row
            self._rows.append(values)
        if len(self._rows) >= PART:
            self._flush()
        return end


def _fixed(sizes: Sequence[int]) -> np.dtype[Any]:
    fields = [("fields", ">i2")]
    for i, size in enumerate(sizes):
        fields += [(f"size{i}", ">i4"), (f"value{i}", f">i{size}")]
    return np.dtype(fields)


def _row(
    data: bytes, at: int, readers: Sequence[Callable[[bytes], Any]]
) -> tuple[tuple[Any, ...], int] | None:
    """The values of the row at `at`, and where the next one begins; None where it is not all there."""
    if data[at : at + 2] == END or len(data) < at + 2:
        return None
    at += 2
    values = []
    for read in readers:
        if len(data) < at + 4:
            return None
        (size,) = _SIZE.unpack_from(data, at)
        at += 4
        if len(data) < at + max(size, 0):
            return None
        values.append(None if size < 0 else read(data[at : at + size]))
        at += max(size, 0)
    return tuple(values), at


_SIZE: Final = struct.Struct(">i")
