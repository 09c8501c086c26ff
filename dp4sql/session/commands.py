"""What a statement asks of its session, as data. Queries are left as text for whoever answers them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dp4sql.sql.lexer import Statement

ALL: Final = 2**63 - 1

Format: TypeAlias = Literal["text", "json"]


@dataclass(frozen=True, slots=True)
class Select:
    query: Statement


@dataclass(frozen=True, slots=True)
class Begin:
    modes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Commit:
    chain: bool


@dataclass(frozen=True, slots=True)
class Rollback:
    chain: bool


@dataclass(frozen=True, slots=True)
class Savepoint:
    name: str


@dataclass(frozen=True, slots=True)
class Release:
    name: str


@dataclass(frozen=True, slots=True)
class RollbackTo:
    name: str


@dataclass(frozen=True, slots=True)
class Set:
    """Settings to change, None for their defaults. `local` ends with the transaction."""

    values: Mapping[str, str | None]
    local: bool = False


@dataclass(frozen=True, slots=True)
class Show:
    name: str


@dataclass(frozen=True, slots=True)
class Reset:
    """None resets all."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Discard:
    what: str


@dataclass(frozen=True, slots=True)
class Explain:
    query: Statement
    format: Format


@dataclass(frozen=True, slots=True)
class Prepare:
    name: str
    types: tuple[str, ...]
    query: Statement


@dataclass(frozen=True, slots=True)
class ExecutePrepared:
    """Arguments are texts of constants, None for NULL."""

    name: str
    arguments: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Deallocate:
    name: str | None


@dataclass(frozen=True, slots=True)
class Declare:
    name: str
    hold: bool
    query: Statement


@dataclass(frozen=True, slots=True)
class Fetch:
    """`count` rows onwards (backwards when negative), or one row at or `count` away from a place."""

    cursor: str
    kind: Literal["forward", "absolute", "relative"]
    count: int
    move: bool


@dataclass(frozen=True, slots=True)
class CloseCursor:
    name: str | None


@dataclass(frozen=True, slots=True)
class Copy:
    query: Statement
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Ignored:
    """Accepted and without effect; `tag` is what Postgres answers."""

    tag: str


Command: TypeAlias = (
    Select
    | Begin
    | Commit
    | Rollback
    | Savepoint
    | Release
    | RollbackTo
    | Set
    | Show
    | Reset
    | Discard
    | Explain
    | Prepare
    | ExecutePrepared
    | Deallocate
    | Declare
    | Fetch
    | CloseCursor
    | Copy
    | Ignored
)
