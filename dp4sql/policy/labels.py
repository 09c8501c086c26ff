"""Privacy policies as the calculus reads them (paper section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias

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

Accountant: TypeAlias = Literal["pure", "zcdp"]
Window: TypeAlias = Literal["day", "week", "month"]
OTHERS: Final = "public"
"""Stands for each role that has no allowance under its own name, as PUBLIC does in Postgres."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What may be spent: in all, by one query, and since the start of each day, week or month. None, or a
    window that is left out, is no limit of the kind."""

    budget: Fraction | None = None
    max_charge: Fraction | None = None
    renewal: Mapping[Window, Fraction] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Policy:
    """One plausible-deniability requirement for one entity relation.

    `labels` has an entry for every table the entity owns (itself included), and may have more.
    `budget` is the total epsilon the ledger admits, None for no limit. `epsilon` is what one query
    spends unless the session asks otherwise, for more up to `max_charge`. `renewal` limits each day,
    week or month besides, and `roles` each role. `max_owned` maps a table to a declared bound on the
    rows one entity owns in it, where that is tighter than Definition 6.1. Under the accountant zcdp losses
    add up as rho, and amounts for more than one query are for (epsilon, `delta`).
    """

    name: str
    entity: str
    epsilon: Fraction
    labels: Mapping[str, Label]
    budget: Fraction | None = None
    max_owned: Mapping[str, int] = field(default_factory=dict)
    comment: str | None = None
    max_charge: Fraction | None = None
    renewal: Mapping[Window, Fraction] = field(default_factory=dict)
    roles: Mapping[str, Allowance] = field(default_factory=dict)
    accountant: Accountant = "pure"
    delta: Fraction | None = None

    def allowance(self, role: str) -> Allowance:
        """What `role` may spend, within what everybody may."""
        return self.roles.get(role) or self.roles.get(OTHERS) or Allowance()

    def most(self, role: str) -> Fraction | None:
        """What one query of `role` may cost; None where nothing is declared."""
        declared = (self.max_charge, self.allowance(role).max_charge)
        return min((most for most in declared if most is not None), default=None)

    def loss(self, epsilon: Fraction) -> Fraction:
        """What a query that loses pure `epsilon`, or is as dear, is charged in the accountant's measure."""
        return epsilon if self.accountant == "pure" else epsilon * epsilon / 2

    def epsilon_of(self, asked: Fraction | None, role: str) -> Fraction:
        """What a query of `role` may lose: the default, or what the session asks for, within its limits."""
        most = self.most(role)
        if asked is None:
            return self.epsilon if most is None else min(self.epsilon, most)
        return min(asked, self.epsilon if most is None else most)


@dataclass(frozen=True, slots=True)
class PolicySet:
    """A checked policy file: what reads it may rely on the checks of `dp4sql.policy`.

    `covered` are the tables that some policy names: the only ones a query may read. `extras` holds
    the sections certify and profiles where the file has them. `refreshed` is how often the data changes by itself.
    `lines` knows where each entry stands, for problems found later on. `displaced` are the tables whose
    truncation tells of private rows (`dp4sql.policy.truncation`).
    """

    schema: Schema
    policies: tuple[Policy, ...]
    covered: frozenset[str]
    displaced: frozenset[str] = frozenset()
    source: str = "<policy>"
    fingerprint: str = ""
    refreshed: Literal["hourly", "daily", "weekly", "monthly"] | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)
    lines: Lines = field(default=Lines(), compare=False, repr=False)

    def public_columns(self, table: str) -> frozenset[str]:
        """Columns of `table` that are public under every policy: none where any labels it DEL, or where
        private values decide which rows truncation keeps."""
        if table in self.displaced:
            return frozenset()
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
