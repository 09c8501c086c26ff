"""Released answers that are kept beside the ledger, so that showing one again costs nothing.

Only what was released is here; it is as safe to read as the answers were. The entry of the ledger that ends a
statement holds the digests of what it kept: an answer that was changed since is not shown. `uses` records who
was shown which answer, and for what purpose. The version of a database's data is here, too: whoever changes
the data raises it, and answers about older data are not shown as answers about the new.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dp4sql.budget.database import Database, open_database

log = logging.getLogger(__name__)

SEALED: Final = "FROM answers LEFT JOIN entries ON entries.id = answers.entry"
OLDER: Final = (
    "answers.version < (SELECT COUNT(*) FROM data_versions v WHERE v.database = answers.database)"
)


@dataclass(frozen=True, slots=True)
class Size:
    """Answers, and the characters in them; `older` of them are about older data."""

    answers: int
    characters: int
    older: int


class KeptAnswers:
    """Safe to share between threads and processes. `where` is as for the ledger. Errors are LedgerBroken:
    without this a second question would be charged again."""

    def __init__(self, where: str | Path, *, create: bool = True) -> None:
        self._database = open_database(where, create=create)

    def find(self, key: str) -> str | None:
        """None where there is none, or none that the ledger vouches for."""
        sql = f"SELECT content, derivation {SEALED} WHERE key = ?"
        for content, derivation in self._database.run(sql, key):
            if _vouched(key, content, derivation):
                return str(content)
            log.error("an answer kept beside the ledger was changed; it is not shown again")
        return None

    def changed(self) -> Iterator[str]:
        """The keys of answers that are not as they were released."""
        for key, content, derivation in self._database.run(
            f"SELECT key, content, derivation {SEALED}"
        ):
            if not _vouched(key, content, derivation):
                yield key

    def size(self) -> Size:
        sql = (
            "SELECT COUNT(*), COALESCE(SUM(LENGTH(content)), 0), "
            f"COALESCE(SUM(CASE WHEN {OLDER} THEN 1 ELSE 0 END), 0) FROM answers"
        )
        return Size(*map(int, self._database.run(sql)[0]))

    def prune(self, before: datetime.date | None = None) -> int:
        """Drop answers about older data, those that were changed, and all that were kept before a UTC day
        (with who used them then); how many answers. A repeat of one of them is charged."""
        broken, day = list(self.changed()), before.isoformat() if before else ""
        with self._database.transaction():
            former = self.size().answers
            self._database.run(f"DELETE FROM answers WHERE at < ? OR {OLDER}", day)
            for key in broken:
                self._database.run("DELETE FROM answers WHERE key = ?", key)
            self._database.run("DELETE FROM uses WHERE at < ?", day)
            return former - self.size().answers

    # ------------------------------------------------------------ uses

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


@dataclass(slots=True)
class Keeping:
    """What is kept, to one statement: answers of earlier ones, and its own. Its own are on disk when the
    ledger has ended it. `version` is that of the data of `database`, or an older one."""

    store: KeptAnswers
    database: str = ""
    version: int = 0
    own: dict[str, str] = field(default_factory=dict)

    def find(self, key: str) -> str | None:
        return self.own[key] if key in self.own else self.store.find(key)

    def keep(self, key: str, content: str) -> None:
        """Keep `content`; the newest one under a key is shown."""
        self.own[key] = content

    def keep_all(self, contents: Mapping[str, str]) -> None:
        self.own |= contents

    def note(self, key: str, *, role: str, purpose: str, reused: bool) -> None:
        self.store.note(key, role=role, purpose=purpose, reused=reused)

    def as_it_is(self) -> Keeping:
        """The same, which stays when the statement goes on: one that is cancelled may."""
        return Keeping(self.store, self.database, self.version, dict(self.own))

    def seals(self) -> str:
        """What the entry that keeps them says of its own answers."""
        return " ".join(seal(key, content) for key, content in self.own.items())

    def write(self, database: Database, entry: int) -> None:
        """Within the transaction that writes `entry`."""
        for key, content in self.own.items():
            database.run(
                "INSERT INTO answers (key, at, content, entry, database, version) "
                "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET at = excluded.at, "
                "content = excluded.content, entry = excluded.entry, version = excluded.version",
                *(key, _now(), content, entry, self.database, self.version),
            )


def seal(key: str, content: str) -> str:
    return hashlib.sha256(json.dumps([key, content]).encode()).hexdigest()


def _vouched(key: str, content: str, derivation: str | None) -> bool:
    return derivation is not None and seal(key, content) in derivation.split()


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
