"""The ledger: one append-only SQLite table that every charge is committed to before data is read.

Amounts are exact fractions kept as text. Each row carries the running total of its account and the hash
of the row before it, so that a change or a removal in the middle shows. Opening verifies the whole chain.

An account is (database, entity, policy) and is opened before its first charge. A policy that is new where
others of its entity have an account already starts at the most that any of them has spent: renaming a
policy, or adding one later, never resets what was spent.

A charge for one member of the entity relation has an account of its own, because the other members lose
nothing by it. What a member has lost is the sum of both: no member's sum passes the budget.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dp4sql.budget.cost import Charge, paid, show
from dp4sql.errors import BudgetExceeded, LedgerBroken

TABLE = """
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
    hash TEXT NOT NULL
);
CREATE TRIGGER IF NOT EXISTS entries_no_update BEFORE UPDATE ON entries
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER IF NOT EXISTS entries_no_delete BEFORE DELETE ON entries
    BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE INDEX IF NOT EXISTS entries_account ON entries (database, entity, policy, member, id);
"""

COLUMNS = (
    "query",
    "at",
    "kind",
    "database",
    "entity",
    "policy",
    "member",
    "epsilon",
    "total",
    "role",
    "statement",
)
START = "0" * 64


@dataclass(frozen=True, slots=True)
class Entry:
    """One row: an account's `open`, a `charge`, or a mark with epsilon 0 (`answered`, `failed`) that closes `query`."""

    id: int
    query: int
    at: str
    kind: str
    database: str
    entity: str
    policy: str
    member: str
    epsilon: Fraction
    total: Fraction
    role: str
    statement: str


class Ledger:
    """Safe to share between threads and processes: every charge is one immediate transaction."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        try:
            self._db = sqlite3.connect(
                self.path, timeout=30, isolation_level=None, check_same_thread=False
            )
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(TABLE)
        except sqlite3.Error as error:
            raise _broken(self.path, "cannot be opened", error) from None
        self.verify()

    def close(self) -> None:
        with self._lock:
            self._db.close()

    # ------------------------------------------------------------ accounts

    def open_accounts(self, accounts: Sequence[tuple[str, str]], *, database: str) -> None:
        """Open the accounts (entity, policy) that are not there yet, all at once."""
        with self._transaction() as db:
            totals = self._totals(db, database)
            spent = dict[tuple[str, str], Fraction]()
            for (entity, _, member), total in totals.items():
                spent[entity, member] = max(spent.get((entity, member), Fraction(0)), total)
            spent = {(entity, ""): Fraction(0) for entity, _ in accounts} | spent
            for entity, policy in accounts:
                if (entity, policy, "") in totals:
                    continue
                for (other, member), start in spent.items():
                    if other == entity:
                        nothing = Charge(policy, entity, Fraction(0), None, member)
                        self._append(db, 0, "open", database, nothing, start, "", "")

    @staticmethod
    def _totals(db: sqlite3.Connection, database: str) -> dict[tuple[str, str, str], Fraction]:
        rows = db.execute(
            "SELECT entity, policy, member, total FROM entries WHERE id IN (SELECT MAX(id) FROM entries "
            "WHERE database = ? AND kind IN ('open', 'charge') GROUP BY entity, policy, member)",
            (database,),
        )
        return {(entity, policy, member): Fraction(total) for entity, policy, member, total in rows}

    # ------------------------------------------------------------ charging

    def charge(
        self, charges: Sequence[Charge], *, database: str, role: str, statement: str
    ) -> int | None:
        """Commit all charges or none; the query's number, or None when nothing costs anything.

        BudgetExceeded when a budget would be passed. Durable when it returns.
        """
        due = paid(charges)
        if not due:
            return None
        with self._transaction() as db:
            query = self._next_query(db)
            for charge in due:
                account = (database, charge.entity, charge.policy)
                lost = self._lost(db, *account, charge.member)
                if charge.budget is not None and lost + charge.epsilon > charge.budget:
                    raise _exceeded(charge, charge.budget, charge.budget - lost)
                total = self._total(db, *account, charge.member) + charge.epsilon
                if charge.own_budget is not None and total > charge.own_budget:
                    left = charge.own_budget - (total - charge.epsilon)
                    raise _exceeded(charge, charge.own_budget, left)
                self._append(db, query, "charge", database, charge, total, role, statement)
            return query

    def close_query(self, query: int | None, kind: str, *, database: str, role: str) -> None:
        """Mark a charged query `answered` or `failed`; a charge without a mark was cut short."""
        if query is None:
            return
        with self._transaction() as db:
            nothing = Charge("", "", Fraction(0), None)
            self._append(db, query, kind, database, nothing, Fraction(0), role, "")

    def spent(self, database: str, entity: str, policy: str, member: str = "") -> Fraction:
        """What a member has lost so far; with no member, the most that any has."""
        with self._lock:
            return self._lost(self._db, database, entity, policy, member)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            try:
                self._db.execute("BEGIN IMMEDIATE")
                try:
                    yield self._db
                except BaseException:
                    self._db.execute("ROLLBACK")
                    raise
                self._db.execute("COMMIT")
            except sqlite3.Error as error:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise _broken(self.path, "cannot be written", error) from None

    @staticmethod
    def _next_query(db: sqlite3.Connection) -> int:
        (last,) = db.execute("SELECT COALESCE(MAX(query), 0) FROM entries").fetchone()
        return int(last) + 1

    @classmethod
    def _lost(
        cls, db: sqlite3.Connection, database: str, entity: str, policy: str, member: str
    ) -> Fraction:
        """The common account and the member's own; with no member, the fullest of the own ones."""
        common = cls._total(db, database, entity, policy, "")
        if member:
            return common + cls._total(db, database, entity, policy, member)
        rows = db.execute(
            "SELECT total FROM entries WHERE id IN (SELECT MAX(id) FROM entries WHERE database = ? "
            "AND entity = ? AND policy = ? AND member <> '' AND kind IN ('open', 'charge') GROUP BY member)",
            (database, entity, policy),
        )
        return common + max((Fraction(total) for (total,) in rows), default=Fraction(0))

    @staticmethod
    def _total(
        db: sqlite3.Connection, database: str, entity: str, policy: str, member: str
    ) -> Fraction:
        row = db.execute(
            "SELECT total FROM entries WHERE database = ? AND entity = ? AND policy = ? AND member = ? "
            "AND kind IN ('open', 'charge') ORDER BY id DESC LIMIT 1",
            (database, entity, policy, member),
        ).fetchone()
        return Fraction(row[0]) if row is not None else Fraction(0)

    def _append(
        self,
        db: sqlite3.Connection,
        query: int,
        kind: str,
        database: str,
        charge: Charge,
        total: Fraction,
        role: str,
        statement: str,
    ) -> None:
        previous = db.execute("SELECT hash FROM entries ORDER BY id DESC LIMIT 1").fetchone()
        at = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        row = (
            query,
            at,
            kind,
            database,
            charge.entity,
            charge.policy,
            charge.member,
            str(charge.epsilon),
            str(total),
            role,
            statement,
        )
        link = chain(previous[0] if previous else START, row)
        marks = ", ".join("?" * (len(row) + 1))
        db.execute(
            f"INSERT INTO entries ({', '.join(COLUMNS)}, hash) VALUES ({marks})", (*row, link)
        )

    # ------------------------------------------------------------ reading

    def entries(self, limit: int | None = None) -> list[Entry]:
        """Newest last; the last `limit` when one is given."""
        sql = f"SELECT id, {', '.join(COLUMNS)} FROM entries ORDER BY id DESC"
        with self._lock:
            rows = self._db.execute(sql + (f" LIMIT {int(limit)}" if limit else "")).fetchall()
        return [_entry(*row) for row in reversed(rows)]

    def verify(self) -> int:
        """Recompute every hash and running total; the number of entries. LedgerBroken where one is off."""
        totals: dict[tuple[str, ...], Fraction] = {}
        previous, count, last = START, 0, 0
        try:
            rows = self._db.execute(
                f"SELECT id, {', '.join(COLUMNS)}, hash FROM entries ORDER BY id"
            )
            for id, *row, link in rows:
                if id != last + 1 or link != chain(previous, row):
                    raise _tampered(self.path, id)
                if row[2] in ("open", "charge"):
                    _check_total(totals, row, self.path, id)
                previous, last, count = link, id, count + 1
        except sqlite3.Error as error:
            raise _broken(self.path, "cannot be read", error) from None
        return count


