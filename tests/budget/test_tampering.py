"""A ledger that was changed, cut short or exchanged is noticed, and nothing is answered from it."""

from __future__ import annotations

import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from dp4sql.budget.ledger import Ledger, accept
from dp4sql.budget.postgres import SCHEMA
from dp4sql.errors import LedgerBroken
from tests.budget.conftest import Tamper, Where
from tests.budget.test_ledger import TENTH, spend


def filled(where: Where, entries: int = 5) -> Ledger:
    ledger = Ledger(where)
    for _ in range(entries):
        spend(ledger)
    return ledger


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE entries SET epsilon = '1/1000' WHERE id = 2",
        "UPDATE entries SET total = '1/10' WHERE id = 5",
        "UPDATE entries SET epsilon = 'lots' WHERE id = 5",
        "UPDATE entries SET policy = 'other' WHERE id = 1",
        "UPDATE entries SET at = '2001-01-01' WHERE id = 3",
        "UPDATE entries SET delta = '1/1000' WHERE id = 3",
        "DELETE FROM entries WHERE id = 1",
        "DELETE FROM entries WHERE id = 3",
        "DELETE FROM entries WHERE id = 3; UPDATE entries SET id = id - 1 WHERE id > 3",
        "UPDATE entries SET id = 10 WHERE id = 2; UPDATE entries SET id = 2 WHERE id = 3; "
        "UPDATE entries SET id = 3 WHERE id = 10",
    ],
)
def test_a_change_is_noticed(where: Where, tamper: Tamper, change: str) -> None:
    filled(where).close()
    tamper(change)
    with pytest.raises(LedgerBroken, match=r"entry \d was changed") as caught:
        Ledger(where)
    assert "backup" in (caught.value.hint or "")


def test_entries_missing_at_the_end_are_noticed(where: Where, tamper: Tamper) -> None:
    filled(where).close()
    tamper("DELETE FROM entries WHERE id > 3")
    with pytest.raises(LedgerBroken, match="last 2 entries are missing"):
        Ledger(where)


def test_one_missing_entry_is_told_as_one(where: Where, tamper: Tamper) -> None:
    filled(where).close()
    tamper("DELETE FROM entries WHERE id > 4")
    with pytest.raises(LedgerBroken, match="its last entry is missing") as caught:
        Ledger(where)
    assert "dp4sql ledger accept --yes" in (caught.value.hint or "")


def test_a_running_ledger_notices_too(where: Where, tamper: Tamper) -> None:
    ledger = filled(where)
    tamper("DELETE FROM entries WHERE id > 3")
    with pytest.raises(LedgerBroken):
        spend(ledger)
    with pytest.raises(LedgerBroken):
        spend(ledger)


def test_an_empty_ledger_in_its_place_is_noticed(where: Where, tamper: Tamper) -> None:
    filled(where).close()
    tamper("DELETE FROM entries")
    with pytest.raises(LedgerBroken, match="last 5 entries are missing"):
        Ledger(where)


def test_the_curator_may_go_on_and_that_is_recorded(where: Where, tamper: Tamper) -> None:
    filled(where).close()
    tamper("DELETE FROM entries WHERE id > 3")
    assert accept(where) == 3
    ledger = Ledger(where)
    assert ledger.spent("db", "student", "student") == 3 * TENTH
    assert [e.kind for e in ledger.entries()] == ["charge"] * 3 + ["accepted"]


def test_nobody_can_accept_a_change(where: Where, tamper: Tamper) -> None:
    filled(where).close()
    tamper("UPDATE entries SET epsilon = '0' WHERE id = 2")
    with pytest.raises(LedgerBroken, match="entry 2"):
        accept(where)


def test_an_older_copy_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    filled(path, 2).close()
    shutil.copy(path, tmp_path / "old")
    filled(path, 2).close()
    shutil.copy(tmp_path / "old", path)
    with pytest.raises(LedgerBroken, match="last 2 entries are missing"):
        Ledger(path)


def test_a_lost_write_ahead_log_is_noticed(tmp_path: Path) -> None:
    """The main file alone, copied while the ledger was in use, is not the ledger."""
    path = tmp_path / "ledger"
    ledger = filled(path)
    copy = tmp_path / "copy"
    shutil.copy(path, copy)
    shutil.copy(tmp_path / "ledger.head", tmp_path / "copy.head")
    ledger.close()
    with pytest.raises(LedgerBroken, match="last 5 entries are missing"):
        Ledger(copy)


def test_another_ledger_of_the_same_length_is_noticed(tmp_path: Path) -> None:
    filled(tmp_path / "one").close()
    filled(tmp_path / "two").close()
    shutil.copy(tmp_path / "two", tmp_path / "one")
    with pytest.raises(LedgerBroken, match="entry 5"):
        Ledger(tmp_path / "one")


@pytest.mark.parametrize("content", ["", "\0" * 86, "12 abc\n", "é"])
def test_a_note_that_the_power_cut_short_is_none(tmp_path: Path, content: str) -> None:
    path = tmp_path / "ledger"
    filled(path, 2).close()
    (tmp_path / "ledger.head").write_text(content)
    ledger = filled(path, 1)
    assert ledger.spent("db", "student", "student") == Fraction(3, 10)
    ledger.close()
    assert (tmp_path / "ledger.head").read_text().startswith("00000000000000000003 ")


def test_entries_cannot_be_changed_by_accident(tmp_path: Path, postgres: str) -> None:
    for where in (tmp_path / "ledger", postgres):
        filled(where, 1)
    with sqlite3.connect(tmp_path / "ledger") as lite:
        for sql in ("UPDATE entries SET epsilon = '0'", "DELETE FROM entries"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                lite.execute(sql)
    for sql in ("UPDATE entries SET epsilon = '0'", "DELETE FROM entries", "TRUNCATE entries"):
        with (
            psycopg.connect(postgres, options=f"-c search_path={SCHEMA}") as db,
            pytest.raises(psycopg.errors.RaiseException, match="append-only"),
        ):
            db.execute(sql.encode())
