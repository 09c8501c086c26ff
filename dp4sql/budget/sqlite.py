"""A ledger in a SQLite file: write-ahead log, and a sync of the disk at every durable commit.

The end of the ledger is noted in a file beside it, NAME.head, after each durable commit. It shows that
entries are missing at the end: an older copy was put in place, or the write-ahead log was lost.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dp4sql.budget.database import ADD_DELTA, TABLES, broken
from dp4sql.budget.entry import Row

TRIGGERS: Final = """
CREATE TRIGGER IF NOT EXISTS entries_no_update BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER IF NOT EXISTS entries_no_delete BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
"""
HAS_DELTA: Final = "SELECT 1 FROM pragma_table_info('entries') WHERE name = 'delta'"


class Sqlite:
    """`create`: make the file when it is missing."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        self.name, self._head = path.name, path.with_name(path.name + ".head")
        self._lock = threading.RLock()
        self._end: tuple[int, str] | None = None
        self._file: int | None = None
        with self._errors("cannot be opened"):
            mode = "rwc" if create else "rw"
            self._db = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=30,
                isolation_level=None,
                check_same_thread=False,
            )
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA fullfsync = ON")
            self._db.executescript(f"BEGIN IMMEDIATE; {TABLES} {TRIGGERS} COMMIT")
            self._db.execute("BEGIN IMMEDIATE")
            if not self._db.execute(HAS_DELTA).fetchall():
                self._db.execute(ADD_DELTA)
            self._db.execute("COMMIT")

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[None]:
        with self._lock, self._errors("cannot be written"):
            self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")
            self._end = None
            try:
                yield
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
            if durable and self._end is not None:
                self._write_head(*self._end)

    def run(self, sql: str, *values: object) -> list[Row]:
        try:
            with self._lock:
                return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            raise broken(self.name, "cannot be used", str(error)) from None

    def witness(self) -> tuple[int, str] | None:
        """None where the file is missing, or was cut short when the power failed."""
        try:
            noted = re.fullmatch(r"(\d{20}) ([0-9a-f]{64})\n", self._head.read_text("ascii"))
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        return (int(noted[1]), noted[2]) if noted else None

    def note(self, count: int, link: str) -> None:
        self._end = (count, link)

    def _write_head(self, count: int, link: str) -> None:
        """In place, in one call; not synced, as an older note is a good one, too."""
        if self._file is None:
            self._file = os.open(self._head, os.O_WRONLY | os.O_CREAT, 0o644)
        os.pwrite(self._file, f"{count:020d} {link}\n".encode("ascii"), 0)

    def close(self) -> None:
        with self._lock:
            self._db.close()
            if self._file is not None:
                os.close(self._file)
                self._file = None

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise broken(self.name, what, str(error)) from None
        except OSError as error:
            raise broken(self.name, what, str(error.strerror)) from None
