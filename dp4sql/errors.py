"""Every error that can reach a client, as a tree.

    Dp4sqlError
      PolicyError               F0000  the policy file is wrong; carries every problem found
      PolicyChanged             F0000  the ledger holds charges that the policy file cannot go on from
      SqlError                  what the statement got wrong
        SyntaxError_            42601  not SQL
        UndefinedTable          42P01
        UndefinedColumn         42703
        AmbiguousColumn         42702
        UndefinedFunction       42883
        DatatypeMismatch        42804
        GroupingError           42803
        InvalidParameter        22023  an argument or a setting has a value that makes no sense
        NumberOutOfRange        22003  a constant or a released number is too large for its type
        InvalidText             22P02  a parameter's text is not of its type
        CardinalityViolation    21000  a subquery used as an expression gave several rows
        TooComplex              54001  it needs more tables, aggregates or nesting than can be planned
      Unsupported               0A000  SQL that is understood but has no rule or no rendering
        StalePlan               0A000  a statement whose columns have changed since it was prepared
      Refused                   42501  an answer would break the policy: no finite bound, raw rows
        NoBins                  42501  a private grouping column without a public list of bins
        ReadOnly                25006  INSERT, CREATE, COPY FROM ...
      BudgetExceeded            53400  the ledger holds too little
      LedgerBroken              58030  the ledger cannot be trusted or written
      AuditBroken               58030  the audit log cannot be written
      EngineError               58000  the backing database failed; its text goes to the log alone
        QueryCanceled           57014
      ProtocolViolation         08P01
      AuthenticationFailed      28P01
      LoginRefused              28000  whoever it is: a name of the server's own, a network that can be read
      UndefinedDatabase         3D000
      SessionError              what the statement got wrong about its session
        UndefinedStatement      26000
        DuplicateStatement      42P05
        UndefinedPortal         34000
        DuplicatePortal         42P03
        UndefinedSavepoint      3B001
        NoTransaction           25P01  it works inside BEGIN ... COMMIT alone
        FailedTransaction       25P02
        InvalidEncoding         22021
      ServerError               what the server cannot do now
        TooManyConnections      53300
        LimitExceeded           54000
        ShuttingDown            57P01
        IdleTooLong             57P05
        CatalogUnavailable      58000  no Postgres to answer catalog queries
      InternalError             XX000

A message says what was found, a hint what would work. Neither ever carries data: texts depend on
the statement, the schema and the policy alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


class Dp4sqlError(Exception):
    """Root. `position` is a 1-based character offset into the statement, as Postgres counts."""

    sqlstate = "XX000"
    routine: str | None = None

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        detail: str | None = None,
        position: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail
        self.position = position


@contextmanager
def located(position: int | None) -> Iterator[None]:
    """What is refused inside without saying where stands at `position`."""
    try:
        yield
    except Dp4sqlError as error:
        if error.position is None:
            error.position = position
        raise


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a policy: where, what was found, what would work."""

    file: str
    line: int
    found: str
    hint: str
    rule: str | None = None

    def __str__(self) -> str:
        rule = f" [{self.rule}]" if self.rule else ""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.found}{rule}: {self.hint}"


class PolicyError(Dp4sqlError):
    """All mistakes of one policy file, in file order."""

    sqlstate = "F0000"

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)


class PolicyChanged(Dp4sqlError):
    sqlstate = "F0000"


class SqlError(Dp4sqlError):
    sqlstate = "42000"


class SyntaxError_(SqlError):
    sqlstate = "42601"


class UndefinedTable(SqlError):
    sqlstate = "42P01"


class UndefinedColumn(SqlError):
    sqlstate = "42703"


class AmbiguousColumn(SqlError):
    sqlstate = "42702"


class UndefinedFunction(SqlError):
    sqlstate = "42883"


class DatatypeMismatch(SqlError):
    sqlstate = "42804"


class GroupingError(SqlError):
    sqlstate = "42803"


class InvalidParameter(SqlError):
    sqlstate = "22023"


class NumberOutOfRange(SqlError):
    sqlstate = "22003"


class InvalidText(SqlError):
    sqlstate = "22P02"


class CardinalityViolation(SqlError):
    sqlstate = "21000"


class TooComplex(SqlError):
    sqlstate = "54001"


class Unsupported(Dp4sqlError):
    sqlstate = "0A000"


class StalePlan(Unsupported):
    """Drivers know it by the routine, and prepare the statement again."""

    routine = "RevalidateCachedQuery"


class Refused(Dp4sqlError):
    sqlstate = "42501"


class NoBins(Refused):
    pass


class ReadOnly(Refused):
    sqlstate = "25006"


class BudgetExceeded(Dp4sqlError):
    sqlstate = "53400"


class LedgerBroken(Dp4sqlError):
    sqlstate = "58030"


class AuditBroken(Dp4sqlError):
    sqlstate = "58030"


class EngineError(Dp4sqlError):
    sqlstate = "58000"


class QueryCanceled(EngineError):
    sqlstate = "57014"


class ProtocolViolation(Dp4sqlError):
    sqlstate = "08P01"


class AuthenticationFailed(Dp4sqlError):
    sqlstate = "28P01"


class LoginRefused(Dp4sqlError):
    sqlstate = "28000"


class UndefinedDatabase(Dp4sqlError):
    sqlstate = "3D000"


class InternalError(Dp4sqlError):
    sqlstate = "XX000"


class SessionError(Dp4sqlError):
    sqlstate = "42000"


class UndefinedStatement(SessionError):
    sqlstate = "26000"


class DuplicateStatement(SessionError):
    sqlstate = "42P05"


class UndefinedPortal(SessionError):
    sqlstate = "34000"


class DuplicatePortal(SessionError):
    sqlstate = "42P03"


class UndefinedSavepoint(SessionError):
    sqlstate = "3B001"


class NoTransaction(SessionError):
    sqlstate = "25P01"


class FailedTransaction(SessionError):
    sqlstate = "25P02"


class InvalidEncoding(SessionError):
    sqlstate = "22021"


class ServerError(Dp4sqlError):
    sqlstate = "58000"


class TooManyConnections(ServerError):
    sqlstate = "53300"


class LimitExceeded(ServerError):
    sqlstate = "54000"


class ShuttingDown(ServerError):
    sqlstate = "57P01"


class IdleTooLong(ServerError):
    sqlstate = "57P05"


class IdleInTransaction(ServerError):
    sqlstate = "25P03"


class CatalogUnavailable(ServerError):
    pass
