"""What leaves the backend and what leaves the proxy.

`PrivateRows` cannot be looked at by accident: no iteration, no length, no repr of its content. The
mechanisms open it, and only they may. `Released` is safe to show: its values are noisy or were never
private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dp4sql.algebra.types import Type, Value


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column of an answer: its SQL name and Postgres type."""

    name: str
    type: Type


class PrivateRows:
    """Column arrays as the engine gave them. `open_columns` is for `dp4sql.mechanisms` alone."""

    __slots__ = ("_columns",)

    def __init__(self, columns: Sequence[Any]) -> None:
        self._columns = tuple(columns)

    def open_columns(self) -> tuple[Any, ...]:
        """The columns, each a numpy array or a list of Python values, all of one length."""
        return self._columns

    def __repr__(self) -> str:
        return "PrivateRows(...)"


@dataclass(frozen=True, slots=True)
class Released:
    """An answer: columns, rows in order, and notices for the client."""

    columns: tuple[OutputColumn, ...]
    rows: list[tuple[Value, ...]]
    notices: tuple[str, ...] = field(default=())
