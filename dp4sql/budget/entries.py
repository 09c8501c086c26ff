"""The table of entries: read into a book and verified on the way, and what is new in a book written to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dp4sql.budget.book import Book, Mismatch
from dp4sql.budget.database import Database
from dp4sql.budget.entry import COLUMNS, Row
from dp4sql.errors import LedgerBroken

NAMES: Final = ", ".join(COLUMNS)
PAGE: Final = 2000
"""Entries read at once."""


class Entries:
    """Of one database, within its transactions. With `may_miss` some may be missing at the end."""

    def __init__(self, database: Database, *, may_miss: bool) -> None:
        self._database, self._may_miss = database, may_miss

    def caught_up(self, book: Book | None) -> Book:
        """The book with the entries that are new, after a look at the last one that is known."""
        if book is None:
            return self._read_all()
        rows = self._rows(book.count)
        if book.count and next(rows, ((), ""))[1] != book.link:
            raise self._tampered(book.count)
        for row, link in rows:
            self._replay(book, row, link)
        return book

    def _read_all(self) -> Book:
        book, noted = Book(), self._database.witness()
        for row, link in self._rows(1):
            self._replay(book, row, link)
            if noted and noted[0] == book.count and noted[1] != link:
                raise self._tampered(book.count)
        if noted and noted[0] > book.count and not self._may_miss:
            raise self._truncated(noted[0] - book.count)
        return book

    def _rows(self, first: int) -> Iterator[tuple[Row, str]]:
        """Entries from number `first` on, with their hashes."""
        page: list[Row] = []
        while not page or len(page) == PAGE:
            page = self._database.run(
                f"SELECT {NAMES}, hash FROM entries WHERE id >= ? ORDER BY id LIMIT {PAGE}", first
            )
            yield from ((row[:-1], str(row[-1])) for row in page)
            if not page:
                return
            first = page[-1][0] + 1

    def _replay(self, book: Book, row: Row, link: str) -> None:
        try:
            book.replay(row, link)
        except Mismatch as error:
            raise self._tampered(error.id) from None

    def store(self, book: Book) -> None:
        """What was written to the book, at the end of the table."""
        rows = [(*row, link) for row, link in book.written]
        for start in range(0, len(rows), PAGE):
            part = rows[start : start + PAGE]
            marks = ", ".join(f"({', '.join('?' * (len(COLUMNS) + 1))})" for _ in part)
            values = [value for row in part for value in row]
            self._database.run(f"INSERT INTO entries ({NAMES}, hash) VALUES {marks}", *values)
        if rows:
            self._database.note(book.count, book.link)
        book.written.clear()

    # ------------------------------------------------------------ words

    def _tampered(self, id: int) -> LedgerBroken:
        return LedgerBroken(
            f"the ledger {self._database.name} does not verify: entry {id} was changed, "
            "or an entry before it is missing",
            hint="Restore it from a backup. Starting with an empty ledger would forget what was spent: "
            "dp4sql ledger export --unverified tells what it says.",
        )

    def _truncated(self, missing: int) -> LedgerBroken:
        last = "last entry is" if missing == 1 else f"last {missing} entries are"
        return LedgerBroken(
            f"the ledger {self._database.name} does not verify: its {last} missing",
            hint="Restore it from a newer backup. Where there is none, dp4sql ledger accept --yes goes on with "
            "what is here, and forgets what was charged there.",
        )
