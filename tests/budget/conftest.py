"""A place for a ledger in each engine, and a way around it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import psycopg
import pytest

from dp4sql.budget.postgres import SCHEMA
from dp4sql.catalog import embedded

Where: TypeAlias = str | Path
Tamper: TypeAlias = Callable[[str], None]


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a Postgres that keeps what it commits, unlike the one that answers catalog queries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedded, "_SETTINGS", {**embedded._SETTINGS, "fsync": "on"})
        running = asyncio.run(embedded.start())
    yield f"postgresql://{embedded.SUPERUSER}@/template1?host={running.directory}"
    asyncio.run(running.stop())


@pytest.fixture
def postgres(server: str) -> str:
    """The URL of a database without a ledger."""
    with psycopg.connect(server) as db:
        db.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE".encode())
    return server


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Where:
    if request.param == "sqlite":
        return tmp_path / "ledger"
    url: str = request.getfixturevalue("postgres")
    return url


@pytest.fixture
def tamper(where: Where) -> Tamper:
    """Runs SQL on the ledger as somebody would who knows how to switch the triggers off."""

    def change(sql: str) -> None:
        if isinstance(where, Path):
            with sqlite3.connect(where) as db:
                db.execute("DROP TRIGGER IF EXISTS entries_no_update")
                db.execute("DROP TRIGGER IF EXISTS entries_no_delete")
                db.executescript(sql)
        else:
            with psycopg.connect(where, options=f"-c search_path={SCHEMA}") as connection:
                connection.execute("ALTER TABLE entries DISABLE TRIGGER ALL")
                connection.execute(sql.encode())

    return change
