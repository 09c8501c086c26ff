"""What a policy promises, as the ledger records it, and what a later version of it promises less of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias, assert_never

from dp4sql.budget.cost import show
from dp4sql.policy.labels import Del, Label, Policy, Pub, Rep

Terms: TypeAlias = Mapping[str, Any]


def terms(policy: Policy) -> str:
    """Canonical JSON: equal for equal promises. Tables that are public are left out."""
    labels = {t: _label(label) for t, label in policy.labels.items() if not isinstance(label, Pub)}
    found = {
        "epsilon": str(policy.epsilon),
        "budget": None if policy.budget is None else str(policy.budget),
        "labels": labels,
        "max_owned": dict(policy.max_owned),
    }
    return json.dumps(found, sort_keys=True)


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


def loosened(name: str, before: str, after: str) -> list[str]:
    """Each way in which `after` protects less than `before`, as a sentence about policy `name`."""
    old, new = json.loads(before), json.loads(after)
    changes = [
        *_larger("epsilon of a query", old["epsilon"], new["epsilon"]),
        *_larger("budget", old["budget"], new["budget"]),
        *_weaker(old["labels"], new["labels"]),
        *_fewer(old["max_owned"], new["max_owned"]),
    ]
    return [f"policy {name} is looser than before: {change}" for change in changes]


def withdrawn(account: tuple[str, str, str], spent: Fraction) -> str:
    _, entity, name = account
    return (
        f"policy {name} of {entity}, which has spent {show(spent)}, is no longer in the policy file"
    )


def _larger(what: str, old: str | None, new: str | None) -> list[str]:
    if old is None or (new is not None and Fraction(new) <= Fraction(old)):
        return []
    now = "without limit" if new is None else show(Fraction(new))
    return [f"its {what} was {show(Fraction(old))} and is {now}"]


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
