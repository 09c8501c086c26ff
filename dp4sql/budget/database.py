"""Where a ledger is kept: SQLite beside the data, or a Postgres that several proxies share.

Both hold the same tables and run the same statements, with ? for values.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

from dp4sql.budget.entry import Row
from dp4sql.errors import InvalidParameter, LedgerBroken

TABLES: Final = """
CREATE TABLE IF NOT EXISTS entries (
    id INTEGER PRIMARY KEY,
    query INTEGER NOT NULL,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    database TEXT NOT NULL,
    entity TEXT NOT NULL,
    policy TEXT NOT NULL,
    member TEXT NOT NULL,
    epsilon TEXT NOT NULL,
    total TEXT NOT NULL,
    role TEXT NOT NULL,
    statement TEXT NOT NULL,
    derivation TEXT NOT NULL,
    delta TEXT NOT NULL DEFAULT '0',
    hash TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY,
    at TEXT NOT NULL,
    content TEXT NOT NULL,
    entry INTEGER NOT NULL,
    database TEXT NOT NULL,
    version INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS uses (
    at TEXT NOT NULL,
    key TEXT NOT NULL,
    role TEXT NOT NULL,
    purpose TEXT NOT NULL,
    reused INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS data_versions (database TEXT NOT NULL, at TEXT NOT NULL, note TEXT NOT NULL);
DROP TABLE IF EXISTS kept;
"""
ADD_DELTA: Final = "ALTER TABLE entries ADD COLUMN delta TEXT NOT NULL DEFAULT '0'"
"""For a ledger from before there were deltas."""


class Database(Protocol):
    """One connection, safe to share between threads. Whatever fails is LedgerBroken; after that the next
    call tries anew."""

    name: str

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[None]:
        """One writer at a time among all processes. Committed at the end and, if `durable`, on disk; rolled
        back when the block raises."""

    def run(self, sql: str, *values: object) -> list[Row]:
        """All rows of one statement; outside a transaction it is one of its own."""

    def witness(self) -> tuple[int, str] | None:
        """How many entries there were, and the hash of the last, as noted apart from the entries."""

    def note(self, count: int, link: str) -> None:
        """Within a transaction: note the end of the entries as it will be. It never gets ahead of the disk."""

    def close(self) -> None: ...


def is_server(where: str | Path) -> bool:
    return str(where).startswith(("postgresql://", "postgres://"))


def beside(identity: str) -> Path:
    """Where the ledger of a database is kept unless another place is named: beside its file or folder."""
    _, _, path = identity.partition("://")
    if is_server(identity):
        raise InvalidParameter(
            "a database server has no folder for its ledger",
            hint="--ledger says where it is kept: a file, or a postgresql:// URL.",
        )
    return Path(f"{path}.ledger")


def open_database(where: str | Path, *, create: bool = True) -> Database:
    """`where`: the path of a SQLite file or a postgresql:// URL; made there if missing, unless not `create`."""
    from dp4sql.budget.postgres import Postgres
    from dp4sql.budget.sqlite import Sqlite

    if is_server(where):
        return Postgres(str(where), create=create)
    return Sqlite(Path(where), create=create)


def broken(name: str, what: str, reason: str) -> LedgerBroken:
    return LedgerBroken(
        f"the ledger {name} {what} ({reason})",
        hint="No query is answered without its charge. Check the disk and the file's permissions, or the "
        "ledger's server, then try again.",
    )
