"""The limits of a policy file as the ledger checks them.

A window that renews starts at midnight UTC: each day, each Monday, or on the first of each month.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final, assert_never

from dp4sql.budget.cost import Limit, Measure
from dp4sql.mechanisms.accounting import rho_within
from dp4sql.policy.labels import Policy, Window

NOW: Final[Mapping[Window, str]] = {"day": "today", "week": "this week", "month": "this month"}


def measure(policy: Policy) -> Measure:
    return "epsilon" if policy.accountant == "pure" else "rho"


def budget(policy: Policy) -> Fraction | None:
    """The policy's budget in its measure."""
    return None if policy.budget is None else total(policy, policy.budget)


def total(policy: Policy, amount: Fraction) -> Fraction:
    """An amount for many queries in the policy's measure: under zcdp the rho that is (amount, delta)."""
    if policy.accountant == "pure":
        return amount
    assert policy.delta is not None
    return rho_within(amount, policy.delta)


def limits(policy: Policy, role: str, today: datetime.date) -> tuple[Limit, ...]:
    """What holds for a query of `role` on `today`, besides the policy's budget; in its measure."""
    return tuple(
        replace(limit, amount=total(policy, limit.amount)) for limit in _limits(policy, role, today)
    )


def _limits(policy: Policy, role: str, today: datetime.date) -> Iterator[Limit]:
    named = policy.name if policy.accountant == "pure" else f"{policy.name} in rho"
    for window, amount in policy.renewal.items():
        since, until = window_of(window, today)
        name = f"the budget of policy {named} {NOW[window]}, until {until},"
        yield Limit(name, amount, since=since)
    own = policy.allowance(role)
    if own.budget is not None:
        yield Limit(f"role {role}'s allowance under policy {named}", own.budget, role)
    for window, amount in own.renewal.items():
        since, until = window_of(window, today)
        name = f"role {role}'s allowance under policy {named} {NOW[window]}, until {until},"
        yield Limit(name, amount, role, since)


def window_of(window: Window, day: datetime.date) -> tuple[datetime.date, datetime.date]:
    """The first day of the window that has `day` in it, and the first day of the next."""
    match window:
        case "day":
            return day, day + datetime.timedelta(days=1)
        case "week":
            monday = day - datetime.timedelta(days=day.weekday())
            return monday, monday + datetime.timedelta(days=7)
        case "month":
            first = day.replace(day=1)
            return first, (first + datetime.timedelta(days=31)).replace(day=1)
        case _ as unreachable:
            assert_never(unreachable)
