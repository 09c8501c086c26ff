"""Answers on their way to the client: rows encoded when they are asked for, and cursors over them."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from dp4sql.algebra.types import Value
from dp4sql.rows import OutputColumn, Released
from dp4sql.session.commands import Fetch
from dp4sql.wire import replies as r
from dp4sql.wire.values import encoder, field_of


class EncodedRows(Sequence[bytes]):
    """DataRow frames of released rows, each encoded when it is taken."""

    def __init__(self, released: Released, formats: Sequence[int], zone: datetime.tzinfo) -> None:
        self._rows = released.rows
        self._encoders = [
            encoder(column.type, code, zone)
            for column, code in zip(released.columns, formats, strict=True)
        ]

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [self._frame(row) for row in self._rows[index]]
        return self._frame(self._rows[index])

    def _frame(self, row: tuple[Value, ...]) -> bytes:
        pairs = zip(self._encoders, row, strict=True)
        return r.data_row([None if value is None else encode(value) for encode, value in pairs])


@dataclass(frozen=True, slots=True)
class Result:
    """What a statement answers.

    `fields` is None where no rows come back, and then `rows` are frames to send as they are (COPY).
    A `counted` tag gets the number of rows that were sent. `released` keeps the values, for other
    formats. `size` counts the bytes of rows that somebody else sent; released rows are few, since their
    bins are declared. What is `lasting` holds for everybody, at any time.
    """

    tag: str
    fields: tuple[r.Field, ...] | None = None
    formats: tuple[int, ...] = ()
    rows: Sequence[bytes] = ()
    counted: bool = False
    released: Released | None = None
    notices: tuple[bytes, ...] = ()
    size: int = 0
    lasting: bool = False


def fields_of(columns: Sequence[OutputColumn]) -> tuple[r.Field, ...]:
    return tuple(map(field_of, columns))


def of_released(
    released: Released, formats: tuple[int, ...], zone: datetime.tzinfo, tag: str, *, counted: bool
) -> Result:
    notices = tuple(r.notice_response("NOTICE", {"C": "00000", "M": n}) for n in released.notices)
    rows = EncodedRows(released, formats, zone)
    return Result(tag, fields_of(released.columns), formats, rows, counted, released, notices)


@dataclass(frozen=True, slots=True)
class Moved:
    """Rows `first` to `last` (from 0, last excluded), backwards or not, and the place afterwards."""

    first: int
    last: int
    backwards: bool
    position: int

    def of(self, rows: Sequence[bytes]) -> Sequence[bytes]:
        taken = rows[self.first : self.last]
        return taken[::-1] if self.backwards else taken


def move(fetch: Fetch, position: int, total: int) -> Moved:
    """Where FETCH leads from `position`: 0 is before the first row, total + 1 after the last."""
    match fetch.kind:
        case "forward" if fetch.count > 0:
            reached = position + fetch.count
            return Moved(position, min(reached, total), False, min(reached, total + 1))
        case "forward" if fetch.count < 0:
            reached = max(position + fetch.count, 0)
            return Moved(max(reached - 1, 0), max(position - 1, 0), True, reached)
        case "forward":
            return _one(position, total)
        case "absolute":
            return _one(fetch.count if fetch.count >= 0 else total + 1 + fetch.count, total)
        case "relative":
            return _one(position + fetch.count, total)


def _one(place: int, total: int) -> Moved:
    place = max(0, min(place, total + 1))
    there = 1 <= place <= total
    return Moved(place - 1 if there else 0, place if there else 0, False, place)
