"""What the pipeline asks of an engine. One file an engine beside this one; drivers stay in theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from dp4sql.errors import EngineError, QueryCanceled
from dp4sql.rows import OutputColumn, PrivateRows


class Backend(Protocol):
    """A read-only, locked-down connection to the database that holds the private rows.

    `dialect` is what `dp4sql.sql.render` writes for it. `identity` names the database in the ledger
    and must stay the same across restarts. `fetch` runs one SELECT that dp4sql rendered; cancelling
    the task that awaits it stops the engine's work. Engine errors are logged and raised as
    `EngineError` without the engine's text, because that text may quote data.
    """

    dialect: Literal["duckdb", "postgres", "spark"]
    identity: str

    async def fetch(self, sql: str, columns: Sequence[OutputColumn]) -> PrivateRows: ...

    async def ping(self) -> None: ...

    async def close(self) -> None: ...


def query_failed() -> EngineError:
    """What a client hears when the engine reports an error: the same whatever the error was."""
    return EngineError(
        "the database could not run the query",
        hint="The proxy's log, for the curator, holds the reason.",
    )


def query_canceled() -> QueryCanceled:
    return QueryCanceled("canceling statement due to user request")
