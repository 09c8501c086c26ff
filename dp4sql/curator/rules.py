"""What a policy file claims of the data, as SQL that counts the rows or values that break it.

A row rule is a predicate that a breaking row satisfies; all row rules of a table share one scan.
A set rule is a query of its own that gives the number of breaking values and the worst of them.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from dp4sql.algebra.schema import Column, ForeignKey, Frequency, Schema, Table
from dp4sql.algebra.types import DATE, TIMES, TIMESTAMP, Type, Value
from dp4sql.policy.labels import Policy
from dp4sql.policy.lines import Where
from dp4sql.sql.dialects import Dialect
from dp4sql.sql.render.scalars import literal

EPOCH = datetime.datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Rule:
    """A claim (`text`), the place in the policy file that makes it, and SQL that tests it."""

    where: Where
    text: str
    sql: str


def row_rules(table: Table, dialect: Dialect) -> Iterator[Rule]:
    """NOT NULL, ranges and domains, column by column."""
    for column in table.columns.values():
        where: Where = ("tables", table.name, "columns", column.name)
        name = dialect.quote(column.name)
        if not column.nullable:
            yield Rule(where, f"{column.name} is never NULL", f"{name} IS NULL")
        if column.range is not None:
            low, high = (_bound(bound, column.type, dialect) for bound in column.range)
            text = f"{column.name} lies in {_shown(column)}"
            yield Rule((*where, "range"), text, f"{name} < {low} OR {name} > {high}")
        if column.domain is not None and column.other is None:
            # A value outside the domain falls into no bin: its rows are silently left out.
            text = f"{column.name} is one of {len(column.domain)} bins"
            yield Rule((*where, "domain"), text, f"{name} NOT {_one_of(column, dialect)}")


def _one_of(column: Column, dialect: Dialect) -> str:
    domain = column.domain or ()
    if isinstance(domain, range):
        return f"BETWEEN {domain[0]} AND {domain[-1]}"
    return f"IN ({', '.join(literal(value, column.type, dialect) for value in domain)})"


def set_rules(table: Table, schema: Schema, dialect: Dialect) -> Iterator[Rule]:
    """Key, foreign keys and frequencies."""
    where: Where = ("tables", table.name)
    if table.key:
        claim = f"{', '.join(table.key)} is a key"
        yield Rule((*where, "key"), claim, _crowded(table, table.key, 1, dialect))
    for fk in table.foreign_keys:
        claim = f"{', '.join(fk.columns)} refers to {fk.references}"
        sql = _dangling(table, fk, schema.table(fk.references), dialect)
        yield Rule((*where, "foreign_keys"), claim, sql)
    for f in table.frequencies:
        if not f.truncate:
            yield _frequency(table, f, dialect)


def owned_rules(policy: Policy, schema: Schema, dialect: Dialect) -> Iterator[Rule]:
    """The caps of `max_owned`, counted along every chain of foreign keys to the entity."""
    for name, most in policy.max_owned.items():
        where: Where = ("policies", policy.name, "max_owned", name)
        owners = _owners(schema.table(name), policy.entity, schema, dialect)
        entity = ", ".join(f"e{i}" for i in range(len(schema.table(policy.entity).key)))
        counts = f"SELECT COUNT(*) AS n FROM ({owners}) AS o GROUP BY {entity}"
        claim = f"each {policy.entity} owns at most {most} rows of {name}"
        yield Rule(where, claim, _worst(f"{counts} HAVING COUNT(*) > {most}"))


def _frequency(table: Table, frequency: Frequency, dialect: Dialect) -> Rule:
    columns = sorted(frequency.columns)
    claim = f"at most {frequency.rows} rows share one {', '.join(columns)}"
    where: Where = ("tables", table.name, "max_frequency")
    return Rule(where, claim, _crowded(table, columns, frequency.rows, dialect))


# ------------------------------------------------------------------ SQL


def _worst(counts: str) -> str:
    return f"SELECT COUNT(*) AS broken, MAX(n) AS worst FROM ({counts}) AS c"


def _crowded(table: Table, columns: Iterable[str], most: int, dialect: Dialect) -> str:
    """Values of `columns` that more than `most` rows share; NULL joins nothing and does not count."""
    names = [dialect.quote(column) for column in columns]
    known = " AND ".join(f"{name} IS NOT NULL" for name in names)
    return _worst(
        f"SELECT COUNT(*) AS n FROM {dialect.table(table)} WHERE {known} "
        f"GROUP BY {', '.join(names)} HAVING COUNT(*) > {most}"
    )


def _dangling(table: Table, fk: ForeignKey, parent: Table, dialect: Dialect) -> str:
    known = " AND ".join(f"c.{dialect.quote(column)} IS NOT NULL" for column in fk.columns)
    matched = _matched("c", fk, "p", parent, dialect)
    return (
        f"SELECT COUNT(*) AS broken, NULL AS worst FROM {dialect.table(table)} AS c WHERE {known} "
        f"AND NOT EXISTS (SELECT 1 FROM {dialect.table(parent)} AS p WHERE {matched})"
    )


def _matched(child: str, fk: ForeignKey, parent: str, table: Table, dialect: Dialect) -> str:
    pairs = zip(fk.columns, table.key, strict=True)
    quote = dialect.quote
    return " AND ".join(f"{child}.{quote(a)} = {parent}.{quote(b)}" for a, b in pairs)


def _owners(table: Table, entity: str, schema: Schema, dialect: Dialect) -> str:
    """Pairs, each once: the key of a row of `table` under its own names, the entity's as e0, e1 ..."""
    quote = dialect.quote
    if table.name == entity:
        aliases = (f"{quote(k)} AS e{i}" for i, k in enumerate(table.key))
        return f"SELECT {', '.join((*map(quote, table.key), *aliases))} FROM {dialect.table(table)}"
    owners = ", ".join(f"p.e{i}" for i in range(len(schema.table(entity).key)))
    keys = ", ".join(f"c.{quote(k)}" for k in table.key)
    paths = []
    for fk in table.foreign_keys:
        parent = schema.table(fk.references)
        if parent.name == entity or _reaches(parent, entity, schema):
            above = _owners(parent, entity, schema, dialect)
            matched = _matched("c", fk, "p", parent, dialect)
            source = f"{dialect.table(table)} AS c JOIN ({above}) AS p ON {matched}"
            paths.append(f"SELECT {keys}, {owners} FROM {source}")
    return " UNION ".join(paths)


def _reaches(table: Table, entity: str, schema: Schema) -> bool:
    parents = (schema.table(fk.references) for fk in table.foreign_keys)
    return any(p.name == entity or _reaches(p, entity, schema) for p in parents)


# ------------------------------------------------------------------ values


def _bound(bound: Fraction, type: Type, dialect: Dialect) -> str:
    """A bound of a range as a literal; days since 1970 for dates and times."""
    if type.kind == "date":
        return literal(_day(bound), DATE, dialect)
    if type.kind in TIMES:
        return literal(EPOCH + datetime.timedelta(days=float(bound)), TIMESTAMP, dialect)
    return literal(Decimal(bound.numerator) / bound.denominator, type, dialect)


def _day(bound: Fraction) -> Value:
    return EPOCH.date() + datetime.timedelta(days=int(bound))


def _shown(column: Column) -> str:
    assert column.range is not None
    dated = column.type.kind in TIMES
    low, high = (_day(b) if dated else float(b) if b.denominator > 1 else b for b in column.range)
    return f"{low} .. {high}"
