"""The `tables:` section as a Schema, reporting what is inconsistent in it.

Only problems that the shape cannot show: names that do not exist, keys, ranges, domains. A name
that the file declares counts as known even where its declaration is broken, so that one mistake is
one problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from dp4sql.algebra.schema import Column, ForeignKey, Frequency, Schema, Table
from dp4sql.algebra.types import NUMBERS, TEXTS, UNKNOWN, Type
from dp4sql.policy.columns import build_column
from dp4sql.policy.lines import Where
from dp4sql.policy.models import FrequencyRows, TableModel
from dp4sql.policy.source import Source, suggest


def build_schema(models: dict[str, TableModel], source: Source) -> Schema:
    """The tables that can be read; every problem in them goes to `source`."""
    if not models and not source.broken(("tables",)):
        source.report(("tables",), "no table", "declare the tables that queries may read")
    tables = {name: _table(name, model, source) for name, model in models.items()}
    _check_relations(tables, source)
    return Schema({name: _linked(tables[name], models[name], tables, source) for name in tables})


def _table(name: str, model: TableModel, source: Source) -> Table:
    where: Where = ("tables", name)
    columns = {
        column: build_column(column, entry, (*where, "columns", column), source)
        for column, entry in model.columns.items()
    }
    if not columns and not source.broken((*where, "columns")):
        source.report(
            (*where, "columns"), f"table {name} has no columns", "declare at least its key"
        )
    _check_key(name, model.key, columns, source)
    schema, _, relname = name.rpartition(".")
    return Table(
        name=name,
        key=tuple(model.key),
        columns=columns,
        frequencies=tuple(_frequencies(name, model, source)),
        rows=model.rows,
        comment=model.comment,
        schema=schema or "public",
        relname=relname,
    )


def _check_relations(tables: dict[str, Table], source: Source) -> None:
    seen: dict[tuple[str, str], str] = {}
    for name, table in tables.items():
        if not table.relname or "" in name.split(".") or name.count(".") > 1:
            hint = "a table is named relation, or schema.relation outside schema public"
            source.report(("tables", name), f'table name "{name}"', hint)
        if table.schema == "dp4sql":
            hint = "dp4sql.budget and others are there: declare it under another schema"
            source.report(("tables", name), "the schema dp4sql is the proxy's own", hint)
        other = seen.setdefault((table.schema, table.relname), name)
        if other != name:
            hint = "keep one of them"
            source.report(("tables", name), f'"{name}" and "{other}" are one table', hint)


def known_columns(
    names: Iterable[str], table: str, where: Where, source: Source, rule: str | None = None
) -> list[str]:
    """Those of `names` that `table` declares; the others are reported, each at its own item."""
    declared = source.names("tables", table, "columns")
    known = []
    for i, name in enumerate(names):
        if name in declared:
            known.append(name)
        else:
            found = f'table {table} has no column "{name}"'
            source.report((*where, i), found, suggest(name, declared), rule)
    return known


def _check_distinct(names: Sequence[str], what: str, where: Where, source: Source) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            source.report((*where, i), f'{what} names "{name}" twice', "name each column once")


# ---------------------------------------------------------------- keys


def _check_key(table: str, key: list[str], columns: dict[str, Column], source: Source) -> None:
    where: Where = ("tables", table, "key")
    if not key and not source.broken(where):
        hint = "name the columns that tell rows apart; a table without any needs a row number"
        source.report(where, f"the key of {table} is empty", hint)
    _check_distinct(key, f"the key of {table}", where, source)
    for name in known_columns(key, table, where, source):
        if columns[name].nullable:
            found = f"{table}.{name} is nullable, but part of the key"
            at: Where = ("tables", table, "columns", name, "nullable")
            source.report(at, found, "remove nullable: true")


def _foreign_keys(table: str, model: TableModel) -> Iterator[tuple[Where, ForeignKey]]:
    """The foreign keys as written, each with its place in the file."""
    top: Where = ("tables", table, "foreign_keys")
    if isinstance(model.foreign_keys, dict):
        for column, target in model.foreign_keys.items():
            yield (*top, column), ForeignKey((column,), target)
    else:
        for i, entry in enumerate(model.foreign_keys):
            yield (*top, i), ForeignKey(tuple(entry.columns), entry.references)


def _linked(table: Table, model: TableModel, tables: dict[str, Table], source: Source) -> Table:
    """`table` with its foreign keys, as far as they are sound."""
    sound = []
    for where, fk in _foreign_keys(table.name, model):
        _check_foreign_key(where, fk, table, tables, source)
        if not source.broken(where):
            sound.append(fk)
    return replace(table, foreign_keys=tuple(sound))


def _check_foreign_key(
    where: Where, fk: ForeignKey, table: Table, tables: dict[str, Table], source: Source
) -> None:
    at: Where = (*where, "columns")
    _check_distinct(fk.columns, f"a foreign key of {table.name}", at, source)
    known = known_columns(fk.columns, table.name, at, source)
    declared = source.names("tables")
    if fk.references not in declared:
        found = f'{_columns(fk)} of {table.name} refers to the undeclared table "{fk.references}"'
        source.report(where, found, suggest(fk.references, declared))
    elif fk.references in tables and len(known) == len(fk.columns):
        _check_target(table, fk, tables[fk.references], where, source)


def _check_target(
    table: Table, fk: ForeignKey, target: Table, where: Where, source: Source
) -> None:
    if source.broken(("tables", target.name, "key")):
        return
    if len(fk.columns) != len(target.key):
        key = f"({', '.join(target.key)})"
        found = f"{_columns(fk)} of {table.name} refers to {target.name}, whose key is {key}"
        source.report(where, found, "list as many columns as the key has, in the order of the key")
        return
    for mine, theirs in zip(fk.columns, target.key, strict=True):
        if theirs in target.columns:
            _check_comparable(table.columns[mine], target.columns[theirs], where, source)


def _check_comparable(column: Column, key: Column, where: Where, source: Source) -> None:
    here, there = column.type, key.type
    if UNKNOWN not in (here, there) and _family(here) != _family(there):
        found = f"{column.name} is {here}, but refers to {key.name}, which is {there}"
        source.report(where, found, "give both columns one type")


def _family(type: Type) -> str:
    return "numbers" if type.kind in NUMBERS else "texts" if type.kind in TEXTS else type.kind


def _columns(fk: ForeignKey) -> str:
    return fk.columns[0] if len(fk.columns) == 1 else f"({', '.join(fk.columns)})"


def _frequencies(table: str, model: TableModel, source: Source) -> Iterator[Frequency]:
    top: Where = ("tables", table, "max_frequency")
    cut = ""
    items: list[tuple[Where, Where, list[str], int | FrequencyRows]]
    if isinstance(model.max_frequency, dict):
        items = [((*top, c), (*top, c), [c], bound) for c, bound in model.max_frequency.items()]
    else:
        entries = enumerate(model.max_frequency)
        items = [((*top, i), (*top, i, "columns"), entry.columns, entry) for i, entry in entries]
    for where, at, columns, bound in items:
        known_columns(columns, table, at, source)
        truncate = isinstance(bound, FrequencyRows) and bound.enforce == "truncate"
        if truncate and cut:
            found = f"{table} is truncated twice, by {cut} and by {', '.join(columns)}"
            source.report((*where, "enforce"), found, "truncate by one bound, and trust the other")
        cut = ", ".join(columns) if truncate else cut
        rows = bound.rows if isinstance(bound, FrequencyRows) else bound
        yield Frequency(frozenset(columns), rows, truncate)
