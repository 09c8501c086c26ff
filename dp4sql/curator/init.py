"""dp4sql init: from a database to a draft of its policy file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dp4sql.backends import Backend
from dp4sql.curator.catalogue import FoundTable, found_tables
from dp4sql.curator.draft import acyclic
from dp4sql.curator.guess import guessed_keys, guessed_references
from dp4sql.curator.measured import (
    Measured,
    measured_frequency,
    measured_rows,
    measured_values,
    shared,
)
from dp4sql.errors import InvalidParameter

#: Told before each step: how many are done, how many there are, what comes.
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Structure:
    """The tables that a policy file can describe, and sentences on what it cannot."""

    tables: dict[str, FoundTable]
    left_out: list[str]


async def structure(backend: Backend, progress: Progress) -> Structure:
    """Tables, keys and references; InvalidParameter where no table has a key."""
    tables = await found_tables(backend)
    total = len(tables) + 1
    async for title, table in guessed_keys(dict(tables), backend):
        progress(list(tables).index(title), total, f"key of {title}")
        tables[title] = table
    left_out = [f"{t} has no columns that tell its rows apart" for t in tables if not tables[t].key]
    tables = {title: table for title, table in tables.items() if table.key}
    if not tables:
        raise InvalidParameter(
            "the database has no table with a key",
            hint="A policy needs columns that tell rows apart: declare a primary key, or add one.",
        )
    if backend.dialect == "spark" or not any(table.references for table in tables.values()):
        progress(total - 1, total, "references")
        tables = await guessed_references(tables, backend)
    tables, circles = acyclic({t: _within(table, tables) for t, table in tables.items()})
    return Structure(tables, [*left_out, *circles])


def _within(table: FoundTable, tables: dict[str, FoundTable]) -> FoundTable:
    return replace(table, references=tuple(r for r in table.references if r.to in tables))


async def measure(
    tables: dict[str, FoundTable], backend: Backend, progress: Progress
) -> dict[str, Measured]:
    """Scan the tables: exact figures, for the curator alone."""
    steps = sum(2 + len(set(shared(table))) for table in tables.values())
    found, done = {}, 0
    for title, table in tables.items():
        found[title] = Measured()
        progress(done, steps, f"{title}: rows, NULLs, ranges")
        await measured_rows(table, backend, found[title])
        progress(done + 1, steps, f"{title}: values")
        await measured_values(table, backend, found[title])
        done += 2
        for columns in dict.fromkeys(shared(table)):
            progress(done, steps, f"{title}: most rows of one {', '.join(columns)}")
            await measured_frequency(table, columns, backend, found[title])
            done += 1
    progress(steps, steps, "done")
    return found
