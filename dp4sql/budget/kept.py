"""Released answers that are kept beside the ledger, so that showing one again costs nothing.

Only what was released is here; it is as safe to read as the answers were. `uses` records who was shown
which answer, and for what purpose. The version of a database's data is here, too: whoever changes the
data raises it, and answers about older data are not shown as answers about the new.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path

from dp4sql.budget.database import open_database


class KeptAnswers:
    """Safe to share between threads and processes. `where` is as for the ledger. Errors are LedgerBroken:
    without this a second question would be charged again."""

    def __init__(self, where: str | Path) -> None:
        self._database = open_database(where)

    def find(self, key: str) -> str | None:
        rows = self._database.run("SELECT content FROM kept WHERE key = ?", key)
        return str(rows[0][0]) if rows else None

    def keep(self, key: str, content: str) -> None:
        """Keep `content`; the newest one under a key is shown."""
        self._database.run(
            "INSERT INTO kept (key, at, content) VALUES (?, ?, ?) "
            "ON CONFLICT (key) DO UPDATE SET at = excluded.at, content = excluded.content",
            key,
            _now(),
            content,
        )

    def keep_all(self, contents: Mapping[str, str]) -> None:
        """Keep all or none. The power may take them again, but never before the charges on disk."""
        with self._database.transaction(durable=False):
            for key, content in contents.items():
                self.keep(key, content)

    def note(self, key: str, *, role: str, purpose: str, reused: bool) -> None:
        self._database.run(
            "INSERT INTO uses (at, key, role, purpose, reused) VALUES (?, ?, ?, ?, ?)",
            _now(),
            key,
            role,
            purpose,
            int(reused),
        )

    def uses(self) -> list[tuple[str, str, str, bool]]:
        """Time, role, purpose and whether it was shown again, oldest first."""
        rows = self._database.run("SELECT at, role, purpose, reused FROM uses ORDER BY at")
        return [(at, role, purpose, bool(reused)) for at, role, purpose, reused in rows]

    # ------------------------------------------------------------ data versions

    def data_version(self, database: str) -> int:
        """How often the data of `database` was declared to have changed."""
        rows = self._database.run("SELECT COUNT(*) FROM data_versions WHERE database = ?", database)
        return int(rows[0][0])

    def bump(self, database: str, note: str = "") -> int:
        """Declare that the data changed; the new version."""
        self._database.run("INSERT INTO data_versions VALUES (?, ?, ?)", database, _now(), note)
        return self.data_version(database)

    def close(self) -> None:
        self._database.close()


def period(refreshed: str | None, now: datetime.datetime) -> str:
    """The hour, day, week or month of `now` in UTC, for data that changes with each."""
    form = {
        None: "",
        "hourly": "%Y-%m-%dT%H",
        "daily": "%Y-%m-%d",
        "weekly": "%G-W%V",
        "monthly": "%Y-%m",
    }
    return now.astimezone(datetime.UTC).strftime(form[refreshed])


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
