"""What an engine says of its tables: columns, types, keys and references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dp4sql.algebra.types import Type
from dp4sql.backends import Backend
from dp4sql.rows import OutputColumn

SYSTEM: Final = ("information_schema", "pg_catalog")
#: Engine types by the policy type that holds all of their values.
TYPES: Final = {
    "tinyint": "smallint",
    "utinyint": "smallint",
    "usmallint": "integer",
    "uinteger": "bigint",
    "varchar": "text",
    "character varying": "text",
    "character": "text",
    "bpchar": "text",
    "enum": "text",
    "string": "text",
    "float": "real",
    "double": "double precision",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz",
    "timestamp_ntz": "timestamp",
}
SAME: Final = frozenset(
    {
        "smallint",
        "integer",
        "bigint",
        "real",
        "double precision",
        "boolean",
        "text",
        "date",
        "timestamp",
        "timestamptz",
        "uuid",
    }
)


@dataclass(frozen=True, slots=True)
class Reference:
    """`columns` hold the columns `target` of table `to`: its key. `guessed` from names and values, or the
    engine's own."""

    columns: tuple[str, ...]
    to: str
    target: tuple[str, ...]
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class FoundTable:
    """`columns`: name to policy type. `left_out`: columns of types that policies have no name for."""

    schema: str
    name: str
    columns: dict[str, str] = field(default_factory=dict)
    nullable: frozenset[str] = frozenset()
    left_out: dict[str, str] = field(default_factory=dict)
    key: tuple[str, ...] = ()
    key_guessed: bool = False
    references: tuple[Reference, ...] = ()

    @property
    def title(self) -> str:
        """The table's name in a policy file."""
        return self.name if self.schema == "public" else f"{self.schema}.{self.name}"


async def found_tables(backend: Backend) -> dict[str, FoundTable]:
    """All tables by their names in a policy file; keys and references where the engine declares them."""
    tables: dict[str, FoundTable] = {}
    for schema, name, column, type, null, precision, scale in await _columns(backend):
        table = FoundTable("public" if schema == "main" else schema, name)
        table = tables.setdefault(table.title, table)
        known = policy_type(type, precision, scale)
        (table.left_out if known is None else table.columns)[column] = known or type.lower()
        if null == "YES":
            tables[table.title] = replace(table, nullable=table.nullable | {column})
    for title, kind, columns, to, target in await _constraints(backend):
        if title in tables and set(columns) <= tables[title].columns.keys():
            tables[title] = _constrained(tables[title], kind, columns, to, target)
    return {t: _whole_keys(table, tables) for t, table in tables.items() if table.columns}


def _constrained(
    table: FoundTable, kind: str, columns: Sequence[str], to: str | None, target: Sequence[str]
) -> FoundTable:
    if kind == "PRIMARY KEY":
        return replace(table, key=tuple(columns))
    if to is None:
        return table
    return replace(
        table, references=(*table.references, Reference(tuple(columns), to, tuple(target)))
    )


def _whole_keys(table: FoundTable, tables: dict[str, FoundTable]) -> FoundTable:
    """References of policy files are to whole primary keys, in their order."""
    kept = []
    for r in table.references:
        key = tables[r.to].key if r.to in tables else ()
        if key and set(key) == set(r.target):
            source = dict(zip(r.target, r.columns, strict=True))
            kept.append(Reference(tuple(source[k] for k in key), r.to, key))
    return replace(table, references=tuple(kept))


def policy_type(engine: str, precision: int | None, scale: int | None) -> str | None:
    """The policy's name of a type of DuckDB, Postgres or Spark; None where it has none."""
    name = engine.strip().lower()
    base = name.partition("(")[0].strip()
    if base in ("decimal", "numeric"):
        if "(" in name:
            return f"numeric{name.removeprefix(base).strip().replace(', ', ',')}"
        return "numeric" if precision is None else f"numeric({precision},{scale or 0})"
    return base if base in SAME else TYPES.get(base)


# ---------------------------------------------------------------- asking


async def asked(backend: Backend, sql: str, width: int) -> list[tuple[Any, ...]]:
    """Rows of a query about the database, for the curator alone."""
    columns = [OutputColumn(f"c{i}", Type("text")) for i in range(width)]
    opened = (await backend.fetch(sql, columns)).open_columns()
    return list(zip(*opened, strict=True))


async def _columns(backend: Backend) -> list[tuple[Any, ...]]:
    # The Spark backend has a view of this shape; Spark itself has no information_schema.
    source = "dp4sql_columns" if backend.dialect == "spark" else "information_schema.columns"
    systems = ", ".join(f"'{name}'" for name in SYSTEM)
    sql = (
        "SELECT table_schema, table_name, column_name, data_type, is_nullable, numeric_precision, "
        f"numeric_scale FROM {source} WHERE table_schema NOT IN ({systems}) "
        "ORDER BY table_schema, table_name, ordinal_position"
    )
    return await asked(backend, sql, 7)


async def _constraints(
    backend: Backend,
) -> Iterator[tuple[str, str, Sequence[str], str | None, Sequence[str]]]:
    sql = {"duckdb": _DUCKDB, "postgres": _POSTGRES}.get(backend.dialect)
    rows = await asked(backend, sql, 7) if sql else []
    return (
        (_title(schema, name), kind, columns, _title(to_schema, to) if to else None, target)
        for schema, name, kind, columns, to_schema, to, target in rows
    )


def _title(schema: str, name: str) -> str:
    return FoundTable("public" if schema == "main" else schema, name).title


_DUCKDB: Final = """
SELECT schema_name, table_name, constraint_type, constraint_column_names, schema_name,
       referenced_table, referenced_column_names
FROM duckdb_constraints() WHERE constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')
ORDER BY schema_name, table_name, constraint_index
"""
_POSTGRES: Final = """
SELECT n.nspname::text, t.relname::text,
       CASE c.contype WHEN 'p' THEN 'PRIMARY KEY' ELSE 'FOREIGN KEY' END,
       ARRAY(SELECT a.attname::text FROM unnest(c.conkey) WITH ORDINALITY k(no, i)
             JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.no ORDER BY k.i),
       fn.nspname::text, f.relname::text,
       ARRAY(SELECT a.attname::text FROM unnest(c.confkey) WITH ORDINALITY k(no, i)
             JOIN pg_attribute a ON a.attrelid = c.confrelid AND a.attnum = k.no ORDER BY k.i)
FROM pg_constraint c
JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace
LEFT JOIN pg_class f ON f.oid = c.confrelid LEFT JOIN pg_namespace fn ON fn.oid = f.relnamespace
WHERE c.contype IN ('p', 'f') ORDER BY 1, 2, c.oid
"""
