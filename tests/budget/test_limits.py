"""Limits of a role and of a stretch of days are checked with the budget, in one transaction."""

from __future__ import annotations

import datetime
import random
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dp4sql.budget.cost import Charge, Limit
from dp4sql.budget.ledger import Ledger
from dp4sql.errors import BudgetExceeded

MONDAY = datetime.date(2026, 6, 1)
DAY = datetime.timedelta(days=1)


class Clock:
    """Noon of a day that the test sets."""

    def __init__(self) -> None:
        self.day = MONDAY

    def __call__(self) -> datetime.datetime:
        return datetime.datetime.combine(self.day, datetime.time(12), datetime.UTC)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path, clock: Clock) -> Ledger:
    return Ledger(tmp_path / "ledger", clock=clock)


def ask(ledger: Ledger, role: str, epsilon: int, *limits: Limit, member: str = "") -> None:
    due = Charge("p", "e", Fraction(epsilon), Fraction(100), member, limits=limits)
    ledger.charge([due], database="db", role=role, statement="")


def test_a_role_has_its_own_allowance(ledger: Ledger) -> None:
    ann, bob = (Limit(f"the allowance of {r}", Fraction(3), r) for r in ("ann", "bob"))
    ask(ledger, "ann", 3, ann)
    ask(ledger, "bob", 2, bob)
    with pytest.raises(BudgetExceeded) as caught:
        ask(ledger, "ann", 1, ann)
    assert caught.value.message.startswith("the allowance of ann does not cover this query")
    assert "0 of 3 is left" in caught.value.message
    ask(ledger, "bob", 1, bob)


def test_an_allowance_does_not_lift_the_budget(ledger: Ledger) -> None:
    large = Limit("the allowance of ann", Fraction(1000), "ann")
    with pytest.raises(BudgetExceeded, match="the budget of policy p"):
        ask(ledger, "ann", 101, large)


def test_a_limit_since_a_day_counts_from_that_day(ledger: Ledger, clock: Clock) -> None:
    weekly = Limit("this week's budget", Fraction(5), since=MONDAY)
    ask(ledger, "ann", 3, weekly)
    clock.day = MONDAY + 6 * DAY
    with pytest.raises(BudgetExceeded, match="2 of 5 is left"):
        ask(ledger, "bob", 3, weekly)
    clock.day = MONDAY + 7 * DAY
    ask(ledger, "bob", 5, replace(weekly, since=clock.day))
    assert ledger.spent("db", "e", "p") == 8


def test_a_clock_that_is_set_back_renews_nothing(ledger: Ledger, clock: Clock) -> None:
    clock.day = MONDAY + 3 * DAY
    ask(ledger, "ann", 5)
    clock.day = MONDAY
    with pytest.raises(BudgetExceeded):
        ask(ledger, "ann", 1, Limit("today's budget", Fraction(5), since=MONDAY))
    ask(ledger, "ann", 1)
    assert ledger.entries()[-1].at.startswith("2026-06-04")


@pytest.mark.parametrize(
    "limit", [Limit("today", Fraction(5), since=MONDAY), Limit("ann", Fraction(5), "ann")]
)
def test_a_renamed_policy_keeps_its_days_and_roles(ledger: Ledger, limit: Limit) -> None:
    ask(ledger, "ann", 3)
    due = Charge("new", "e", Fraction(3), None, limits=(limit,))
    with pytest.raises(BudgetExceeded, match="2 of 5 is left"):
        ledger.charge([due], database="db", role="ann", statement="")


def test_random_charges_against_a_plain_sum(ledger: Ledger, clock: Clock, tmp_path: Path) -> None:
    """What a limit lets pass never exceeds it, and what it refuses would have: up to the days on which
    different members lead, where the ledger may count too much, never too little."""
    rng = random.Random(11)
    charged: list[tuple[datetime.date, str, str, int]] = []

    def lost(member: str, role: str | None, since: datetime.date | None) -> int:
        total: dict[str, int] = defaultdict(int)
        for day, r, m, epsilon in charged:
            if (role is None or r == role) and (since is None or day >= since):
                total[m] += epsilon
        own = total[member] if member else max((v for m, v in total.items() if m), default=0)
        return total[""] + own

    exact = 0
    for _ in range(400):
        clock.day += DAY * rng.choice((0, 0, 0, 1))
        role, member = rng.choice("ab"), rng.choice(("", "", "u", "v"))
        whose = rng.choice((None, role))
        since = rng.choice((None, clock.day, clock.day - 6 * DAY))
        limit = Limit("limit", Fraction(rng.randint(3, 40)), whose, since)
        epsilon = rng.randint(1, 4)
        fits = lost(member, whose, since) + epsilon <= limit.amount
        due = Charge("p", "e", Fraction(epsilon), None, member, limits=(limit,))
        try:
            ledger.charge([due], database="db", role=role, statement="")
        except BudgetExceeded:
            assert not fits or (member == "" and since not in (None, clock.day))
            exact += not fits
        else:
            assert fits
            charged.append((clock.day, role, member, epsilon))
            exact += 1
    assert exact > 380
    assert ledger.spent("db", "e", "p") == lost("", None, None)
    ledger.close()
    assert Ledger(tmp_path / "ledger").spent("db", "e", "p", "u") == lost("u", None, None)
