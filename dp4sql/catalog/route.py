"""Who answers a query: the pipeline where it reads policy tables, else the empty Postgres."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, Literal, TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dp4sql.algebra.schema import Table
from dp4sql.catalog.lexer import Statement
from dp4sql.errors import Refused
from dp4sql.policy.labels import PolicySet

Route: TypeAlias = Literal["private", "catalog"]

OWN_SCHEMA: Final = "dp4sql"
_SYSTEM_SCHEMAS: Final = frozenset({"pg_catalog", "information_schema", "pg_toast"})


def router(policies: PolicySet) -> Callable[[Statement], Route]:
    """The function that decides for one policy file; Refused is for queries of both kinds."""
    names = frozenset(relation_name(table) for table in policies.schema.tables.values())

    @lru_cache(maxsize=1024)
    def route(statement: Statement) -> Route:
        mentions = {token.name for token in statement.tokens}
        if OWN_SCHEMA in mentions and _calls_own_schema(statement):
            return "private"
        # Catalog queries often are beyond sqlglot; those that name no policy table need no parse.
        return _by_tables(statement.text, names) if mentions & names else "catalog"

    return route


def relation_name(table: Table) -> str:
    """The table's name without its schema."""
    return table.relname or table.name.rpartition(".")[2]


def _calls_own_schema(statement: Statement) -> bool:
    pairs = zip(statement.tokens, statement.tokens[1:], strict=False)
    return any(first.name == OWN_SCHEMA and second.text == "." for first, second in pairs)


def _by_tables(sql: str, names: frozenset[str]) -> Route:
    try:
        tree = sqlglot.parse_one(sql, read="postgres")
    except (SqlglotError, RecursionError):
        return "private"  # whose parser reports it
    if not isinstance(tree, exp.Query):
        return "private"
    local = {cte.alias for cte in tree.find_all(exp.CTE)}
    tables = list(tree.find_all(exp.Table))
    private = any(table.name in names or table.name.lower() in names for table in tables)
    if private and any(_is_system(table, local) for table in tables):
        raise Refused(
            "a query reads policy tables and system catalogs together",
            hint="Query them apart: catalogs are answered by a database without rows.",
        )
    return "private" if private else "catalog"


def _is_system(table: exp.Table, local: set[str]) -> bool:
    name, schema = table.name.lower(), table.db.lower()
    return schema in _SYSTEM_SCHEMAS or (
        not schema and name.startswith("pg_") and name not in local
    )
