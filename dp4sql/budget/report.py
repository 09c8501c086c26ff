"""The ledger as a curator reads it: tables that fit a terminal, or JSON with exact amounts.

Statements are shown as they were asked; they are the analysts' texts, never data.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias

from dp4sql.budget.cost import show
from dp4sql.budget.entry import Entry
from dp4sql.budget.ledger import Ledger
from dp4sql.budget.limits import NOW, window_of
from dp4sql.budget.terms import Terms, accountant_of
from dp4sql.mechanisms.accounting import rho_within
from dp4sql.policy.labels import OTHERS

WIDTH: Final = 80
SHORTEST: Final = 16
"""Characters that a statement keeps."""

Cell: TypeAlias = str | int | Fraction


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a head; `align` has l or r for each column."""

    head: tuple[str, ...]
    align: str
    rows: Sequence[tuple[Cell, ...]]

    def text(self) -> str:
        """Columns two spaces apart; a text at the end gives way first, then the widest ones."""
        lines = [[_word(cell) for cell in row] for row in (self.head, *self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.head))]
        room = WIDTH - 2 * (len(self.head) - 1)
        while sum(widths) > room:
            last = self.align[-1] == "l" and widths[-1] > SHORTEST
            widths[-1 if last else widths.index(max(widths))] -= 1
        return "\n".join(_line(line, widths, self.align) for line in lines)

    def records(self) -> list[dict[str, Any]]:
        """For JSON: amounts are exact texts such as "12/127"."""
        return [
            {
                n: str(c) if isinstance(c, Fraction) else c
                for n, c in zip(self.head, row, strict=True)
            }
            for row in self.rows
        ]


def _word(cell: Cell) -> str:
    return show(cell) if isinstance(cell, Fraction) else " ".join(str(cell).split())


def _line(cells: Sequence[str], widths: Sequence[int], align: str) -> str:
    shown = (
        cut.rjust(width) if side == "r" else cut.ljust(width)
        for cell, width, side in zip(cells, widths, align, strict=True)
        for cut in [cell if len(cell) <= width else cell[: width - 1] + "…"]
    )
    return "  ".join(shown).rstrip()


# ---------------------------------------------------------------- accounts


def databases(entries: Iterable[Entry]) -> list[str]:
    return sorted({entry.database for entry in entries if entry.database})


def accounts(entries: Iterable[Entry], database: str) -> Table:
    """What every account has spent, its budget under the terms recorded last, and its charges."""
    found = [e for e in entries if e.database == database and e.kind in ("open", "terms", "charge")]
    opened = [e for e in found if e.kind != "charge"]
    budgets = {(e.entity, e.policy): _budget(e.statement) for e in opened}
    names = {(e.entity, e.policy): _name(e.policy, e.statement) for e in opened if e.statement}
    spent = {(e.entity, e.policy, e.member): e.total for e in found if e.kind != "terms"}
    number, deltas = dict.fromkeys(spent, 0), dict.fromkeys(spent, Fraction(0))
    for entry in found:
        if entry.kind == "charge":
            number[entry.entity, entry.policy, entry.member] += 1
            deltas[entry.entity, entry.policy, entry.member] += entry.delta
    rows: list[tuple[Cell, ...]] = [
        (
            names.get((entity, policy), policy),
            member or entity,
            total,
            budgets.get((entity, policy), ""),
            number[key],
            _delta(deltas[key]),
        )
        for key, total in sorted(spent.items())
        for entity, policy, member in [key]
    ]
    if not any(deltas.values()):
        return Table(
            ("policy", "whose", "spent", "budget", "charges"), "llrrr", [r[:-1] for r in rows]
        )
    return Table(("policy", "whose", "spent", "budget", "charges", "delta"), "llrrrr", rows)


def _delta(delta: Fraction) -> str:
    return f"{float(delta):g}"


def _budget(recorded: str) -> Cell:
    if not recorded:
        return "withdrawn"
    terms = json.loads(recorded)
    return "none" if terms["budget"] is None else _most(terms, terms["budget"])


