"""What the entries of a ledger add up to, and whether they admit another charge. No files here.

An account is (database, entity, policy). It has a sum for everybody (member ""), and one for each member
that was charged alone: what a member has lost is both together. Sums are kept by role and by day, too,
for the limits that ask for them.

An account that is new where its entity has others already starts with the most that any of them holds:
renaming a policy, or adding one later, never resets what was spent.
"""

from __future__ import annotations

import datetime
from collections import ChainMap
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

from dp4sql.budget.cost import Charge, Limit, brief, show
from dp4sql.budget.entry import START, Entry, Row, chain, from_row, to_row
from dp4sql.budget.terms import accountant_of
from dp4sql.errors import BudgetExceeded

Account: TypeAlias = tuple[str, str, str]
Span: TypeAlias = tuple[Account, str | None, str | None]
"""An account, what is counted: the charges of one role or of all (None), of one day or of all (None)."""

K = TypeVar("K")
V = TypeVar("V")

NOTHING = Fraction(0)
DAY = datetime.timedelta(days=1)


class Mismatch(Exception):
    """Entry `id` is not what the entries before it make it."""

    def __init__(self, id: int) -> None:
        super().__init__(id)
        self.id = id


@dataclass(slots=True)
class Book:
    """`count` entries have been read, and `link` is the hash of the last. `written` are rows to be stored.

    `terms` has every account that is open, with the terms of its policy, and `accountants` how its sums came
    about, even when its policy is gone; `deltas` what was lost beside epsilon, by whomever. `fullest` is the
    most that one member alone was charged; over several days its parts are added up, which may be too much,
    never too little.
    """

    count: int = 0
    link: str = START
    at: str = ""
    query: int = 0
    sums: MutableMapping[tuple[Span, str], Fraction] = field(default_factory=dict)
    fullest: MutableMapping[Span, Fraction] = field(default_factory=dict)
    terms: MutableMapping[Account, str] = field(default_factory=dict)
    accountants: MutableMapping[Account, str] = field(default_factory=dict)
    deltas: MutableMapping[Account, Fraction] = field(default_factory=dict)
    written: list[tuple[Row, str]] = field(default_factory=list)

    # ------------------------------------------------------------ trying

    def trial(self) -> Book:
        """A copy to decide on; the book itself changes when it adopts the trial."""
        return replace(
            self,
            sums=_Over(self.sums),
            fullest=_Over(self.fullest),
            terms=_Over(self.terms),
            accountants=_Over(self.accountants),
            deltas=_Over(self.deltas),
            written=[],
        )

    def adopt(self, trial: Book) -> None:
        self.count, self.link, self.at, self.query = trial.count, trial.link, trial.at, trial.query
        for own, other in (
            (self.sums, trial.sums),
            (self.fullest, trial.fullest),
            (self.terms, trial.terms),
            (self.accountants, trial.accountants),
            (self.deltas, trial.deltas),
        ):
            assert isinstance(other, _Over)
            own.update(other.maps[0])
        self.written.extend(trial.written)

    # ------------------------------------------------------------ entries

    def replay(self, row: Row, link: str) -> None:
        """Take in a stored row. Mismatch where its number, its hash or its total is off."""
        if row[0] != self.count + 1 or link != chain(self.link, row):
            raise Mismatch(self.count + 1)
        entry = from_row(row)
        if self._enter(entry) != entry.total:
            raise Mismatch(entry.id)
        self._end(entry, link)

    def write(self, entry: Entry, **changes: Any) -> int:
        """Number, date and total `entry` and take it in; its number. Time never goes back between entries."""
        entry = replace(entry, id=self.count + 1, at=max(entry.at, self.at), **changes)
        row = to_row(entry, self._enter(entry))
        link = chain(self.link, row)
        self.written.append((row, link))
        self._end(entry, link)
        return entry.id

    def _end(self, entry: Entry, link: str) -> None:
        self.count, self.link, self.at = entry.id, link, entry.at
        self.query = max(self.query, entry.query)

    def _enter(self, entry: Entry) -> Fraction:
        """The running total after the entry."""
        if entry.kind in ("answered", "failed", "accepted"):
            return NOTHING
        account = (entry.database, entry.entity, entry.policy)
        self._open(account)
        if entry.kind == "charge":
            self._add(account, entry)
        else:
            self.terms[account] = entry.statement
            if entry.statement:
                self.accountants[account] = accountant_of(entry.statement)
        return self.sums.get(((account, None, None), entry.member), NOTHING)

    def _open(self, account: Account) -> None:
        if account in self.terms:
            return
        self.terms[account] = ""
        kin = [other for other in self.terms if other != account and other[:2] == account[:2]]
        for (span, member), amount in list(self.sums.items()):
            if span[0] in kin:
                self._raise((account, *span[1:]), member, amount)
        if any(other in self.deltas for other in kin):
            self.deltas[account] = max(self.deltas.get(other, NOTHING) for other in kin)

    def _add(self, account: Account, entry: Entry) -> None:
        if entry.delta:
            self.deltas[account] = self.deltas.get(account, NOTHING) + entry.delta
        for role in (None, entry.role):
            for day in (None, entry.at[:10]):
                span = (account, role, day)
                amount = self.sums.get((span, entry.member), NOTHING) + entry.epsilon
                self._raise(span, entry.member, brief(amount))

    def _raise(self, span: Span, member: str, amount: Fraction) -> None:
        self.sums[span, member] = max(self.sums.get((span, member), NOTHING), amount)
        if member:
            self.fullest[span] = max(self.fullest.get(span, NOTHING), amount)

    def other_measure(self, account: Account, accountant: str) -> Account | None:
        """An account of the same entity that has lost something in another measure."""
        for other, known in self.accountants.items():
            if other[:2] == account[:2] and known != accountant and self.lost(other):
                return other
        return None

    # ------------------------------------------------------------ charging

    def charge(self, charges: Sequence[Charge], entry: Entry) -> int:
        """All charges, with what `entry` says of the query; its number. BudgetExceeded spoils the trial."""
        query = self.query + 1
        for charge in charges:
            self._check(charge, entry)
            self.write(
                entry,
                query=query,
                kind="charge",
                entity=charge.entity,
                policy=charge.policy,
                member=charge.member,
                epsilon=charge.epsilon,
                delta=charge.delta,
            )
        return query

    def _check(self, charge: Charge, entry: Entry) -> None:
        account = (entry.database, charge.entity, charge.policy)
        self._open(account)
        self._check_delta(account, charge)
        today = datetime.date.fromisoformat(entry.at[:10])
        for name, most, lost in self.caps(account, charge, today):
            if lost + charge.epsilon > most:
                raise _exceeded(name, charge, most, most - lost)

    def _check_delta(self, account: Account, charge: Charge) -> None:
        if not charge.delta or charge.most_delta is None:
            return
        left = charge.most_delta - self.deltas.get(account, NOTHING)
        if charge.delta > left:
            raise BudgetExceeded(
                f"the query loses delta {float(charge.delta):g} under policy {charge.policy}, and "
                f"{float(max(left, NOTHING)):g} of {float(charge.most_delta):g} is left",
                hint="Nothing was charged. A smaller delta takes a little more noise, and the mechanisms other "
                "than gaussian take none.",
            )

    def caps(
        self, account: Account, charge: Charge, today: datetime.date
    ) -> Iterator[tuple[str, Fraction, Fraction]]:
        """Each cap on a charge: its name, its amount, and what counts towards it already."""
        member = charge.member
        measure = " in rho" if charge.measure == "rho" else ""
        budget = f"the budget of policy {charge.policy}{measure}"
        if charge.budget is not None:
            yield budget, charge.budget, self.lost(account, member)
        if charge.own_budget is not None:
            own = self.sums.get(((account, None, None), member), NOTHING)
            yield f"the profile budget of one {charge.entity}{measure}", charge.own_budget, own
        for limit in charge.limits:
            yield limit.name, limit.amount, self.counted(account, member, limit, today)

    def counted(
        self, account: Account, member: str, limit: Limit, today: datetime.date
    ) -> Fraction:
        """What counts towards `limit` already."""
        today = max(today, datetime.date.fromisoformat(self.at[:10])) if self.at else today
        days = None if limit.since is None else tuple(_days(limit.since, today))
        return self.lost(account, member, limit.role, days)

    def lost(
        self,
        account: Account,
        member: str = "",
        role: str | None = None,
        days: Sequence[str] | None = None,
    ) -> Fraction:
        """What `member` has lost (with no member, the most that any has) by charges of `role` on `days`."""
        spans: list[Span] = [(account, role, day) for day in (days if days is not None else [None])]
        common = sum((self.sums.get((span, ""), NOTHING) for span in spans), NOTHING)
        if member:
            return common + sum((self.sums.get((s, member), NOTHING) for s in spans), NOTHING)
        return common + sum((self.fullest.get(span, NOTHING) for span in spans), NOTHING)


class _Over(ChainMap[K, V]):
    """Changes over what does not change, found without a ChainMap's exceptions."""

    def __init__(self, below: MutableMapping[K, V]) -> None:
        super().__init__({}, below)

    def __contains__(self, key: object) -> bool:
        changed, below = self.maps
        return key in changed or key in below

    def get(self, key: K, default: Any = None) -> Any:
        changed, below = self.maps
        return changed[key] if key in changed else below.get(key, default)


def _days(first: datetime.date, last: datetime.date) -> Iterator[str]:
    day = first
    while day <= last:
        yield day.isoformat()
        day += DAY


def _exceeded(name: str, charge: Charge, most: Fraction, left: Fraction) -> BudgetExceeded:
    cheaper = (
        "SET dp4sql.epsilon to a smaller value asks for a noisier, cheaper answer; EXPLAIN shows "
        "the price beforehand."
    )
    free = "What was answered before and what is public stays free."
    return BudgetExceeded(
        f"{name} does not cover this query: it costs {show(charge.epsilon)} "
        f"and {show(max(left, NOTHING))} of {show(most)} is left",
        hint=f"Nothing was charged. {cheaper if left > 0 else free}",
    )
