"""Budgets, maxima, renewals and the allowances of roles: read from the file, and whether they make sense.

A limit that lets nothing pass is a mistake, and so is one that a narrower one never lets anybody reach.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final

from dp4sql.policy.labels import Allowance, Policy, Window
from dp4sql.policy.lines import Where
from dp4sql.policy.models import AllowanceModel, RenewalModel
from dp4sql.policy.source import Source

WINDOWS: Final[tuple[Window, ...]] = ("day", "week", "month")
MOST_DELTA: Final = Fraction(1, 1000)
IDLE: Final = "it would never matter: lower it, or leave it out"


def amounts(model: RenewalModel | None) -> dict[Window, Fraction]:
    given = {w: getattr(model, w) for w in WINDOWS} if model else {}
    return {window: amount for window, amount in given.items() if amount is not None}


def allowance(model: AllowanceModel | Fraction) -> Allowance:
    if isinstance(model, Fraction):
        return Allowance(model)
    return Allowance(model.budget, model.max_charge, amounts(model.renewal))


# ---------------------------------------------------------------- checks


def check_limits(policy: Policy, source: Source) -> None:
    where: Where = ("policies", policy.name)
    whole = Allowance(policy.budget, policy.max_charge, policy.renewal)
    if policy.max_charge is not None and policy.max_charge < policy.epsilon:
        found = f"max_charge {_short(policy.max_charge)} is below epsilon {_short(policy.epsilon)}"
        hint = "a query costs epsilon unless it asks for less: raise max_charge or lower epsilon"
        source.report((*where, "max_charge"), found, hint)
        return
    cost, price = _cost(policy, policy.epsilon, "epsilon")
    _check(whole, cost, price, where, source)
    for role, own in policy.roles.items():
        _check_role(policy, role, own, source)


def _check(own: Allowance, cost: Fraction, price: str, where: Where, source: Source) -> None:
    """One allowance in itself; `price` is what a query costs in it unless it asks for less."""
    _check_renewal_is_given(own, where, source)
    caps = [((*where, "budget"), "budget", own.budget)]
    caps += [((*where, "renewal", w), f"renewal.{w}", own.renewal.get(w)) for w in WINDOWS]
    for at, name, amount in caps:
        if amount is not None and amount < cost:
            found = f"{name} {_short(amount)} is below {price}"
            raised = "the budget" if name == "budget" else name
            lowered = price.split()[0]
            hint = f"no query could be answered: raise {raised} or lower {lowered}"
            source.report(at, found, hint)
    for at, found in (*_beyond_budget(own, cost, where), *_beyond_wider(own.renewal, where)):
        source.report(at, found, IDLE)


def _check_renewal_is_given(own: Allowance, where: Where, source: Source) -> None:
    at = (*where, "renewal")
    if not own.renewal and source.has(at) and not source.broken(at):
        hint = "{day: 1}, {week: 5} or {month: 10}, or several of them"
        source.report(at, "renewal names no day, week or month", hint)


def _beyond_budget(own: Allowance, cost: Fraction, where: Where) -> Iterator[tuple[Where, str]]:
    if own.budget is None or own.budget < cost:
        return
    budget = f"above the budget {_short(own.budget)}"
    if own.max_charge is not None and own.max_charge > own.budget:
        yield (*where, "max_charge"), f"max_charge {_short(own.max_charge)} is {budget}"
    for window, amount in own.renewal.items():
        if amount >= own.budget:
            found = (
                f"renewal.{window} {_short(amount)} is not below the budget {_short(own.budget)}"
            )
            yield (*where, "renewal", window), found


def _beyond_wider(renewal: Mapping[Window, Fraction], where: Where) -> Iterator[tuple[Where, str]]:
    given = [(window, renewal[window]) for window in WINDOWS if window in renewal]
    for (narrow, amount), (wide, more) in pairwise(given):
        if amount >= more:
            found = f"renewal.{narrow} {_short(amount)} is not below renewal.{wide} {_short(more)}"
            yield (*where, "renewal", narrow), found


def _cost(policy: Policy, epsilon: Fraction, name: str) -> tuple[Fraction, str]:
    """What a query takes of an amount for many queries, and what to call it."""
    price = f"{name} {_short(epsilon)}"
    if policy.accountant == "pure" or policy.delta is None:
        return epsilon, price
    rho = float(policy.loss(epsilon))
    whole = rho + 2 * math.sqrt(-rho * math.log(policy.delta))
    return Fraction(whole), f"{price}, which is {whole:.3g} at delta {_short(policy.delta)}"


# ---------------------------------------------------------------- accountants


def check_accountant(policy: Policy, source: Source) -> None:
    where: Where = ("policies", policy.name, "delta")
    if source.broken(where):
        return
    if policy.accountant == "pure" and policy.delta is not None:
        hint = "add accountant: zcdp, or leave delta out"
        source.report(where, "a delta without accountant zcdp", hint)
    if policy.accountant == "zcdp" and policy.delta is None:
        hint = "add delta: 0.000001, or another one far below 1 / the number of members"
        source.report(where[:2], "accountant zcdp without a delta", hint)
    if policy.delta is not None and policy.delta > MOST_DELTA:
        found = f"delta {_short(policy.delta)} is above {_short(MOST_DELTA)}"
        hint = "it is the chance that anything may happen: far below 1 / the number of members"
        source.report(where, found, hint)


def check_accountants(policies: Sequence[Policy], source: Source) -> None:
    """Losses of one entity add up in one way: what is spent passes from policy to policy."""
    first: dict[str, Policy] = {}
    for policy in policies:
        other = first.setdefault(policy.entity, policy)
        if policy.accountant != other.accountant:
            found = (
                f"accountant {policy.accountant}, where policy {other.name} has {other.accountant}"
            )
            hint = f"the policies of {policy.entity} have one accountant"
            source.report(("policies", policy.name, "accountant"), found, hint)


# ---------------------------------------------------------------- roles


def _check_role(policy: Policy, role: str, own: Allowance, source: Source) -> None:
    where: Where = ("policies", policy.name, "roles", role)
    if own == Allowance() and not source.broken(where):
        hint = "an amount, or budget, max_charge and renewal"
        source.report(where, f"the allowance of role {role} names no limit", hint)
        return
    epsilon = policy.epsilon_of(None, role)
    name = "epsilon" if epsilon == policy.epsilon else "max_charge"
    cost, price = _cost(policy, epsilon, name)
    _check(own, cost, price, where, source)
    for at, found in _beyond_policy(policy, own, where):
        source.report(at, found, IDLE)


def _beyond_policy(policy: Policy, own: Allowance, where: Where) -> Iterator[tuple[Where, str]]:
    """What the policy denies to everybody anyway."""
    most = policy.epsilon if policy.max_charge is None else policy.max_charge
    called = "epsilon" if policy.max_charge is None else "max_charge"
    caps = [("budget", own.budget, "budget", policy.budget)]
    caps += [("max_charge", own.max_charge, called, most)]
    caps += [(f"renewal.{w}", a, "budget", policy.budget) for w, a in own.renewal.items()]
    caps += [
        (f"renewal.{w}", own.renewal.get(w), f"renewal.{w}", a) for w, a in policy.renewal.items()
    ]
    for name, amount, other, cap in caps:
        if amount is not None and cap is not None and amount > cap:
            found = f"{name} {_short(amount)} is above the policy's {other} {_short(cap)}"
            yield (*where, *name.split(".")), found


def _short(amount: Fraction) -> str:
    return f"{float(amount):g}"
