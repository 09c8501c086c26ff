"""docs/soundness.md shows each departure as the tests pin it: query, databases and the three numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

import dp4sql
from benchmarks.paper.queries import COUNTER_EXAMPLES
from dp4sql.infer.rules import Rule
from tests.soundness import test_departures as pinned

TEXT = (Path(__file__).parents[2] / "docs" / "soundness.md").read_text()


def rows(found: pinned.Rows) -> str:
    return ", ".join(f"({', '.join(map(value, row))})" for row in found) or "none"


def value(cell: object) -> str:
    return "NULL" if cell is None else f"'{cell}'" if isinstance(cell, str) else str(cell)


def block(sql: str, pair: tuple[pinned.Database, pinned.Database]) -> str:
    """The query and the tables that it reads or that differ, before and after."""
    before, after = pair
    read = set(re.findall(r"(?:FROM|JOIN) (\w+)", sql))
    shown = [t for t in pinned.COLUMNS if t in read or before.get(t) != after.get(t)]
    lines = ["```sql", sql, "```", "", "| table | before | after |", "|---|---|---|"]
    for table in shown:
        names = ", ".join(column.split()[0] for column in pinned.COLUMNS[table].split(", "))
        here, there = before.get(table, ()), after.get(table, ())
        second = "the same" if here == there else rows(there)
        lines.append(f"| {table} ({names}) | {rows(here)} | {second} |")
    return "\n".join(lines)


def departures() -> dict[str, str]:
    found = {}
    for name, example in COUNTER_EXAMPLES.items():
        pair = pinned.PAIRS[name]
        bound = dp4sql.explain(example.policy, example.sql).aggregates[-1].bounds[example.entity]
        moved = pinned.distance(pair, example.sql)
        numbers = f"Printed bound {example.printed}, seen {moved:g}, bound here {bound}."
        found[name] = f"{block(example.sql, pair)}\n\n{numbers}"
    for name, silent in pinned.SILENT.items():
        found[name] = block(silent.sql, silent.pair)
    return found


@pytest.mark.parametrize("name", [*COUNTER_EXAMPLES, *pinned.SILENT])
def test_a_departure_is_shown_as_it_is_pinned(name: str) -> None:
    assert f"### {name}: " in TEXT
    section = TEXT.split(f"### {name}: ")[1].split("\n##")[0]
    assert departures()[name] in section


def test_every_rule_is_in_the_table() -> None:
    named = {name for line in TEXT.splitlines() if line.startswith("| ") for name in names(line)}
    assert set(get_args(Rule)) <= named


def names(line: str) -> list[str]:
    return [part.strip() for part in line.split("|")[1].split(",")]
