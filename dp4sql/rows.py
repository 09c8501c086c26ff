"""What leaves the backend and what leaves the proxy.

`PrivateRows` cannot be looked at by accident: no iteration, no length, no repr of its content. The
mechanisms open it, and only they may. `Released` is safe to show: its values are noisy or were never
private.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from dp4sql.algebra.types import Type, Value

PART: Final = 10_000
"""So many rows are in hand at a time; answers that have no more are plain lists."""

Row: TypeAlias = tuple[Value, ...]
Array: TypeAlias = NDArray[np.int64]
Where: TypeAlias = slice | Array
"""Some of many rows: a part of them, or those at places."""


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of an answer: its SQL name and Postgres type."""

    name: str
    type: Type


class Rows(Sequence[Row]):
    """Many rows, built a part at a time from what takes less room. `whole` holds, by column, what is an array
    of integers and the unit that they count."""

    __slots__ = ("_length", "_part", "whole")

    def __init__(
        self,
        length: int,
        part: Callable[[Where], list[Row]],
        whole: Mapping[int, tuple[Array, Fraction]] | None = None,
    ) -> None:
        self._length, self._part, self.whole = length, part, whole or {}

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return self._part(index)
        place = range(self._length)[index]
        return self._part(slice(place, place + 1))[0]

    def __iter__(self) -> Iterator[Row]:
        for start in range(0, self._length, PART):
            yield from self._part(slice(start, start + PART))

    def at(self, places: Array) -> list[Row]:
        return self._part(places)


class Collected:
    """Columns of rows that come in parts. Integers of 64 bits are arrays where there are many, and the rest
    lists of Python values."""

    __slots__ = ("_parts",)

    def __init__(self, width: int) -> None:
        self._parts: list[list[Any]] = [[] for _ in range(width)]

    def add(self, rows: Sequence[Sequence[Any]]) -> None:
        for parts, values in zip(self._parts, zip(*rows, strict=True), strict=True):
            parts.append(_packed(values) if len(rows) >= PART or parts else list(values))

    def add_columns(self, columns: Iterable[Any]) -> None:
        """What remains, as numpy has it."""
        for parts, values in zip(self._parts, columns, strict=True):
            whole = type(values) is np.ndarray and values.dtype.kind == "i"
            parts.append(values.astype(np.int64) if whole else values.tolist())

    def columns(self) -> list[Any]:
        return [_joined(parts) for parts in self._parts]


def _packed(values: Sequence[Any]) -> Any:
    found = np.array(values) if isinstance(values[0], int) else None
    return found if found is not None and found.dtype == np.int64 else list(values)


def _joined(parts: list[Any]) -> Any:
    if len(parts) > 1 and all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return [value for part in parts for value in listed(part)]


def listed(column: Any) -> list[Any]:
    """A column, or a part of one, as Python values."""
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def taken(column: Any, where: Where) -> list[Any]:
    """Some values of a column, or some of many rows."""
    if isinstance(where, slice) or isinstance(column, np.ndarray):
        return listed(column[where])
    return column.at(where) if isinstance(column, Rows) else [column[i] for i in where.tolist()]


class PrivateRows:
    """Column arrays as the engine gave them. `open_columns` is for `dp4sql.mechanisms` alone."""

    __slots__ = ("_columns",)

    def __init__(self, columns: Sequence[Any]) -> None:
        self._columns = tuple(columns)

    def open_columns(self) -> tuple[Any, ...]:
        """The columns, each a numpy array or a list of Python values, all of one length."""
        return self._columns

    @property
    def many(self) -> bool:
        """Whether what is done with them keeps a thread for long."""
        return any(len(column) > PART for column in self._columns)

    def __repr__(self) -> str:
        return "PrivateRows(...)"


@dataclass(frozen=True, slots=True)
class Released:
    """An answer: columns, rows in order, and notices for the client."""

    columns: tuple[OutputColumn, ...]
    rows: Sequence[tuple[Value, ...]]
    notices: tuple[str, ...] = field(default=())
