"""The tables dp4sql.budget, dp4sql.my_queries and others: views in the empty Postgres, without rows there.

Their rows come with each query that names them, as a setting of that one transaction, so a session sees what
its role may see, and nothing else is ever stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dp4sql.sql.lexer import Statement

SCHEMA: Final = "dp4sql"


@dataclass(frozen=True, slots=True)
class OwnTable:
    """Columns by name: type and comment."""

    comment: str
    columns: Mapping[str, tuple[str, str]]


TABLES: Final[Mapping[str, OwnTable]] = {
    "budget": OwnTable(
        "What is left of each policy's budget, and of each limit that holds for this role.",
        {
            "policy": ("text", "name in the policy file"),
            "entity": ("text", "whose privacy the budget protects"),
            "cap": ("text", "what bounds the queries of this role, in words"),
            "amount": ("numeric", "epsilon in all, or rho where cap says so; NULL for no limit"),
            "spent": ("numeric", "what was charged so far"),
            "remaining": ("numeric", "amount - spent"),
        },
    ),
    "my_queries": OwnTable(
        "The last 1000 charges of queries by this role. What is free is not here.",
        {
            "at": ("timestamp with time zone", "when it was charged"),
            "query": ("bigint", "number in the ledger; equal for the policies of one query"),
            "statement": ("text", "as it was asked"),
            "policy": ("text", "which policy was charged"),
            "epsilon": ("numeric", "how much; rho where the policy has accountant zcdp"),
            "member": ("text", "the one member that was asked about; NULL where it is all"),
            "outcome": ("text", "answered, failed after data may have been read, or cut short"),
        },
    ),
    "policies": OwnTable(
        "What is private of whom, and what a query may cost.",
        {
            "policy": ("text", "name in the policy file"),
            "entity": ("text", "whose privacy it protects"),
            "epsilon": ("numeric", "what a query of this role costs unless it asks otherwise"),
            "max_charge": (
                "numeric",
                "what one query of this role may cost; NULL where epsilon is",
            ),
            "budget": ("numeric", "what all queries of all roles may cost; NULL for no limit"),
            "accountant": ("text", "how losses add up: pure (epsilon), or zcdp (rho)"),
            "delta": ("numeric", "the delta that budget goes with under zcdp; NULL under pure"),
            "labels": ("jsonb", "by table: DEL, REP (private columns) or PUB"),
            "comment": ("text", "what it protects, in words"),
        },
    ),
    "tables": OwnTable(
        "Every column that a query may read, with what is public about it.",
        {
            "table_schema": ("text", "schema"),
            "table_name": ("text", "table"),
            "column_name": ("text", "column"),
            "ordinal": ("integer", "place in the table, from 1"),
            "data_type": ("text", "type"),
            "nullable": ("boolean", "whether it may be NULL"),
            "private_under": ("jsonb", "policies that protect its values or its rows"),
            "low": ("text", "the lowest value that counts; lower ones count as this"),
            "high": ("text", "the highest value that counts; higher ones count as this"),
            "unit": ("numeric", "what sums are measured in"),
            "bins": ("jsonb", "the groups of GROUP BY where a domain is declared"),
            "comment": ("text", "what it holds, in words"),
        },
    ),
    "settings": OwnTable(
        "What SET dp4sql.NAME = VALUE changes.",
        {
            "name": ("text", "with its prefix, as SET takes it"),
            "value": ("text", "in this session"),
            "default_value": ("text", "after RESET"),
            "comment": ("text", "what it does"),
        },
    ),
}


def own_ddl() -> str:
    return "\n".join(_statements())


def _statements() -> Iterator[str]:
    yield f"CREATE SCHEMA {SCHEMA}; GRANT USAGE ON SCHEMA {SCHEMA} TO PUBLIC;"
    yield f"COMMENT ON SCHEMA {SCHEMA} IS 'budgets, policies and settings, free to read';"
    for name, table in TABLES.items():
        view = f"{SCHEMA}.{name}"
        columns = ", ".join(f"{column} {type}" for column, (type, _) in table.columns.items())
        rows = f"nullif(current_setting('{setting(name)}', true), '')::json"
        yield f"CREATE VIEW {view} AS SELECT * FROM json_to_recordset({rows}) AS t({columns});"
        yield f"GRANT SELECT ON {view} TO PUBLIC;"
        yield f"COMMENT ON VIEW {view} IS {literal(table.comment)};"
        for column, (_, comment) in table.columns.items():
            yield f"COMMENT ON COLUMN {view}.{column} IS {literal(comment)};"


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def setting(name: str) -> str:
    """What holds the rows of a table, as JSON, while a query runs."""
    return f"{SCHEMA}_rows.{name}"


def own_tables(statement: Statement) -> frozenset[str]:
    """The tables here that a statement names. One too many does no harm."""
    return frozenset(after for after in _after_schema(statement) if after in TABLES)


def calls_function(statement: Statement) -> bool:
    """Whether the statement names what is no table here: a function, which the pipeline knows."""
    return any(after not in TABLES for after in _after_schema(statement))


def _after_schema(statement: Statement) -> Iterator[str]:
    tokens = statement.tokens
    for first, dot, last in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if first.name == SCHEMA and dot.text == ".":
            yield last.name
