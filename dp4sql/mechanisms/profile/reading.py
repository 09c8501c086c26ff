"""The two reads of a release: what is public of an entity, before the charge, and what is withheld, after.

Under REP keys and row counts are public (neighbours differ in values alone), so the public read may ask
whether the entity exists and how many rows it has.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from dp4sql.algebra.expr import Call, Case, Col, Expr, Lit
from dp4sql.algebra.nodes import Project, Scan, Select, Sort
from dp4sql.algebra.schema import Schema, Table
from dp4sql.algebra.types import BOOLEAN, Value
from dp4sql.errors import InvalidParameter
from dp4sql.mechanisms.calls import Environment
from dp4sql.policy.profiles import Field, Profile
from dp4sql.rows import OutputColumn
from dp4sql.sql.literals import read
from dp4sql.sql.lower.calls import Argument
from dp4sql.sql.render import Renderer

Key: TypeAlias = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class TableRows:
    """The entity's rows of one table: their keys in order, and the values of some fields, row by row."""

    keys: tuple[Key, ...]
    values: Mapping[str, tuple[Value, ...]]


def entity_key(profile: Profile, schema: Schema, given: Argument) -> Value:
    """The `entity` argument as a value of the key's type."""
    if given is None:
        raise InvalidParameter(
            "argument entity is missing", hint=f"entity => the key of a {profile.entity}."
        )
    table = schema.table(profile.entity)
    return read(str(given), table.columns[table.key[0]].type)


async def read_tables(
    env: Environment, profile: Profile, entity: Value, fields: Sequence[Field]
) -> dict[str, TableRows]:
    """The entity's rows, with `fields`, in every table of the profile."""
    tables = dict.fromkeys([profile.entity, *(f.table for f in profile.fields.values())])
    return {
        name: await _read(env, profile, name, entity, [f for f in fields if f.table == name])
        for name in tables
    }


async def _read(
    env: Environment, profile: Profile, name: str, entity: Value, fields: Sequence[Field]
) -> TableRows:
    table = env.policies.schema.table(name)
    columns = [*table.key, *(field.column for field in fields)]
    output = [OutputColumn(c, table.columns[c].type) for c in columns]
    sql = _select(env, table, _owner(table, profile.entity), entity, columns)
    opened = (await env.fetch(sql, output)).open_columns()
    width = len(table.key)
    keys = tuple(zip(*opened[:width], strict=True))
    values = {f.name: tuple(opened[width + i]) for i, f in enumerate(fields)}
    return TableRows(keys, values)


def _owner(table: Table, entity: str) -> str:
    """The column that holds the entity's key."""
    if table.name == entity:
        return table.key[0]
    return next(fk.columns[0] for fk in table.foreign_keys if fk.references == entity)


def _select(
    env: Environment, table: Table, owner: str, entity: Value, columns: Sequence[str]
) -> str:
    """SELECT columns FROM table WHERE owner = entity ORDER BY key, rendered from the algebra."""
    scan = Scan(table, "t")
    type = table.columns[owner].type
    mine = Select(scan, Call("=", (Col(f"t.{owner}", type), Lit(entity, type)), BOOLEAN))
    ids = [f"c{i}" for i in range(len(columns))]
    outputs = tuple(
        (id, _within(Col(f"t.{c}", table.columns[c].type)))
        for id, c in zip(ids, columns, strict=True)
    )
    keys = tuple((id, False, False) for id in ids[: len(table.key)])
    ordered = Sort(Project(mine, outputs), keys)
    return Renderer(env.dialect, {}).statement(ordered, tuple((id, id) for id in ids))


def _within(column: Col) -> Expr:
    """NULL where a date or timestamp lies beyond what Python holds, whose error would tell of it."""
    spans: Mapping[str, tuple[Value, Value]] = {
        "date": (datetime.date.min, datetime.date.max),
        "timestamp without time zone": (datetime.datetime.min, datetime.datetime.max),
        "timestamp with time zone": (FIRST_MOMENT, LAST_MOMENT),
    }
    if column.type.kind not in spans:
        return column
    low, high = (Lit(end, column.type) for end in spans[column.type.kind])
    tests = Call(">=", (column, low), BOOLEAN), Call("<=", (column, high), BOOLEAN)
    return Case(((Call("and", tests, BOOLEAN), column),), Lit(None, column.type), column.type)


FIRST_MOMENT: Final = datetime.datetime.min.replace(tzinfo=datetime.UTC)
LAST_MOMENT: Final = datetime.datetime.max.replace(tzinfo=datetime.UTC)


def aligned(public: TableRows, private: TableRows, field: str) -> list[Value]:
    """The private values of `field` in the order of the public rows. A row that came or went between the
    two reads counts as NULL, so the number of draws stays the one that was charged."""
    found = dict(zip(private.keys, private.values[field], strict=True))
    return [found.get(key) for key in public.keys]
