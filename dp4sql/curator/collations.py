"""Columns in which texts that differ are equal, by their collation or type: the policy's rules know of none.

Where 'a' = 'A' a row may fall into two bins, and which of the two texts stands for a group depends on the order
of rows. So a database with such columns is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from dp4sql.algebra.types import TEXTS, Type
from dp4sql.backends import Backend
from dp4sql.curator.rules import Rule
from dp4sql.policy.labels import PolicySet
from dp4sql.rows import OutputColumn
from dp4sql.sql.dialects import DIALECTS

PROBES = ("a", "A", "\u00e1", "a\u0301")
"""Letters that differ in case, in an accent, and in how the accent is written."""

POSTGRES = """
SELECT c.table_schema, c.table_name, c.column_name
FROM information_schema.columns c
LEFT JOIN (pg_collation l JOIN pg_namespace n ON n.oid = l.collnamespace)
ON l.collname = c.collation_name AND n.nspname = c.collation_schema
WHERE NOT l.collisdeterministic OR (c.data_type = 'character' AND c.character_maximum_length IS NULL)
"""
"""A `bpchar` without a length keeps the blanks at its end, which LIKE sees and `=` does not."""

Place = tuple[str, str]


async def loose_columns(policies: PolicySet, backend: Backend) -> list[tuple[str, Rule]]:
    """Table name and claim, for each text column of the policy that takes different texts as equal."""
    texts = [
        (table, column)
        for table, found in policies.schema.tables.items()
        for column, declared in found.columns.items()
        if declared.type.kind in TEXTS
    ]
    if not texts or backend.dialect == "spark":
        return []
    found = _in_postgres if backend.dialect == "postgres" else _in_duckdb
    loose = await found(policies, backend, texts)
    return [*_rules(loose)]


def _rules(loose: list[Place]) -> Iterator[tuple[str, Rule]]:
    for table, column in loose:
        where = ("tables", table, "columns", column)
        yield (
            table,
            Rule(
                where, f"{column} has a collation or type under which different texts are equal", ""
            ),
        )


async def _in_postgres(policies: PolicySet, backend: Backend, texts: list[Place]) -> list[Place]:
    asked = [OutputColumn(name, Type("text")) for name in ("schema", "table", "column")]
    columns = (await backend.fetch(POSTGRES, asked)).open_columns()
    loose = set(zip(*columns, strict=True))
    tables = policies.schema.tables
    names = {t: (tables[t].schema, tables[t].relname or t) for t, _ in texts}
    return [(table, column) for table, column in texts if (*names[table], column) in loose]


async def _in_duckdb(policies: PolicySet, backend: Backend, texts: list[Place]) -> list[Place]:
    """DuckDB's catalog does not tell, and a view hides it: count the probes that the column tells apart."""
    dialect = DIALECTS[backend.dialect]
    values = ", ".join(f"('{probe}')" for probe in PROBES)
    counts = [
        f"(SELECT COUNT(*) FROM (SELECT DISTINCT k FROM (SELECT {dialect.quote(column)} AS k "
        f"FROM {dialect.table(policies.schema.table(table))} WHERE FALSE UNION ALL VALUES {values}) u) d)"
        for table, column in texts
    ]
    asked = [OutputColumn(f"c{i}", Type("bigint")) for i in range(len(texts))]
    (row,) = zip(
        *(await backend.fetch(f"SELECT {', '.join(counts)}", asked)).open_columns(), strict=True
    )
    return [place for place, count in zip(texts, row, strict=True) if count < len(PROBES)]
