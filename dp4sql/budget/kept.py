"""Released answers that are kept beside the ledger, so that showing one again costs nothing.

Only what was released is here; the file is as safe to read as the answers were. `uses` records who was
shown which answer, and for what purpose.
"""

from __future__ import annotations

import datetime
import sqlite3
import threading
from pathlib import Path

from dp4sql.errors import LedgerBroken

TABLES = """
CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, at TEXT NOT NULL, content TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS uses (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    key TEXT NOT NULL,
    role TEXT NOT NULL,
    purpose TEXT NOT NULL,
    reused INTEGER NOT NULL
);
"""


class KeptAnswers:
    """Safe to share between threads and processes. Errors are LedgerBroken: without this file a second
    question would be charged again."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.Lock()
        try:
            self._db = sqlite3.connect(
                path, timeout=30, isolation_level=None, check_same_thread=False
            )
            self._db.executescript(TABLES)
        except sqlite3.Error as error:
            raise self._broken(error) from None

    def find(self, key: str) -> str | None:
        row = self._run("SELECT content FROM kept WHERE key = ?", key)
        return None if row is None else str(row[0])

    def keep(self, key: str, content: str) -> None:
        """Keep `content`; the newest one under a key is shown."""
        self._run("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", key, _now(), content)

    def note(self, key: str, *, role: str, purpose: str, reused: bool) -> None:
        self._run(
            "INSERT INTO uses (at, key, role, purpose, reused) VALUES (?, ?, ?, ?, ?)",
            _now(),
            key,
            role,
            purpose,
            int(reused),
        )

    def uses(self) -> list[tuple[str, str, str, bool]]:
        """Time, role, purpose and whether it was shown again, oldest first."""
        with self._lock:
            rows = self._db.execute("SELECT at, role, purpose, reused FROM uses ORDER BY id")
            return [(at, role, purpose, bool(reused)) for at, role, purpose, reused in rows]

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _run(self, sql: str, *values: object) -> tuple[object, ...] | None:
        try:
            with self._lock:
                row: tuple[object, ...] | None = self._db.execute(sql, values).fetchone()
                return row
        except sqlite3.Error as error:
            raise self._broken(error) from None

    def _broken(self, error: sqlite3.Error) -> LedgerBroken:
        return LedgerBroken(
            f"the kept answers in {self._path.name} cannot be used ({error})",
            hint="Check the disk and the file's permissions, then try again.",
        )


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
