"""A ledger in a Postgres database, for proxies that share one budget.

The one row of `head` is locked by whoever appends, and notes the end of the entries. The server has to
keep what it has committed: one that runs with fsync off is refused.
"""

from __future__ import annotations

import logging
import select
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import psycopg

from dp4sql.budget.database import ADD_DELTA, TABLES, broken
from dp4sql.budget.entry import START, Row
from dp4sql.errors import LedgerBroken

log = logging.getLogger(__name__)

SCHEMA: Final = "dp4sql_ledger"
OPTIONS: Final = f"-c search_path={SCHEMA} -c lock_timeout=30s -c client_min_messages=warning"
SETUP: Final = f"""
SELECT pg_advisory_xact_lock(hashtext('{SCHEMA}'));
CREATE SCHEMA IF NOT EXISTS {SCHEMA};
{TABLES}
{ADD_DELTA.replace("COLUMN", "COLUMN IF NOT EXISTS")};
CREATE TABLE IF NOT EXISTS head (count INTEGER NOT NULL, hash TEXT NOT NULL);
INSERT INTO head SELECT 0, '{START}' WHERE NOT EXISTS (SELECT FROM head);
CREATE OR REPLACE FUNCTION entries_append_only() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$;
CREATE OR REPLACE TRIGGER entries_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON entries
    EXECUTE FUNCTION entries_append_only();
"""
IS_CURRENT: Final = (
    "SELECT FROM pg_attribute WHERE attrelid = 'entries'::regclass AND attname = 'delta' "
    "AND to_regclass('answers') IS NOT NULL"
)


class Postgres:
    """`url`: postgresql://USER@HOST/DATABASE; the user may create a schema there, or one that has it."""

    def __init__(self, url: str, *, create: bool = True) -> None:
        self._url, self._lock, self._inside = url, threading.RLock(), False
        self.name = "on its Postgres server"
        self._db = self._connect()
        with self._errors("cannot be opened"), self._db.transaction():
            (found,) = self._db.execute("SELECT to_regclass('head')").fetchall()
            if found[0] is None and not create:
                raise broken(self.name, "cannot be opened", "there is none in this database")
            if found[0] is None or not self._db.execute(IS_CURRENT).fetchall():
                self._db.execute(SETUP)

    def _connect(self) -> psycopg.Connection[Row]:
        """Raises when the server would lose what it has committed."""
        with self._errors("cannot be opened"):
            db = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=10,
                tcp_user_timeout=10_000,
                options=OPTIONS,
                application_name="dp4sql ledger",
            )
            settings: Any = db.execute("SHOW fsync").fetchone()
        if settings[0] != "on":
            db.close()
            raise LedgerBroken(
                "the ledger's server runs with fsync off, so a crash could lose charges",
                hint="Set fsync = on in its configuration.",
            )
        return db

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        with self._lock, self._errors("cannot be written"):
            self._revive()
            self._inside = True
            try:
                with self._db.transaction():
                    self._db.execute(f"SET LOCAL synchronous_commit = {'on' if durable else 'off'}")
                    self._db.execute("SELECT FROM head FOR UPDATE")
                    yield
            finally:
                self._inside = False

    def run(self, sql: str, *values: object) -> list[Row]:
        with self._lock, self._errors("cannot be used"):
            if not self._inside:
                self._revive()
            found = self._db.execute(sql.replace("?", "%s").encode(), values)
            return found.fetchall() if found.description else []

    def witness(self) -> tuple[int, str] | None:
        rows = self.run("SELECT count, hash FROM head")
        return (int(rows[0][0]), str(rows[0][1])) if rows else None

    def note(self, count: int, link: str) -> None:
        self.run("UPDATE head SET count = ?, hash = ?", count, link)

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _revive(self) -> None:
        """A new connection where the old one is gone, also if nobody has noticed: what the server sends
        unasked is mostly that it ends."""
        if not self._db.closed and select.select([self._db.fileno()], [], [], 0)[0]:
            self._db.close()
        if self._db.closed:
            self._db = self._connect()

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """What the server said may name hosts and users: it goes to the log alone."""
        try:
            yield
        except psycopg.Error as error:
            log.error("the ledger %s %s: %s", self.name, what, error)
            raise broken(self.name, what, error.sqlstate or type(error).__name__) from None
