"""Keys and references that no engine declares: guessed from names, kept where the data bears them out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Final

from dp4sql.backends import Backend
from dp4sql.curator.catalogue import FoundTable, Reference, asked
from dp4sql.sql.dialects import DIALECTS, Dialect

#: How the names of columns that identify something begin or end.
ENDINGS: Final = ("key", "id", "no", "nr", "number", "code", "uuid")
MOST_PAIRS: Final = 10


def source(table: FoundTable, dialect: Dialect) -> str:
    name = dialect.quote(table.name)
    return name if table.schema == "public" else f"{dialect.quote(table.schema)}.{name}"


async def guessed_keys(
    tables: dict[str, FoundTable], backend: Backend
) -> AsyncIterator[tuple[str, FoundTable]]:
    """Each table without a declared key, with the first plausible columns that are one today."""
    dialect = DIALECTS[backend.dialect]
    for title, table in tables.items():
        if table.key:
            continue
        for columns in _plausible_keys(table):
            if await _is_key(table, columns, backend, dialect):
                yield title, replace(table, key=columns, key_guessed=True)
                break
        else:
            yield title, table


def _identifying(table: FoundTable) -> list[str]:
    return [c for c in table.columns if c.lower().endswith(ENDINGS) or c.lower().startswith("id_")]


def _plausible_keys(table: FoundTable) -> Iterator[tuple[str, ...]]:
    found = _identifying(table)
    yield from ((column,) for column in found)
    yield from list(combinations(found, 2))[:MOST_PAIRS]


async def _is_key(
    table: FoundTable, columns: tuple[str, ...], backend: Backend, dialect: Dialect
) -> bool:
    names = [dialect.quote(c) for c in columns]
    nulls = " OR ".join(f"{name} IS NULL" for name in names)
    sql = (
        f"SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM {source(table, dialect)} GROUP BY "
        f"{', '.join(names)} HAVING COUNT(*) > 1) AS twice) AS twice, "
        f"(SELECT COUNT(*) FROM {source(table, dialect)} WHERE {nulls}) AS nulls"
    )
    return (await asked(backend, sql, 2)) == [(0, 0)]


async def guessed_references(
    tables: dict[str, FoundTable], backend: Backend
) -> dict[str, FoundTable]:
    """The tables with the references that names suggest and no row contradicts."""
    dialect = DIALECTS[backend.dialect]
    found = {}
    for title, table in tables.items():
        references = list(table.references)
        for reference in _plausible_references(table, tables):
            taken = {c for r in references for c in r.columns}
            if not taken & set(reference.columns) and not await _dangling(
                table, reference, tables[reference.to], backend, dialect
            ):
                references.append(reference)
        found[title] = replace(table, references=tuple(references))
    return found


def _plausible_references(table: FoundTable, tables: dict[str, FoundTable]) -> Iterator[Reference]:
    """To the widest keys first: (part, supplier) rather than part and supplier."""
    for other in sorted(tables.values(), key=lambda t: -len(t.key)):
        columns = tuple(_matching(table, other, key) for key in other.key)
        if other.title == table.title or not columns or columns == table.key:
            continue
        if all(columns) and len(set(columns)) == len(columns):
            yield Reference(tuple(filter(None, columns)), other.title, other.key, guessed=True)


def _matching(table: FoundTable, other: FoundTable, key: str) -> str | None:
    """A column of `table` of the name and type of the other's key: the same, without a prefix, or with
    the other table's name in front."""
    names = {_bare(key), f"{other.name}_{key}".lower(), f"{other.name.rstrip('s')}_{key}".lower()}
    names -= set(ENDINGS)
    for column, type in table.columns.items():
        same = column.lower() in names or _bare(column) in names
        if same and type == other.columns[key]:
            return column
    return None


def _bare(name: str) -> str:
    """Without a short prefix: custkey of o_custkey."""
    prefix, mark, rest = name.lower().partition("_")
    return rest if mark and len(prefix) <= 2 else name.lower()


async def _dangling(
    table: FoundTable, reference: Reference, other: FoundTable, backend: Backend, dialect: Dialect
) -> bool:
    quote = dialect.quote
    pairs = list(zip(reference.columns, reference.target, strict=True))
    known = " AND ".join(f"c.{quote(a)} IS NOT NULL" for a, _ in pairs)
    same = " AND ".join(f"p.{quote(b)} = c.{quote(a)}" for a, b in pairs)
    sql = (
        f"SELECT COUNT(*) FROM {source(table, dialect)} AS c WHERE {known} AND NOT EXISTS "
        f"(SELECT 1 FROM {source(other, dialect)} AS p WHERE {same})"
    )
    return (await asked(backend, sql, 1)) != [(0,)]
