"""What the pipeline asks of an engine. One file an engine beside this one; drivers stay in theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from dp4sql.errors import EngineError, QueryCanceled
from dp4sql.rows import OutputColumn, PrivateRows


class Backend(Protocol):
    """A read-only, locked-down connection to the database that holds the private rows.

    `dialect` is what `dp4sql.sql.render` writes for it. `identity` names the database in the ledger
    and must stay the same across restarts. `fetch` runs one SELECT that dp4sql rendered;
    `many`: there may be more rows than should be in memory as Python objects. Cancelling the task that
    awaits it stops the engine's work. Engine errors are logged and raised as
    `EngineError` without the engine's text, because that text may quote data.
    """

    dialect: Literal["duckdb", "postgres", "spark"]
    identity: str

    async def fetch(
        self, sql: str, columns: Sequence[OutputColumn], *, many: bool = False
    ) -> PrivateRows: ...

    async def ping(self) -> None: ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Read:
    """One SELECT that dp4sql rendered, the columns it has, and whether its rows may be many."""

    sql: str
    columns: Sequence[OutputColumn]
    many: bool = False


Fetch: TypeAlias = Callable[[str, Sequence[OutputColumn]], PrivateRows]
"""`Backend.fetch` for a thread that waits."""


class Visit(Protocol):
    """One of an engine's threads, taken for a statement."""

    async def run(self, work: Callable[[Fetch], None]) -> None:
        """`work` in the thread, with what reads there. Cancelling the task that awaits it stops what is
        being read and refuses further reads; otherwise `work` goes on by itself."""


@runtime_checkable
class Threaded(Protocol):
    """A backend that reads in threads."""

    def visit(self) -> Visit | None:
        """None where no thread is free; `fetch` waits for one."""


def query_failed() -> EngineError:
    """What a client hears when the engine reports an error: the same whatever the error was."""
    return EngineError(
        "the database could not run the query",
        hint="The proxy's log, for the curator, holds the reason.",
    )


def query_canceled() -> QueryCanceled:
    return QueryCanceled("canceling statement due to user request")
