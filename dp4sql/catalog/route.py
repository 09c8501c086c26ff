"""Who answers a query: the pipeline where it reads policy tables, else the empty Postgres."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dp4sql.algebra.schema import Table
from dp4sql.catalog.own import SCHEMA, calls_function, own_tables
from dp4sql.errors import Dp4sqlError, Refused, Unsupported
from dp4sql.policy.labels import PolicySet
from dp4sql.remember import Remembered
from dp4sql.sql.lexer import MAX_LENGTH, Statement
from dp4sql.sql.lower.names import fold
from dp4sql.sql.parse import position, tokenized, trees

Route: TypeAlias = Literal["private", "catalog"]

_SYSTEM_SCHEMAS: Final = frozenset({"pg_catalog", "information_schema", "pg_toast"})


def router(policies: PolicySet, database: str) -> Callable[[Statement], Route]:
    """The function that decides for one policy file, in what clients know as `database`; Refused is for
    queries of both kinds, Unsupported for tables of another database."""
    names = frozenset(relation_name(table) for table in policies.schema.tables.values())

    def route(statement: Statement) -> Route:
        mentions = {token.name for token in statement.tokens}
        own = own_tables(statement)
        # Catalog queries often are beyond sqlglot; those that name no policy table need no parse.
        private = calls_function(statement) or (
            bool(mentions & names) and _by_tables(statement.text, names, database) == "private"
        )
        if private and own:
            raise Refused(
                f"a query reads dp4sql.{min(own)} and private rows together",
                hint="Query them apart: what is in schema dp4sql is free and exact.",
            )
        return "private" if private else "catalog"

    return Remembered(route, lambda statement: len(statement.text), MAX_LENGTH)


def relation_name(table: Table) -> str:
    """The table's name without its schema."""
    return table.relname or table.name.rpartition(".")[2]


def _by_tables(sql: str, names: frozenset[str], database: str) -> Route:
    try:
        tree = next(iter(trees(sql, tokenized(sql))), None)
    except (SqlglotError, Dp4sqlError, RecursionError):
        return "private"  # whose parser reports it
    if not isinstance(tree, exp.Query):
        return "private"
    local = {cte.alias for cte in tree.find_all(exp.CTE)}
    tables = list(tree.find_all(exp.Table))
    private = any(
        (table.name in names or table.name.lower() in names) and table.db.lower() != SCHEMA
        for table in tables
    )
    if private and any(_is_system(table, local) for table in tables):
        raise Refused(
            "a query reads policy tables and system catalogs together",
            hint="Query them apart: catalogs are answered by a database without rows.",
        )
    for table in tables if private else ():
        _check_database(table, database)
    return "private" if private else "catalog"


def _check_database(table: exp.Table, database: str) -> None:
    """dbt writes database.schema.table."""
    part = table.args.get("catalog")
    if part is not None and fold(part) != database:
        raise Unsupported(
            f'cross-database references are not implemented: "{table.catalog}.{table.db}.{table.name}"',
            hint=f"This is the database {database}.",
            position=position(table),
        )


def _is_system(table: exp.Table, local: set[str]) -> bool:
    name, schema = table.name.lower(), table.db.lower()
    return schema in _SYSTEM_SCHEMAS or (
        not schema and name.startswith("pg_") and name not in local
    )