def _most(terms: Terms, amount: str) -> Fraction:
    """An amount as the account counts it: under zcdp the rho that is (amount, delta)."""
    if "delta" not in terms:
        return Fraction(amount)
    return rho_within(Fraction(amount), Fraction(terms["delta"]))


def _name(policy: str, recorded: str) -> str:
    return policy if accountant_of(recorded) == "pure" else f"{policy} (rho)"


def allowances(ledger: Ledger, entries: Sequence[Entry], database: str) -> Table:
    """What counts towards each further limit: of days, weeks, months, and of each role that has asked."""
    found = [e for e in entries if e.database == database]
    terms = {
        (e.entity, e.policy): json.loads(e.statement or "{}")
        for e in found
        if e.kind in ("open", "terms")
    }
    roles = {
        account: sorted({e.role for e in found if (e.entity, e.policy) == account} - {""})
        for account in terms
    }
    rows = [
        (
            _name(account[1], json.dumps(recorded)),
            role or "all",
            when,
            ledger.lost((database, *account), role, since),
            amount,
        )
        for account, recorded in sorted(terms.items())
        for role, when, since, amount in _limits(recorded, roles[account], ledger.today())
    ]
    return Table(("policy", "role", "when", "spent", "of"), "lllrr", rows)


_Limit: TypeAlias = tuple[str | None, str, datetime.date | None, Cell]


def _limits(terms: Terms, asked: Sequence[str], today: datetime.date) -> Iterator[_Limit]:
    yield from _windows(None, terms, terms, today)
    named = terms.get("roles", {})
    for role in sorted({*asked, *named} - {OTHERS}):
        own = named.get(role) or named.get(OTHERS) or {}
        allowed = _most(terms, own["budget"]) if own.get("budget") else "no limit"
        yield role, "ever", None, allowed
        yield from _windows(role, own, terms, today)


def _windows(role: str | None, own: Terms, terms: Terms, today: datetime.date) -> Iterator[_Limit]:
    renewal = own.get("renewal", {})
    for window in NOW:
        if window in renewal:
            yield role, NOW[window], window_of(window, today)[0], _most(terms, renewal[window])


# ---------------------------------------------------------------- queries


def queries(entries: Iterable[Entry], role: str | None = None, most: int | None = None) -> Table:
    """One line a charge, the last `most` of them: when, by whom, how much, what became of its query."""
    found = list(entries)
    ends = {e.query: e.kind for e in found if e.kind in ("answered", "failed")}
    charges = [e for e in found if e.kind == "charge" and role in (None, e.role)]
    rows: list[tuple[Cell, ...]] = [
        (
            e.at[:16].replace("T", " "),
            e.role,
            e.policy,
            e.epsilon,
            ends.get(e.query, "cut short"),
            e.statement,
        )
        for e in (charges if most is None else charges[-most:] if most else [])
    ]
    head = ("time (UTC)", "role", "policy", "epsilon", "outcome", "statement")
    return Table(head, "lllrll", rows)


def top(entries: Iterable[Entry], most: int = 10) -> Table:
    """The statements that cost the most: by policy, role and text."""
    spent: dict[tuple[str, str, str], Fraction] = {}
    times: dict[tuple[str, str, str], int] = {}
    for entry in entries:
        if entry.kind == "charge":
            key = (entry.policy, entry.role, " ".join(entry.statement.split()))
            spent[key] = spent.get(key, Fraction(0)) + entry.epsilon
            times[key] = times.get(key, 0) + 1
    ranked = sorted(spent, key=lambda key: (-spent[key], key))[:most]
    rows: list[tuple[Cell, ...]] = [(p, r, spent[p, r, s], times[p, r, s], s) for p, r, s in ranked]
    return Table(("policy", "role", "epsilon", "times", "statement"), "llrrl", rows)


def export(entries: Iterable[Entry]) -> Iterator[str]:
    """A line of JSON an entry, amounts exact as text such as "12/127"."""
    for entry in entries:
        yield json.dumps(asdict(entry), default=str)
