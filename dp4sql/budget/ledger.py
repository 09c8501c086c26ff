"""The ledger: an append-only table that every charge is committed to before data is read.

Amounts are exact fractions, kept as text. Each entry carries the running total of its account and the
hash of the entry before it: a change, a swap or a gap shows when the entries are read, all of them when
the ledger is opened, and the new ones at every charge. `docs/decisions/0002-ledger.md` says what an
account is, and what nobody would notice.

Charges that wait at the same time share one transaction, and so one sync of the disk; each is decided
on its own.
"""

from __future__ import annotations

import datetime
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

from dp4sql.budget.book import Account, Book
from dp4sql.budget.cost import Charge, Limit, paid
from dp4sql.budget.database import open_database
from dp4sql.budget.entries import NAMES, Entries
from dp4sql.budget.entry import Entry, Kind, from_row
from dp4sql.budget.kept import Keeping
from dp4sql.budget.terms import accountant_of, elsewhere, loosened, terms, withdrawn
from dp4sql.errors import BudgetExceeded, Dp4sqlError, LedgerBroken, PolicyChanged
from dp4sql.policy.labels import Policy


def utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@dataclass(slots=True, eq=False)
class _Request:
    """What one thread wants decided, and what came of it. Until its entries are on disk it has failed. What is
    not `durable` is never refused."""

    decide: Callable[[Book], int]
    durable: bool
    result: int = 0
    refused: Dp4sqlError | None = None
    error: Dp4sqlError | None = None
    taken: bool = False
    stored: bool = False

    def outcome(self) -> int:
        if self.error is not None:
            raise self.error
        if not self.stored:
            raise _interrupted()
        return self.result


class Ledger:
    """Safe to share between threads and processes.

    `where`: the path of a SQLite file, or a postgresql:// URL. LedgerBroken when it cannot be opened or
    does not verify; with `truncated`, entries may be missing at the end. `clock` dates the entries.
    """

    def __init__(
        self,
        where: str | Path,
        *,
        create: bool = True,
        truncated: bool = False,
        clock: Callable[[], datetime.datetime] = utc_now,
    ) -> None:
        self.where, self._clock = where, clock
        self._database = open_database(where, create=create)
        self._entries = Entries(self._database, may_miss=truncated)
        self._lock, self._waiting = threading.Lock(), deque[_Request]()
        self._book: Book | None = None
        try:
            self.verify()
        except LedgerBroken:
            self.close()
            raise

    def close(self) -> None:
        self._database.close()

    # ------------------------------------------------------------ policies

    def open_accounts(self, policies: Sequence[Policy], *, database: str) -> list[str]:
        """Open an account for each policy that has none yet, and record its terms where they changed.

        Returns what the new terms permit that the old ones did not, in words for the curator. PolicyChanged
        where losses of an entity that has lost something would add up in another way.
        """
        warnings: list[str] = []

        def decide(book: Book) -> int:
            current = {(database, p.entity, p.name): terms(p) for p in policies}
            former = {a: text for a, text in book.terms.items() if a[0] == database and text}
            for account, now in current.items():
                _require_measure(book, account, now)
                warnings.extend(_namesakes(book, account))
                if now != book.terms.get(account):
                    self._record(book, account, now)
                    warnings.extend(
                        loosened(account[2], former[account], now) if account in former else []
                    )
            for account in former.keys() - current.keys():
                self._record(book, account, "")
                warnings.append(withdrawn(account, book.lost(account)))
            return 0

        self._submit(decide, durable=True)
        return warnings

    def _record(self, book: Book, account: Account, now: str) -> None:
        database, entity, policy = account
        kind: Kind = "terms" if account in book.terms else "open"
        book.write(
            Entry(
                at=self._now(),
                kind=kind,
                database=database,
                entity=entity,
                policy=policy,
                statement=now,
            )
        )

    def _now(self) -> str:
        return self._clock().isoformat(timespec="milliseconds")

    # ------------------------------------------------------------ charging

    def charge(
        self,
        charges: Sequence[Charge],
        *,
        database: str,
        role: str,
        statement: str,
        derivation: str = "",
    ) -> int | None:
        """Commit all charges or none; the query's number, or None when nothing costs anything.

        BudgetExceeded when a budget or a limit would be passed. On disk when it returns.
        """
        due = paid(charges)
        if not due:
            return None
        entry = Entry(
            at=self._now(), database=database, role=role, statement=statement, derivation=derivation
        )
        return self._submit(lambda book: book.charge(due, entry), durable=True)

    def close_query(
        self,
        query: int | None,
        kind: Literal["answered", "failed"],
        *,
        database: str,
        role: str,
        keeping: Keeping | None = None,
    ) -> None:
        """Mark a charged query, and keep what it released; a charge without a mark was cut short. A mark, and
        what is kept with it, may be lost with the power."""
        kept = keeping.as_it_is() if keeping and keeping.own else None
        if query is None and kept is None:
            return
        seals = kept.seals() if kept else ""
        entry = Entry(
            query=query or 0,
            at=self._now(),
            kind=kind,
            database=database,
            role=role,
            derivation=seals,
        )

        def decide(book: Book) -> int:
            id = book.write(entry)
            if kept:
                kept.write(self._database, id)
            return id

        self._submit(decide, durable=False)

    def _submit(self, decide: Callable[[Book], int], *, durable: bool) -> int:
        """Whoever gets the lock commits what all threads wait for."""
        request = _Request(decide, durable)
        self._waiting.append(request)
        with self._lock:
            if not request.taken:
                self._commit_waiting()
        return request.outcome()

    def _commit_waiting(self) -> None:
        batch = [self._waiting.popleft() for _ in range(len(self._waiting))]
        for request in batch:
            request.taken = True
        try:
            with self._transaction(durable=any(r.durable for r in batch)) as book:
                for request in batch:
                    _decide(request, book)
        except LedgerBroken as error:
            for request in batch:
                request.error = LedgerBroken(error.message, hint=error.hint)
        else:
            for request in batch:
                request.error, request.stored = request.refused, True

    @contextmanager
    def _transaction(self, *, durable: bool) -> Iterator[Book]:
        """The book as it stands with all entries read; what is written to it meanwhile is stored.

        When anything goes wrong the book is forgotten, and read again from the start the next time.
        """
        try:
            with self._database.transaction(durable=durable):
                self._book = self._entries.caught_up(self._book)
                yield self._book
                self._entries.store(self._book)
        except BaseException:
            self._book = None
            raise

    # ------------------------------------------------------------ reading

    def spent(self, database: str, entity: str, policy: str, member: str = "") -> Fraction:
        """What a member has lost so far; with no member, the most that any may have. As of the last charge
        or `refresh` here: other processes may have charged since."""
        return self._known().lost((database, entity, policy), member)

    def lost(
        self, account: Account, role: str | None = None, since: datetime.date | None = None
    ) -> Fraction:
        """What a member has lost at most by the queries of `role` (of everybody, when None) since the
        start of a day (ever, when None)."""
        limit = Limit("", Fraction(0), role, since)
        return self._known().counted(account, "", limit, self.today())

    def _known(self) -> Book:
        book = self._book
        if book is None:
            with self._lock, self._transaction(durable=False) as book:
                pass
        return book

    def caps(self, charge: Charge, *, database: str) -> list[tuple[str, Fraction, Fraction]]:
        """Each cap on `charge`: its name, its amount and what counts towards it already, as of the last
        charge or `refresh` here."""
        account = (database, charge.entity, charge.policy)
        return list(self._known().caps(account, charge, self.today()))

    def today(self) -> datetime.date:
        """The UTC day of the next entry, unless the clock is behind the last one."""
        return self._clock().date()

    def refresh(self) -> None:
        """Take in what other processes have charged."""
        with self._lock, self._transaction(durable=False):
            pass

    def probe(self) -> None:
        """LedgerBroken where no charge could be written now: it writes something, and takes it away."""
        with self._lock, self._transaction(durable=False):
            self._database.run("INSERT INTO uses VALUES (?, 'probe', '', '', 0)", self._now())
            self._database.run("DELETE FROM uses WHERE key = 'probe'")

    def entries(self, limit: int | None = None) -> list[Entry]:
        """Newest last; the last `limit` when one is given."""
        most = "" if limit is None else f" LIMIT {int(limit)}"
        rows = self._database.run(f"SELECT {NAMES} FROM entries ORDER BY id DESC{most}")
        return [from_row(row) for row in reversed(rows)]

    def charges_of(self, role: str, *, database: str, most: int) -> list[tuple[Entry, str]]:
        """The last charges of a role, newest first, each with what became of its query."""
        rows = self._database.run(
            f"SELECT {NAMES} FROM entries WHERE kind = 'charge' AND role = ? AND database = ? "
            f"ORDER BY id DESC LIMIT {int(most)}",
            role,
            database,
        )
        charges = [from_row(row) for row in rows]
        ends = self._database.run(
            "SELECT query, kind FROM entries WHERE kind IN ('answered', 'failed') AND query >= ?",
            min((entry.query for entry in charges), default=0),
        )
        outcome = {query: str(kind) for query, kind in ends}
        return [(entry, outcome.get(entry.query, "cut short")) for entry in charges]

    def verify(self) -> int:
        """Recompute every hash and total from the first entry; the number of entries, or LedgerBroken."""
        with self._lock:
            self._book = None
            with self._transaction(durable=True) as book:
                return book.count


