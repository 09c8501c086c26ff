"""The ledger as a curator reads it: tables of at most 80 columns, or one JSON object a line.

Statements are shown as they were asked; they are the analysts' texts, never data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from fractions import Fraction

from dp4sql.budget.cost import show
from dp4sql.budget.entry import Entry

WIDTH = 80


def accounts(entries: Iterable[Entry]) -> str:
    """What every account has spent, its budget under the terms recorded last, and its charges."""
    spent: dict[tuple[str, str, str, str], Fraction] = {}
    budgets: dict[tuple[str, str, str], str] = {}
    number: dict[tuple[str, str, str, str], int] = {}
    for entry in entries:
        account = (entry.database, entry.entity, entry.policy)
        if entry.kind in ("open", "terms"):
            budgets[account] = _budget(entry.statement)
        if entry.kind in ("open", "charge"):
            key = (*account, entry.member)
            spent[key] = entry.total
            number[key] = number.get(key, 0) + (entry.kind == "charge")
    rows = [
        (
            database,
            policy,
            member or entity,
            show(total),
            budgets.get((database, entity, policy), ""),
            str(number[database, entity, policy, member]),
        )
        for (database, entity, policy, member), total in sorted(spent.items())
    ]
    return table(("database", "policy", "whose", "spent", "budget", "charges"), rows, "llrrrr")


def _budget(recorded: str) -> str:
    if not recorded:
        return "withdrawn"
    budget = json.loads(recorded)["budget"]
    return "none" if budget is None else show(Fraction(budget))


def queries(entries: Iterable[Entry]) -> str:
    """One line a charge: when, by whom, how much, what became of its query, and the statement."""
    found = list(entries)
    ends = {e.query: e.kind for e in found if e.kind in ("answered", "failed")}
    rows = [
        (
            e.at[:19].replace("T", " "),
            e.role,
            e.policy,
            show(e.epsilon),
            ends.get(e.query, "cut short"),
            e.statement,
        )
        for e in found
        if e.kind == "charge"
    ]
    return table(
        ("time (UTC)", "role", "policy", "epsilon", "outcome", "statement"), rows, "lllrll"
    )


def top(entries: Iterable[Entry], most: int = 10) -> str:
    """The statements that cost the most: by policy, role and text."""
    spent: dict[tuple[str, str, str], Fraction] = {}
    times: dict[tuple[str, str, str], int] = {}
    for entry in entries:
        if entry.kind == "charge":
            key = (entry.policy, entry.role, " ".join(entry.statement.split()))
            spent[key] = spent.get(key, Fraction(0)) + entry.epsilon
            times[key] = times.get(key, 0) + 1
    ranked = sorted(spent, key=lambda key: (-spent[key], key))[:most]
    rows = [(p, r, show(spent[p, r, s]), str(times[p, r, s]), s) for p, r, s in ranked]
    return table(("policy", "role", "epsilon", "times", "statement"), rows, "llrrl")


def export(entries: Iterable[Entry]) -> Iterator[str]:
    """A line of JSON an entry, amounts exact as text such as "12/127"."""
    for entry in entries:
        yield json.dumps(asdict(entry), default=str)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], align: str) -> str:
    """Columns two spaces apart, l or r aligned; the widest ones give way until a line fits."""
    lines = [[" ".join(cell.split()) for cell in row] for row in (head, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    room = WIDTH - 2 * (len(head) - 1)
    while sum(widths) > room:
        widths[widths.index(max(widths))] -= 1
    return "\n".join(_line(line, widths, align) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int], align: str) -> str:
    shown = (
        cut.rjust(width) if side == "r" else cut.ljust(width)
        for cell, width, side in zip(cells, widths, align, strict=True)
        for cut in [cell if len(cell) <= width else cell[: width - 1] + "…"]
    )
    return "  ".join(shown).rstrip()
