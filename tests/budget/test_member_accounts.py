"""Charges for one member of an entity relation: nobody's loss passes the budget, nobody pays for others."""

from __future__ import annotations

import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from dp4sql.budget.cost import Charge
from dp4sql.budget.kept import KeptAnswers
from dp4sql.budget.ledger import Ledger
from dp4sql.errors import BudgetExceeded, LedgerBroken
from tests.budget.test_policies import policy


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")


def charge(ledger: Ledger, epsilon: int, member: str = "", policy: str = "p") -> None:
    due = Charge(policy, "person", Fraction(epsilon), Fraction(10), member)
    ledger.charge([due], database="db", role="r", statement="s")


def lost(ledger: Ledger, member: str = "", policy: str = "p") -> Fraction:
    return ledger.spent("db", "person", policy, member)


def test_members_do_not_pay_for_each_other(ledger: Ledger) -> None:
    for _ in range(2):
        charge(ledger, 5, "u1")
        charge(ledger, 5, "u2")
    assert [lost(ledger, m) for m in ("u1", "u2", "u3", "")] == [10, 10, 0, 10]
    with pytest.raises(BudgetExceeded):
        charge(ledger, 1, "u1")
    charge(ledger, 10, "u3")


def test_what_all_lose_counts_for_each_member(ledger: Ledger) -> None:
    charge(ledger, 4)
    charge(ledger, 6, "u1")
    assert lost(ledger, "u1") == 10
    with pytest.raises(BudgetExceeded):
        charge(ledger, 1, "u1")
    charge(ledger, 6, "u2")


def test_a_question_to_all_must_leave_the_fullest_member_within_budget(ledger: Ledger) -> None:
    charge(ledger, 7, "u1")
    charge(ledger, 2, "u2")
    with pytest.raises(BudgetExceeded, match="3 of 10 is left"):
        charge(ledger, 4)
    charge(ledger, 3)
    assert (lost(ledger), lost(ledger, "u1"), lost(ledger, "u2")) == (10, 10, 5)


def test_a_new_policy_starts_with_what_each_member_has_lost(ledger: Ledger) -> None:
    ledger.open_accounts([policy("p", "person")], database="db")
    charge(ledger, 1)
    charge(ledger, 7, "u1")
    ledger.open_accounts([policy("p", "person"), policy("renamed", "person")], database="db")
    assert [lost(ledger, m, "renamed") for m in ("", "u1", "u2")] == [8, 8, 1]
    ledger.verify()


def test_the_chain_covers_the_member(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    charge(ledger, 1, "u1")
    ledger.close()
    with sqlite3.connect(tmp_path / "ledger") as db:
        db.execute("DROP TRIGGER entries_no_update")
        db.execute("UPDATE entries SET member = 'u2'")
    with pytest.raises(LedgerBroken, match="does not verify"):
        Ledger(tmp_path / "ledger")


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ledger").write_text("not a database, however long the text may be" * 40)
    with pytest.raises(LedgerBroken, match="cannot be opened"):
        KeptAnswers(tmp_path / "ledger")
