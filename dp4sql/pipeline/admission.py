"""What a query is charged, and whether it may cost that: the caps on one query, before the ledger has its
say on all."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from dp4sql.budget.cost import Charge, brief, paid, show
from dp4sql.budget.limits import budget, limits, measure, total
from dp4sql.errors import BudgetExceeded, Refused
from dp4sql.mechanisms.calls import Loss
from dp4sql.mechanisms.stages import Price
from dp4sql.policy.labels import Policy, PolicySet
from dp4sql.settings import Settings


def due(
    policies: PolicySet, cost: Price, losses: Sequence[Loss], role: str, today: datetime.date
) -> list[Charge]:
    """What every policy is charged: the statement's price, and what functions in FROM lose."""
    return list(paid(_due(policies, cost, losses, role, today)))


def _due(
    policies: PolicySet, cost: Price, losses: Sequence[Loss], role: str, today: datetime.date
) -> Iterator[Charge]:
    for policy in policies.policies:
        whole = Loss(policy.name, cost.charges[policy.name])
        own = (_measured(policy, loss) for loss in losses if loss.policy == policy.name)
        for loss in (whole, *own):
            yield Charge(
                policy.name,
                policy.entity,
                brief(loss.epsilon),
                budget(policy),
                loss.member,
                loss.own_budget,
                limits(policy, role, today),
                loss.delta,
                measure(policy),
                loss.most_delta,
            )


def _measured(policy: Policy, loss: Loss) -> Loss:
    """What a function loses, in the policy's measure."""
    if policy.accountant == "pure":
        return loss
    if loss.delta:
        raise Refused(
            f"mechanism gaussian loses (epsilon, delta), which accountant zcdp of policy {policy.name} cannot add up",
            hint="The other mechanisms lose pure epsilon.",
        )
    own = None if loss.own_budget is None else total(policy, loss.own_budget)
    return replace(loss, epsilon=policy.loss(loss.epsilon), own_budget=own)


def check_price(
    charges: Sequence[Charge], policies: PolicySet, settings: Settings, role: str
) -> None:
    """BudgetExceeded where one query of `role` may not cost so much, or the session does not want to pay."""
    totals: dict[str, Fraction] = {}
    for charge in charges:
        totals[charge.policy] = totals.get(charge.policy, Fraction(0)) + charge.epsilon
    for policy in policies.policies:
        _check(policy, totals.get(policy.name, Fraction(0)), settings, role)


def _check(policy: Policy, lost: Fraction, settings: Settings, role: str) -> None:
    cap, target = policy.most(role), settings.target_error
    if target is not None:
        cap = policy.epsilon if cap is None else cap
    cap = None if cap is None else policy.loss(cap)
    if cap is not None and lost > cap:
        found = "the query" if target is None else f"an error of at most {show(target)}"
        less = "A smaller dp4sql.epsilon" if target is None else "A larger dp4sql.target_error"
        raise BudgetExceeded(
            f"{found} costs {show(lost)} under policy {policy.name}, "
            f"where one query may cost {show(cap)}",
            hint=f"Nothing was charged. {less}, or fewer columns, cost less.",
        )
    if settings.max_charge is not None and lost > policy.loss(settings.max_charge):
        less = "lower dp4sql.epsilon" if target is None else "raise dp4sql.target_error"
        raise BudgetExceeded(
            f"the query costs {show(lost)} under policy {policy.name}, more than dp4sql.max_charge allows",
            hint=f"Nothing was charged. Raise dp4sql.max_charge or {less}.",
        )