def accept(where: str | Path) -> int:
    """Go on with the entries that are there although later ones were noted; their number. What the missing
    ones charged is forgotten, so this is for the curator to decide. A change elsewhere is LedgerBroken still."""
    ledger = Ledger(where, create=False, truncated=True)
    try:
        entry = Entry(at=ledger._now(), kind="accepted")
        return ledger._submit(lambda book: book.write(entry), durable=True) - 1
    finally:
        ledger.close()


def unverified(where: str | Path) -> list[Entry]:
    """What a ledger says, whether it verifies or not. Nothing may be decided by this."""
    database = open_database(where, create=False)
    try:
        return [from_row(row) for row in database.run(f"SELECT {NAMES} FROM entries ORDER BY id")]
    finally:
        database.close()


def _decide(request: _Request, book: Book) -> None:
    if not request.durable:
        request.result = request.decide(book)
        return
    trial = book.trial()
    try:
        request.result = request.decide(trial)
    except (BudgetExceeded, PolicyChanged) as error:
        request.refused = error
    else:
        book.adopt(trial)


def _require_measure(book: Book, account: Account, now: str) -> None:
    _, entity, policy = account
    other = book.other_measure(account, accountant_of(now))
    if other is not None:
        raise PolicyChanged(
            f"policy {policy} has accountant {accountant_of(now)}, but {entity} has lost something under "
            f"policy {other[2]} with accountant {book.accountants[other]}",
            hint="What is spent cannot be carried over: keep the accountant of this entity's policies.",
        )


def _namesakes(book: Book, account: Account) -> Iterator[str]:
    """Warnings for an account that is new, of losses under its policy's name on other databases."""
    if account in book.terms:
        return
    for other in book.terms:
        if other[1:] == account[1:] and book.lost(other):
            yield elsewhere(account, other, book.lost(other))


def _interrupted() -> LedgerBroken:
    return LedgerBroken(
        "the ledger was interrupted while it was written",
        hint="The query was not answered, and may have been charged. Try again.",
    )
