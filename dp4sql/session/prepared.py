"""Prepared statements and portals, as a session keeps them."""

from __future__ import annotations

from dataclasses import dataclass, field

from dp4sql.algebra.types import Type
from dp4sql.catalog.route import Route
from dp4sql.errors import (
    DuplicatePortal,
    DuplicateStatement,
    LimitExceeded,
    UndefinedPortal,
    UndefinedStatement,
)
from dp4sql.session.commands import Command
from dp4sql.session.results import Result
from dp4sql.sql.lexer import Statement
from dp4sql.wire.messages import Target
from dp4sql.wire.replies import Field

MAX_STATEMENTS = 1000
MAX_PORTALS = 1000
MAX_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement with what Describe tells of it. `command` is None for an empty statement.

    `route` is None where the session itself answers; `types` are the parameters' types for the
    pipeline, `oids` the same for the client. `inner` is the query inside EXPLAIN, COPY and DECLARE.
    `served` is what answered when all this was found out.
    `error_columns` is the setting that `fields` were described under. The answer of a `lasting` one
    holds for everybody, at any time.
    """

    statement: Statement
    command: Command | None
    route: Route | None = None
    oids: tuple[int, ...] = ()
    types: tuple[Type, ...] = ()
    fields: tuple[Field, ...] | None = None
    inner: Prepared | None = None
    served: object = None
    error_columns: bool = False
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class Arguments:
    """Parameter values as they were sent, and their format codes (one each)."""

    values: tuple[bytes | None, ...] = ()
    formats: tuple[int, ...] = ()


@dataclass(slots=True)
class Portal:
    """A statement bound to arguments, and how far its rows have been sent."""

    prepared: Prepared
    arguments: Arguments
    formats: tuple[int, ...]
    hold: bool = False
    result: Result | None = None
    position: int = 0

    @property
    def size(self) -> int:
        given = sum(len(value) for value in self.arguments.values if value is not None)
        return given + (self.result.size if self.result else 0)


@dataclass(slots=True)
class Names:
    """The named and unnamed statements and portals of a session. Cursors are portals."""

    statements: dict[str, Prepared] = field(default_factory=dict)
    portals: dict[str, Portal] = field(default_factory=dict)

    def statement(self, name: str) -> Prepared:
        if name not in self.statements:
            shown = f'prepared statement "{name}"' if name else "unnamed prepared statement"
            raise UndefinedStatement(f"{shown} does not exist")
        return self.statements[name]

    def rename(self, unnamed: Prepared | None) -> None:
        """Make `unnamed` the unnamed statement."""
        if unnamed is None:
            self.statements.pop("", None)
        else:
            self.statements[""] = unnamed

    def portal(self, name: str, what: str = "portal") -> Portal:
        if name not in self.portals:
            raise UndefinedPortal(f'{what} "{name}" does not exist')
        return self.portals[name]

    def check_free(self, name: str) -> None:
        if name and name in self.statements:
            raise DuplicateStatement(f'prepared statement "{name}" already exists')

    def add_statement(self, name: str, prepared: Prepared) -> None:
        self.check_free(name)
        kept = sum(found.statement.size for found in self.statements.values())
        if len(self.statements) >= MAX_STATEMENTS or kept > MAX_BYTES:
            raise LimitExceeded("too many prepared statements", hint="DEALLOCATE those not in use.")
        self.statements[name] = prepared

    def add_portal(self, name: str, portal: Portal, what: str = "portal") -> None:
        if name and name in self.portals:
            raise DuplicatePortal(f'{what} "{name}" already exists')
        if len(self.portals) >= MAX_PORTALS:
            raise _too_many_portals()
        self.check_room()
        self.portals[name] = portal

    def check_room(self) -> None:
        """Whether the arguments and answers that are kept are still few enough."""
        if sum(found.size for found in self.portals.values()) > MAX_BYTES:
            raise _too_many_portals()

    def close(self, target: Target, name: str) -> None:
        """Forget a statement (S) or portal (P); one that does not exist is closed already."""
        if target == "S":
            self.statements.pop(name, None)
        else:
            self.portals.pop(name, None)

    def end_transaction(self) -> None:
        """Portals live as long as their transaction, cursors WITH HOLD as long as the session."""
        if self.portals:
            self.portals = {name: portal for name, portal in self.portals.items() if portal.hold}


def _too_many_portals() -> LimitExceeded:
    return LimitExceeded("too many open portals and cursors", hint="Close those not in use.")
