"""Privacy policies as the calculus reads them (paper section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

from dp4sql.algebra.schema import Schema
from dp4sql.policy.lines import Lines


@dataclass(frozen=True, slots=True)
class Del:
    """DEL: the existence of each row the entity owns is private."""


@dataclass(frozen=True, slots=True)
class Rep:
    """REP A: the values of `attributes` are private in each row the entity owns, the key never."""

    attributes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Pub:
    """PUB: the whole table is public under this policy."""


Label: TypeAlias = Del | Rep | Pub


@dataclass(frozen=True, slots=True)
class Policy:
    """One plausible-deniability requirement for one entity relation.

    `labels` has an entry for every table the entity owns (itself included), and may have more.
    `budget` is the total epsilon the ledger admits, None for no limit. `epsilon` is what one query
    spends unless the session asks otherwise. `max_owned` maps a table to a declared bound on the
    rows one entity owns in it, where that is tighter than Definition 6.1.
    """

    name: str
    entity: str
    epsilon: Fraction
    labels: Mapping[str, Label]
    budget: Fraction | None = None
    max_owned: Mapping[str, int] = field(default_factory=dict)
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class PolicySet:
    """A checked policy file: what reads it may rely on the checks of `dp4sql.policy`.

    `covered` are the tables that some policy names: the only ones a query may read. `extras` holds
    further sections of the file (certify, profiles, roles ...): plain values, numbers as int or
    Decimal, or the model that the section has. `lines` knows where each entry stands, for problems
    found later on.
    """

    schema: Schema
    policies: tuple[Policy, ...]
    covered: frozenset[str]
    source: str = "<policy>"
    fingerprint: str = ""
    extras: Mapping[str, Any] = field(default_factory=dict)
    lines: Lines = field(default=Lines(), compare=False, repr=False)

    def public_columns(self, table: str) -> frozenset[str]:
        """Columns of `table` that are public under every policy (empty when any labels it DEL)."""
        columns = frozenset(self.schema.table(table).columns)
        for policy in self.policies:
            match policy.labels.get(table, Pub()):
                case Del():
                    return frozenset()
                case Rep(attributes):
                    columns -= attributes
                case Pub():
                    pass
        return columns
