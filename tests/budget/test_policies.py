"""A changed policy file never resets what was spent, and what it loosens is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dp4sql.budget.cost import Charge
from dp4sql.budget.ledger import Ledger
from dp4sql.errors import BudgetExceeded
from dp4sql.policy.labels import Allowance, Del, Label, Policy, Pub, Rep
from tests.budget.conftest import Where

LABELS: Mapping[str, Label] = {
    "student": Del(),
    "enrollment": Rep(frozenset({"grade", "uid"})),
    "section": Pub(),
}


def policy(name: str, entity: str = "student") -> Policy:
    return Policy(name, entity, Fraction(1), LABELS, Fraction(20), {"enrollment": 6})


def spend(ledger: Ledger, name: str, epsilon: int, budget: int | None = None) -> None:
    most = None if budget is None else Fraction(budget)
    due = Charge(name, "student", Fraction(epsilon), most)
    ledger.charge([due], database="db", role="", statement="")


def test_a_new_policy_starts_where_its_entity_is(where: Where) -> None:
    ledger = Ledger(where)
    ledger.open_accounts([policy("old"), policy("second"), policy("f", "faculty")], database="db")
    spend(ledger, "old", 3)
    ledger.open_accounts([policy("old"), policy("new")], database="db")
    found = [ledger.spent("db", "student", name) for name in ("old", "second", "new")]
    assert found == [3, 0, 3]
    assert ledger.spent("db", "faculty", "f") == 0
    assert ledger.spent("other", "student", "new") == 0
    ledger.close()
    again = Ledger(where)
    assert again.spent("db", "student", "new") == 3
    assert again.verify() == 7


def test_nobody_dodges_that_by_not_opening_an_account(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    spend(ledger, "old", 3)
    with pytest.raises(BudgetExceeded, match="1 of 4 is left"):
        spend(ledger, "new", 2, budget=4)
    spend(ledger, "new", 1, budget=4)
    assert ledger.spent("db", "student", "new") == 4
    assert Ledger(tmp_path / "ledger").spent("db", "student", "new") == 4


def test_the_same_terms_are_recorded_once(tmp_path: Path) -> None:
    for _ in range(2):
        ledger = Ledger(tmp_path / "ledger")
        assert ledger.open_accounts([policy("p")], database="db") == []
        assert [entry.kind for entry in ledger.entries()] == ["open"]
        ledger.close()


def test_a_database_under_another_name_is_told_what_was_spent(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.open_accounts([policy("p")], database="db")
    assert ledger.open_accounts([policy("p")], database="unspent") == []
    spend(ledger, "p", 3)
    (warning,) = ledger.open_accounts([policy("p"), policy("q")], database="moved")
    assert warning == (
        "policy p starts with nothing spent on moved, and has 3 spent on db in the same ledger: "
        "if these are the same people, take that off its budget"
    )
    assert warning not in ledger.open_accounts([policy("p")], database="moved")


LOOSER = {
    "its budget was 20 and is 50": replace(policy("p"), budget=Fraction(50)),
    "its budget was 20 and is without limit": replace(policy("p"), budget=None),
    "its epsilon of a query was 1 and is 2": replace(policy("p"), epsilon=Fraction(2)),
    "student was del and is pub": replace(policy("p"), labels={**LABELS, "student": Pub()}),
    "student was del and is rep age": replace(
        policy("p"), labels={**LABELS, "student": Rep(frozenset({"age"}))}
    ),
    "grade of enrollment no longer private": replace(
        policy("p"), labels={**LABELS, "enrollment": Rep(frozenset({"uid"}))}
    ),
    "its max_owned of enrollment was 6 and is 5": replace(policy("p"), max_owned={"enrollment": 5}),
    "its max_owned of section was not declared and is 2": replace(
        policy("p"), max_owned={"enrollment": 6, "section": 2}
    ),
}


@pytest.mark.parametrize(("words", "later"), LOOSER.items(), ids=list(LOOSER))
def test_looser_terms_are_told_once(tmp_path: Path, words: str, later: Policy) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.open_accounts([policy("p")], database="db")
    assert ledger.open_accounts([later], database="db") == [
        f"policy p is looser than before: {words}"
    ]
    assert ledger.open_accounts([later], database="db") == []
    assert [entry.kind for entry in ledger.entries()] == ["open", "terms"]


LIMITED = replace(
    policy("p"),
    max_charge=Fraction(2),
    renewal={"week": Fraction(5)},
    roles={"ann": Allowance(Fraction(5)), "public": Allowance(Fraction(2))},
)
LOOSER_LIMITS = {
    "its maximum for a query was 2 and is 3": replace(LIMITED, max_charge=Fraction(3)),
    "its budget of a week was 5 and is without limit": replace(LIMITED, renewal={}),
    "its allowance of role ann was 5 and is 6": replace(
        LIMITED, roles={**LIMITED.roles, "ann": Allowance(Fraction(6))}
    ),
    "its allowance of role bob was 2 and is 3": replace(
        LIMITED, roles={**LIMITED.roles, "bob": Allowance(Fraction(3))}
    ),
}


@pytest.mark.parametrize(("words", "later"), LOOSER_LIMITS.items(), ids=list(LOOSER_LIMITS))
def test_looser_limits_are_told(tmp_path: Path, words: str, later: Policy) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.open_accounts([policy("p")], database="db")
    allowed = ledger.open_accounts([LIMITED], database="db")
    assert allowed == ["policy p is looser than before: its maximum for a query was 1 and is 2"]
    assert ledger.open_accounts([later], database="db") == [
        f"policy p is looser than before: {words}"
    ]
    stricter = replace(LIMITED, roles={role: Allowance(Fraction(1)) for role in LIMITED.roles})
    ledger.open_accounts([LIMITED], database="db")
    assert ledger.open_accounts([stricter], database="db") == []


def test_stricter_terms_are_no_news(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.open_accounts([policy("p")], database="db")
    stricter = Policy(
        "p",
        "student",
        Fraction(1, 2),
        {"student": Del(), "enrollment": Del(), "section": Rep(frozenset({"room"}))},
        Fraction(10),
    )
    assert ledger.open_accounts([stricter], database="db") == []


def test_a_policy_that_is_gone_is_told(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.open_accounts([policy("p"), policy("q")], database="db")
    spend(ledger, "p", 3)
    warning = "policy p of student, which has spent 3, is no longer in the policy file"
    assert ledger.open_accounts([policy("q")], database="db") == [warning]
    assert ledger.open_accounts([policy("q")], database="db") == []
    ledger.open_accounts([policy("p"), policy("q")], database="db")
    assert ledger.spent("db", "student", "p") == 3
