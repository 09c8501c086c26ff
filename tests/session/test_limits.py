"""Allowances, maxima and renewals of the policy file hold for whoever is logged in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.wire.live import DATABASE, Proxy, policy, proxy, stop_clock

COUNT = "SELECT COUNT(*) FROM student"


def limited(**limits: Any) -> dict[str, Any]:
    content = policy()
    content["policies"]["student"] |= limits
    return content


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    content = limited(
        budget=20,
        max_charge=3,
        renewal={"month": 16},
        roles={"ann": 4, "bob": {"max_charge": 0.5, "renewal": {"day": 2}}, "public": 5},
    )
    with proxy(tmp_path_factory.mktemp("limited"), content) as running:
        stop_clock(running.pipeline)
        yield running


class Asked:
    """A role's session: what it was told."""

    def __init__(self, port: int, role: str) -> None:
        self.notices: list[str] = []
        self.client = psycopg.connect(
            host="127.0.0.1", port=port, user=role, dbname=DATABASE, autocommit=True
        )
        self.client.execute("SET dp4sql.reuse = off")
        self.client.add_notice_handler(lambda n: self.notices.append(n.message_primary or ""))

    def ask(self, epsilon: float | None = None) -> str:
        self.client.execute(f"SET dp4sql.epsilon = {epsilon or 'DEFAULT'}".encode())
        self.notices.clear()
        self.client.execute(COUNT)
        return "\n".join(self.notices)

    def refused(self, epsilon: float | None = None) -> str:
        with pytest.raises(psycopg.Error) as caught:
            self.ask(epsilon)
        assert caught.value.sqlstate == "53400"
        return str(caught.value)


def test_each_role_spends_its_own_allowance(place: Proxy) -> None:
    ann, carl = Asked(place.port, "ann"), Asked(place.port, "carl")
    ann.ask(3)
    assert "role ann's allowance under policy student has 0 of 4 left" in ann.ask()
    refusal = ann.refused()
    assert "role ann's allowance under policy student does not cover this query" in refusal
    assert "costs 1 and 0 of 4 is left" in refusal
    assert "role carl's allowance under policy student has 4 of 5 left" in carl.ask()


def test_a_session_may_ask_for_more_up_to_the_maximum(place: Proxy) -> None:
    dora = Asked(place.port, "dora")
    assert "charged 3 to policy student" in dora.ask(50)
    plan = dora.client.execute(f"EXPLAIN {COUNT}".encode()).fetchall()
    assert "price (epsilon): student 3" in str(plan)


def test_a_role_has_its_own_maximum_and_renewal(place: Proxy) -> None:
    bob = Asked(place.port, "bob")
    for left in ("1.5", "1", "0.5", "0"):
        notice = bob.ask()
        assert "charged 0.5 to policy student" in notice
        assert "role bob's allowance under policy student today, until 2" in notice
        assert f"{left} of 2 left" in notice
    assert "allowance under policy student today, until 2" in bob.refused(1)


def test_together_the_roles_spend_no_more_than_the_month_has(place: Proxy) -> None:
    emil, finn = Asked(place.port, "emil"), Asked(place.port, "finn")
    emil.ask(3)
    spent = place.pipeline.ledger.spent(place.pipeline.backend.identity, "student", "student")
    while spent < 16:
        more = float(min(16 - spent, 1))
        (emil if spent < 15 else finn).ask(more)
        spent = place.pipeline.ledger.spent(place.pipeline.backend.identity, "student", "student")
    assert "the budget of policy student this month, until 2" in finn.refused()
    with pytest.raises(psycopg.Error, match="this month"):
        Asked(place.port, "gina").ask(0.1)
