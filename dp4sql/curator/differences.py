"""Where the engine's tables and columns are not those of the policy file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from dp4sql.algebra.schema import Table
from dp4sql.algebra.types import INTEGERS, NUMBERS, TEXTS, Kind, Type
from dp4sql.backends import Backend
from dp4sql.curator.rules import Rule
from dp4sql.policy.labels import PolicySet
from dp4sql.rows import OutputColumn

#: Engine type names (before any parenthesis) by the kinds of a policy file that they can serve.
WHOLE: Final = frozenset(
    {"tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger"}
)
NUMERIC: Final = WHOLE | {"decimal", "numeric", "real", "float", "double", "double precision"}
WORDS: Final = frozenset({"varchar", "text", "character varying", "character", "bpchar", "enum"})
MOMENTS: Final = frozenset({"timestamp", "timestamp without time zone", "timestamp with time zone"})

Columns = Mapping[str, str]


async def engine_columns(backend: Backend) -> Mapping[tuple[str, str], Columns]:
    """Column name to type name, for each (schema, table) of the engine."""
    sql = (
        "SELECT table_schema, table_name, column_name, data_type FROM information_schema.columns "
        "WHERE table_schema NOT IN ('information_schema', 'pg_catalog')"
    )
    text = Type("text")
    asked = [OutputColumn(name, text) for name in ("schema", "table", "column", "type")]
    rows = zip(*(await backend.fetch(sql, asked)).open_columns(), strict=True)
    found: dict[tuple[str, str], dict[str, str]] = {}
    for schema, table, column, type in rows:
        place = ("public" if schema == "main" else schema, table)
        found.setdefault(place, {})[column] = type.partition("(")[0].strip().lower()
    return found


def differences(
    policies: PolicySet, found: Mapping[tuple[str, str], Columns]
) -> Iterator[tuple[str, Rule]]:
    """Table name and claim, for each claim about names and types that does not hold."""
    for name, table in policies.schema.tables.items():
        columns = found.get((table.schema, table.relname or table.name))
        if columns is None:
            yield name, Rule(("tables", name), "the database has no such table", "")
        else:
            yield from ((name, rule) for rule in _table_differences(table, columns))


def _table_differences(table: Table, columns: Columns) -> Iterator[Rule]:
    for column in table.columns.values():
        where = ("tables", table.name, "columns", column.name)
        type = columns.get(column.name)
        if type is None:
            yield Rule(where, f"the database has no column {column.name}", "")
        elif not _serves(type, column.type.kind):
            yield Rule(where, f"{column.name} is {type} there, {column.type} here", "")


def _serves(engine: str, kind: Kind) -> bool:
    if kind in INTEGERS:
        return engine in WHOLE
    if kind in NUMBERS:
        return engine in NUMERIC
    if kind in TEXTS:
        return engine in WORDS
    if kind.startswith("timestamp"):
        return engine in MOMENTS
    return engine == kind
