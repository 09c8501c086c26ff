"""Whether a query may cost what it costs: the caps on one query, before the ledger has its say on all."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dp4sql.budget.cost import Charge, show
from dp4sql.errors import BudgetExceeded
from dp4sql.policy.labels import Policy, PolicySet
from dp4sql.settings import Settings


def check_price(
    charges: Sequence[Charge], policies: PolicySet, settings: Settings, role: str
) -> None:
    """BudgetExceeded where one query of `role` may not cost so much, or the session does not want to pay."""
    totals: dict[str, Fraction] = {}
    for charge in charges:
        totals[charge.policy] = totals.get(charge.policy, Fraction(0)) + charge.epsilon
    for policy in policies.policies:
        _check(policy, totals.get(policy.name, Fraction(0)), settings, role)


def _check(policy: Policy, total: Fraction, settings: Settings, role: str) -> None:
    cap, target = policy.most(role), settings.target_error
    if target is not None:
        cap = policy.epsilon if cap is None else cap
    if cap is not None and total > cap:
        found = "the query" if target is None else f"an error of at most {show(target)}"
        less = "A smaller dp4sql.epsilon" if target is None else "A larger dp4sql.target_error"
        raise BudgetExceeded(
            f"{found} costs {show(total)} under policy {policy.name}, "
            f"where one query may cost {show(cap)}",
            hint=f"Nothing was charged. {less}, or fewer columns, cost less.",
        )
    if settings.max_charge is not None and total > settings.max_charge:
        less = "lower dp4sql.epsilon" if target is None else "raise dp4sql.target_error"
        raise BudgetExceeded(
            f"the query costs {show(total)} under policy {policy.name}, more than dp4sql.max_charge allows",
            hint=f"Nothing was charged. Raise dp4sql.max_charge or {less}.",
        )
