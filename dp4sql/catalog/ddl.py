"""The policy file as DDL: tables without rows, their keys, and comments that say what is private.

Nothing here comes from data: the same policy file gives the same text, byte for byte.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final, assert_never

from dp4sql.algebra.schema import Column, ForeignKey, Table
from dp4sql.algebra.types import TIMES, Value
from dp4sql.catalog.route import relation_name
from dp4sql.policy.labels import Del, Label, Policy, PolicySet, Pub, Rep

SHOWN_BINS: Final = 12

#: Functions that run text as a query, reach other sessions or write.
_REVOKED: Final = (
    "pg_terminate_backend", "pg_cancel_backend", "pg_stat_get_activity", "pg_notify",
    "query_to_xml", "query_to_xmlschema", "query_to_xml_and_xmlschema",
    "table_to_xml", "table_to_xmlschema", "table_to_xml_and_xmlschema",
    "cursor_to_xml", "cursor_to_xmlschema",
    "schema_to_xml", "schema_to_xmlschema", "schema_to_xml_and_xmlschema",
    "database_to_xml", "database_to_xmlschema", "database_to_xml_and_xmlschema",
    "ts_stat", "ts_rewrite",
    "pg_clear_relation_stats", "pg_restore_relation_stats",
    "pg_clear_attribute_stats", "pg_restore_attribute_stats",
    "lo_create", "lo_creat", "lo_from_bytea", "lo_put", "lo_unlink", "lo_open", "lo_truncate",
    "lo_truncate64", "lowrite",
)  # fmt: skip

#: Every signature of those functions, whatever the version of the server has.
LOCKDOWN: Final = f"""
DO $$
DECLARE signature text;
BEGIN
  FOR signature IN SELECT oid::regprocedure FROM pg_proc
    WHERE pronamespace = 'pg_catalog'::regnamespace AND proname = ANY ('{{{",".join(_REVOKED)}}}')
  LOOP EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || signature || ' FROM PUBLIC'; END LOOP;
END $$;
REVOKE ALL ON pg_stat_activity FROM PUBLIC;
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
"""


def ddl(policies: PolicySet) -> str:
    """Statements that build the schema in an empty database."""
    tables = policies.schema.tables.values()
    schemas = dict.fromkeys(t.schema for t in tables if t.schema != "public")
    parts = [
        f"CREATE SCHEMA {quote(s)}; GRANT USAGE ON SCHEMA {quote(s)} TO PUBLIC;" for s in schemas
    ]
    parts += [_table(table) for table in tables]
    parts += [_foreign_key(table, key, policies) for table in tables for key in table.foreign_keys]
    parts += [line for table in tables for line in _comments(table, policies)]
    return "\n".join(parts)


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _qualified(table: Table) -> str:
    return f"{quote(table.schema)}.{quote(relation_name(table))}"


def _table(table: Table) -> str:
    lines = [
        f"{quote(c.name)} {_type(c)}{'' if c.nullable else ' NOT NULL'}"
        for c in table.columns.values()
    ]
    if table.key:
        lines.append(f"PRIMARY KEY ({_names(table.key)})")
    name = _qualified(table)
    # Readable in its privileges, as clients check them; what reads it never comes to this database.
    return f"CREATE TABLE {name} ({', '.join(lines)}); GRANT SELECT ON {name} TO PUBLIC;"


def _type(column: Column) -> str:
    return "text" if column.type.kind == "unknown" else str(column.type)


def _foreign_key(table: Table, key: ForeignKey, policies: PolicySet) -> str:
    target = policies.schema.table(key.references)
    return (
        f"ALTER TABLE {_qualified(table)} ADD FOREIGN KEY ({_names(key.columns)}) "
        f"REFERENCES {_qualified(target)} ({_names(target.key)});"
    )


def _names(columns: tuple[str, ...]) -> str:
    return ", ".join(map(quote, columns))


# ------------------------------------------------------------------ comments


def _comments(table: Table, policies: PolicySet) -> Iterator[str]:
    name = _qualified(table)
    yield f"COMMENT ON TABLE {name} IS {literal(_about_table(table, policies))};"
    for column in table.columns.values():
        if about := _about_column(column, table, policies):
            yield f"COMMENT ON COLUMN {name}.{quote(column.name)} IS {literal(about)};"


def _about_table(table: Table, policies: PolicySet) -> str:
    labels = [
        f"{p.name}: {label(p.labels[table.name])}"
        for p in policies.policies
        if table.name in p.labels
    ]
    labels += [f"truncated: {table.left_out}"] if labels and table.cut else []
    said = "; ".join(labels) or "named by no policy, cannot be read"
    return f"{table.comment} [{said}]" if table.comment else f"[{said}]"


def label(label: Label) -> str:
    match label:
        case Del():
            return "DEL"
        case Rep(attributes):
            return f"REP ({', '.join(sorted(attributes))})"
        case Pub():
            return "PUB"
        case _:
            assert_never(label)


def _about_column(column: Column, table: Table, policies: PolicySet) -> str:
    facts = []
    private = [p.name for p in policies.policies if is_private(column, table, p)]
    if private:
        facts.append(f"private under {', '.join(private)}")
    if column.range is not None:
        low, high = (bound(end, column) for end in column.range)
        facts.append(f"from {low} to {high}")
    if column.unit is not None:
        facts.append(f"in units of {_number(column.unit)}")
    if column.domain is not None:
        facts.append(_bins(column.domain))
    said = f"[{'; '.join(facts)}]" if facts else ""
    return " ".join(part for part in (column.comment, said) if part)


def is_private(column: Column, table: Table, policy: Policy) -> bool:
    match policy.labels.get(table.name):
        case Del():
            return True
        case Rep(attributes):
            return column.name in attributes
        case Pub() | None:
            return False
        case label:
            assert_never(label)


def bound(value: Fraction, column: Column) -> str:
    if column.type.kind not in TIMES:
        return _number(value)
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=float(value * 86_400))
    return moment.date().isoformat() if value.denominator == 1 else moment.isoformat(" ")


def _number(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else str(float(value))


def _bins(domain: Sequence[Value]) -> str:
    shown = ", ".join(map(str, domain[:SHOWN_BINS]))
    return f"{len(domain)} bins: {shown}{', ...' if len(domain) > SHOWN_BINS else ''}"