def _entry(*row: Any) -> Entry:
    id, query, at, kind, database, entity, policy, member, epsilon, total, role, statement = row
    amounts = Fraction(epsilon), Fraction(total)
    return Entry(id, query, at, kind, database, entity, policy, member, *amounts, role, statement)


def chain(previous: str, row: Sequence[object]) -> str:
    """Hash of a row and of the hash before it."""
    return hashlib.sha256(json.dumps([previous, *row], ensure_ascii=False).encode()).hexdigest()


def _check_total(
    totals: dict[tuple[str, ...], Fraction], row: Sequence[str], path: Path, id: int
) -> None:
    account = tuple(row[3:7])
    epsilon, total = Fraction(row[7]), Fraction(row[8])
    opened = row[2] == "open" and account not in totals
    if not opened and totals.get(account, Fraction(0)) + epsilon != total:
        raise _tampered(path, id)
    totals[account] = total


def _exceeded(charge: Charge, budget: Fraction, left: Fraction) -> BudgetExceeded:
    return BudgetExceeded(
        f"the budget of policy {charge.policy} does not cover this query: "
        f"it costs {show(charge.epsilon)} and {show(max(left, Fraction(0)))} of {show(budget)} is left",
        hint="Nothing was charged. SET dp4sql.epsilon to a smaller value asks for a noisier, cheaper answer; "
        "EXPLAIN shows the price beforehand.",
    )


def _broken(path: Path, what: str, error: Exception) -> LedgerBroken:
    return LedgerBroken(
        f"the ledger {path.name} {what} ({error})",
        hint="No query is answered without its charge. Check the disk and the file's permissions, then try again.",
    )


def _tampered(path: Path, id: int) -> LedgerBroken:
    return LedgerBroken(
        f"the ledger {path.name} does not verify: entry {id} was changed, or an entry before it is missing",
        hint="Restore the file from a backup. Starting with an empty ledger would forget what was spent.",
    )
