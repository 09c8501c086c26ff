"""Where the engine's tables and columns are not those of the policy file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from dp4sql.algebra.schema import Table
from dp4sql.algebra.types import FLOATS, INTEGERS, TEXTS, Type
from dp4sql.backends import Backend
from dp4sql.curator.collations import loose_columns
from dp4sql.curator.rules import Rule
from dp4sql.errors import PolicyError
from dp4sql.policy.labels import PolicySet
from dp4sql.rows import OutputColumn

#: DuckDB's integers that are larger than any of Postgres.
LARGER: Final = frozenset({"ubigint", "hugeint", "uhugeint"})
#: The widest signed engine type that each kind admits: anything wider could overflow in arithmetic that is
#: rendered for the declared type, and an error tells something about the data.
FITS: Final[Mapping[str, frozenset[str]]] = {
    "smallint": frozenset({"tinyint", "utinyint", "smallint"}),
    "integer": frozenset({"tinyint", "utinyint", "smallint", "usmallint", "integer"}),
    "bigint": frozenset(
        {"tinyint", "utinyint", "smallint", "usmallint", "integer", "uinteger", "bigint"}
    ),
}
REALS: Final = frozenset({"real", "float", "double", "double precision"})
WORDS: Final = frozenset({"varchar", "text", "character varying", "character", "bpchar", "enum"})
MOMENTS: Final = frozenset({"timestamp", "timestamp without time zone", "timestamp with time zone"})

Columns = Mapping[str, str]


async def engine_columns(backend: Backend) -> Mapping[tuple[str, str], Columns]:
    """Column name to type name, for each (schema, table) of the engine."""
    # Spark has no information_schema; its backend keeps a view of the same shape.
    source = "dp4sql_columns" if backend.dialect == "spark" else "information_schema.columns"
    sql = (
        f"SELECT table_schema, table_name, column_name, data_type FROM {source} "
        "WHERE table_schema NOT IN ('information_schema', 'pg_catalog')"
    )
    text = Type("text")
    asked = [OutputColumn(name, text) for name in ("schema", "table", "column", "type")]
    rows = zip(*(await backend.fetch(sql, asked)).open_columns(), strict=True)
    found: dict[tuple[str, str], dict[str, str]] = {}
    for schema, table, column, type in rows:
        place = ("public" if schema == "main" else schema, table)
        found.setdefault(place, {})[column] = type.strip().lower()
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
        elif not _serves(type, column.type):
            yield Rule(where, f"{column.name} is {type} there, {column.type} here", "")


def _serves(full: str, type: Type) -> bool:
    """Whether every value of the engine's type `full` fits the declared type."""
    engine, kind = full.partition("(")[0].strip(), type.kind
    if kind in INTEGERS:
        return engine in FITS[kind]
    if kind in FLOATS:
        # What is rendered for doubles would run in the engine's own type, and overflow.
        return engine in REALS
    if kind == "numeric":
        # Arithmetic on digits that are declared is exact, and fails on a double that has more.
        return (engine in REALS and type.precision is None) or _digits_fit(full, engine, type)
    if kind in TEXTS:
        return engine in WORDS
    if kind.startswith("timestamp"):
        return engine in MOMENTS
    return engine == kind


def _digits_fit(full: str, engine: str, type: Type) -> bool:
    """Exact engine types: no more digits before and after the point than declared.

    Postgres leaves precision out of the name, and its numeric arithmetic cannot overflow. Integers of an engine
    can: they are none of these, except for what no integer of Postgres holds, which is read as a double.
    """
    if engine in LARGER:
        return type.precision is None
    if engine not in ("decimal", "numeric"):
        return False
    sizes = [int(size) for size in re.findall(r"\d+", full)]
    if type.precision is None or not sizes:
        return True
    precision, scale = (*sizes, 0)[:2]
    declared = type.scale or 0
    return scale <= declared and precision - scale <= type.precision - declared


async def require_schema(policies: PolicySet, backend: Backend) -> None:
    """PolicyError lists the tables and columns that the policy names and the database does not have."""
    hint = "the policy and the database must agree"
    found = [*differences(policies, await engine_columns(backend))]
    # Only columns that are there can be asked.
    found = found or await loose_columns(policies, backend)
    problems = [
        policies.lines.problem(rule.where, f"{table}: {rule.text}", hint) for table, rule in found
    ]
    if problems:
        raise PolicyError(problems)
