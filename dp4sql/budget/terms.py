"""What a policy promises, as the ledger records it, and what a later version of it promises less of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias, assert_never

from dp4sql.budget.cost import show
from dp4sql.policy.labels import OTHERS, Allowance, Del, Label, Policy, Pub, Rep

Terms: TypeAlias = Mapping[str, Any]


def terms(policy: Policy) -> str:
    """Canonical JSON: equal for equal promises. Tables that are public are left out."""
    labels = {t: _label(label) for t, label in policy.labels.items() if not isinstance(label, Pub)}
    found = {
        "epsilon": str(policy.epsilon),
        "budget": _text(policy.budget),
        "labels": labels,
        "max_owned": dict(policy.max_owned),
        "max_charge": _text(policy.max_charge),
        "renewal": {window: str(amount) for window, amount in policy.renewal.items()},
        "roles": {role: _allowance(own) for role, own in policy.roles.items()},
        "accountant": None if policy.accountant == "pure" else policy.accountant,
        "delta": _text(policy.delta),
    }
    # What is not declared is left out: a later version of dp4sql may declare more.
    return json.dumps({k: v for k, v in found.items() if v or k in REQUIRED}, sort_keys=True)


REQUIRED: Final = ("epsilon", "budget", "labels", "max_owned")


def _text(amount: Fraction | None) -> str | None:
    return None if amount is None else str(amount)


def _allowance(own: Allowance) -> Terms:
    renewal = {window: str(amount) for window, amount in own.renewal.items()}
    return {
        "budget": _text(own.budget),
        "max_charge": _text(own.max_charge),
        "renewal": renewal,
    }


def _label(label: Label) -> str | list[str]:
    match label:
        case Del():
            return "del"
        case Rep(attributes):
            return sorted(attributes)
        case Pub():
            return []
        case _ as unreachable:
            assert_never(unreachable)


def accountant_of(recorded: str) -> str:
    """How losses add up under recorded terms."""
    found: str = json.loads(recorded).get("accountant", "pure")
    return found


def loosened(name: str, before: str, after: str) -> list[str]:
    """Each way in which `after` protects less than `before`, as a sentence about policy `name`."""
    old, new = json.loads(before), json.loads(after)
    changes = [
        *_larger("epsilon of a query", old["epsilon"], new["epsilon"]),
        *_larger("budget", old["budget"], new["budget"]),
        *_costlier(old, new),
        *_larger("delta", old.get("delta", "0"), new.get("delta", "0")),
        *_renewed("budget", old, new),
        *_roles(old.get("roles", {}), new.get("roles", {})),
        *_weaker(old["labels"], new["labels"]),
        *_fewer(old["max_owned"], new["max_owned"]),
    ]
    return [f"policy {name} is looser than before: {change}" for change in changes]


def withdrawn(account: tuple[str, str, str], spent: Fraction) -> str:
    _, entity, name = account
    return (
        f"policy {name} of {entity}, which has spent {show(spent)}, is no longer in the policy file"
    )


def elsewhere(account: tuple[str, str, str], other: tuple[str, str, str], spent: Fraction) -> str:
    """Of an account that is opened: a database that moved has another name, and with it new accounts."""
    return (
        f"policy {account[2]} starts with nothing spent on {account[0]}, and has {show(spent)} spent on "
        f"{other[0]} in the same ledger: if these are the same people, take that off its budget"
    )


def _larger(what: str, old: str | None, new: str | None) -> list[str]:
    if old is None or (new is not None and Fraction(new) <= Fraction(old)):
        return []
    now = "without limit" if new is None else show(Fraction(new))
    return [f"its {what} was {show(Fraction(old))} and is {now}"]


def _costlier(old: Terms, new: Terms) -> list[str]:
    if "max_charge" not in {*old, *new}:
        return []
    before, after = (t.get("max_charge", t["epsilon"]) for t in (old, new))
    return _larger("maximum for a query", before, after)


def _renewed(whose: str, old: Terms, new: Terms) -> list[str]:
    before, after = old.get("renewal", {}), new.get("renewal", {})
    return [
        found
        for window in before
        for found in _larger(f"{whose} of a {window}", before[window], after.get(window))
    ]


def _roles(old: Mapping[str, Terms], new: Mapping[str, Terms]) -> list[str]:
    """Allowances that are larger, or gone; a role that is not named has the one of public."""
    found = []
    for role in {**old, **new}:
        before, after = (t.get(role) or t.get(OTHERS) or {} for t in (old, new))
        whose = f"allowance of role {role}"
        found += _larger(whose, before.get("budget"), after.get("budget"))
        most = f"maximum for a query of role {role}"
        found += _larger(most, before.get("max_charge"), after.get("max_charge"))
        found += _renewed(whose, before, after)
    return found


def _weaker(
    old: Mapping[str, str | Sequence[str]], new: Mapping[str, str | Sequence[str]]
) -> list[str]:
    found = []
    for table, label in old.items():
        now = new.get(table, [])
        if label == "del" and now != "del":
            found.append(f"{table} was del and is {_shown(now)}")
        elif label != "del" and now != "del" and (bare := sorted(set(label) - set(now))):
            found.append(f"{', '.join(bare)} of {table} no longer private")
    return found


def _shown(label: str | Sequence[str]) -> str:
    return f"rep {', '.join(label)}" if label else "pub"


def _fewer(old: Mapping[str, int], new: Mapping[str, int]) -> list[str]:
    """A declared bound on what one entity owns promises protection for no more rows than that."""
    return [
        f"its max_owned of {table} was {old.get(table, 'not declared')} and is {rows}"
        for table, rows in new.items()
        if table not in old or rows < old[table]
    ]
