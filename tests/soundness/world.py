"""Schemas, policies and databases as the oracle sees them, and when a database is admissible.

Tables are tuples of rows, rows are tuples of values in column order. A column's `values` are all that the
oracle ever puts there, chosen inside what the policy file declares.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["integer", "numeric", "text", "date"]
Value: TypeAlias = int | float | str | None
"""Dates are ISO text here: SQLite stores them so, DuckDB casts them. Numerics are quarters, exact in binary."""
Row: TypeAlias = tuple[Value, ...]
Database: TypeAlias = Mapping[str, tuple[Row, ...]]
Label: TypeAlias = Literal["del", "pub"] | frozenset[str]


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: Kind
    values: tuple[Value, ...]
    nullable: bool = False
    declared: Mapping[str, Any] = field(default_factory=dict)

    @property
    def type(self) -> str:
        return "numeric(6, 2)" if self.kind == "numeric" else self.kind

    def options(self) -> tuple[Value, ...]:
        return (*self.values, None) if self.nullable else self.values


@dataclass(frozen=True, slots=True)
class Reference:
    columns: tuple[str, ...]
    table: str


@dataclass(frozen=True, eq=False)
class Table:
    """Without slots, because the positions of its columns are looked up all the time and so remembered.

    The frequency of the columns `truncated` is one that the data need not meet: queries do not see the rest.
    """

    name: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    references: tuple[Reference, ...] = ()
    frequencies: tuple[tuple[tuple[str, ...], int], ...] = ()
    rows: int | None = None
    truncated: tuple[str, ...] = ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def positions(self) -> Mapping[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def column(self, name: str) -> Column:
        return self.columns[self.positions[name]]

    @cached_property
    def _places(self) -> dict[tuple[str, ...], tuple[int, ...]]:
        return {}

    def pick(self, row: Row, columns: tuple[str, ...]) -> Row:
        places = self._places.get(columns)
        if places is None:
            places = self._places[columns] = tuple(self.positions[name] for name in columns)
        if len(places) == 1:
            return (row[places[0]],)
        return tuple([row[place] for place in places])

    def identity(self, row: Row) -> Row:
        return self.pick(row, self.key)

    def mapping(self) -> dict[str, Any]:
        """The table as the policy file declares it."""
        return {
            "key": list(self.key),
            **({"rows": self.rows} if self.rows is not None else {}),
            "foreign_keys": [
                {"columns": list(r.columns), "references": r.table} for r in self.references
            ],
            "max_frequency": [
                {
                    "columns": list(columns),
                    "rows": n,
                    **({"enforce": "truncate"} if columns == self.truncated else {}),
                }
                for columns, n in self.frequencies
            ],
            "columns": {
                c.name: {"type": c.type, **({"nullable": True} if c.nullable else {}), **c.declared}
                for c in self.columns
            },
        }


@dataclass(frozen=True, slots=True)
class Policy:
    name: str
    entity: str
    labels: Mapping[str, Label]
    max_owned: Mapping[str, int] = field(default_factory=dict)

    def label(self, table: str) -> Label:
        return self.labels.get(table, "pub")

    def private(self) -> list[str]:
        return [table for table, label in self.labels.items() if label != "pub"]

    def mapping(self) -> dict[str, Any]:
        labels = {
            table: {"rep": sorted(label)} if isinstance(label, frozenset) else label
            for table, label in self.labels.items()
        }
        owned = {"max_owned": dict(self.max_owned)} if self.max_owned else {}
        return {"entity": self.entity, "epsilon": 1, "labels": labels, **owned}


@dataclass(frozen=True, slots=True)
class World:
    """`tables` have parents first."""

    tables: Mapping[str, Table]
    policies: tuple[Policy, ...]

    def policy(self, name: str) -> Policy:
        return next(policy for policy in self.policies if policy.name == name)

    def mapping(self) -> dict[str, Any]:
        return {
            "dp4sql": 1,
            "tables": {name: table.mapping() for name, table in self.tables.items()},
            "policies": {policy.name: policy.mapping() for policy in self.policies},
        }


# ---------------------------------------------------------------- ownership (Definition 3.3)


def owned_tables(world: World, entity: str) -> tuple[str, ...]:
    """The entity and every table that refers to it, directly or through others."""
    found = {entity}
    for table in world.tables.values():
        if any(reference.table in found for reference in table.references):
            found.add(table.name)
    return tuple(name for name in world.tables if name in found)


def owned_rows(world: World, database: Database, entity: str, record: Row) -> dict[str, list[Row]]:
    """Rows that refer to `record` of table `entity`, directly or through others; itself included."""
    found: dict[str, list[Row]] = {entity: [record]}
    for table in world.tables.values():
        links = [r for r in table.references if r.table in found]
        if not links or table.name == entity:
            continue
        targets = [
            (r, {world.tables[r.table].identity(row) for row in found[r.table]}) for r in links
        ]
        found[table.name] = [
            row
            for row in database[table.name]
            if any(table.pick(row, r.columns) in keys for r, keys in targets)
        ]
    return found


def traits(world: World, used: Collection[str]) -> set[str]:
    """What is special about the tables that a query reads."""
    tables = [world.tables[name] for name in used]
    found = {
        "over a composite key": any(len(table.key) > 1 for table in tables),
        "over several foreign keys": any(len(table.references) > 1 for table in tables),
        "over a nullable foreign key": any(
            table.column(c).nullable
            for table in tables
            for r in table.references
            for c in r.columns
        ),
        "over a declared size": any(table.rows is not None for table in tables),
        "over a truncated table": any(
            table.truncated or any(world.tables[r.table].truncated for r in table.references)
            for table in tables
        ),
        "over a diamond": any(_paths(world, table) for table in tables),
        "private for two entities": len(
            {p.entity for p in world.policies if set(p.private()) & set(used)}
        )
        > 1,
    }
    return {name for name, holds in found.items() if holds}


def _paths(world: World, table: Table) -> bool:
    """Whether some table is reached from `table` in two ways."""
    above = [r.table for r in table.references]
    seen: list[str] = []
    while above:
        name = above.pop()
        seen.append(name)
        above += [r.table for r in world.tables[name].references]
    return len(set(seen)) < len(seen)


# ---------------------------------------------------------------- admissible databases


def admissible(world: World, database: Database, changed: Collection[str] | None = None) -> bool:
    """Keys, foreign keys, NOT NULL, frequencies, sizes, values and declared ownership all hold.

    With `changed`, the database is one that was admissible before these tables changed.
    """
    return all(
        _table_holds(world, table, database)
        for table in world.tables.values()
        if changed is None
        or table.name in changed
        or any(r.table in changed for r in table.references)
    ) and all(
        _ownership_holds(world, policy, database) for policy in world.policies if policy.max_owned
    )


def _table_holds(world: World, table: Table, database: Database) -> bool:
    rows = database[table.name]
    if table.rows is not None and len(rows) > table.rows:
        return False
    identities = {table.identity(row) for row in rows}
    if len(identities) < len(rows):
        return False
    for reference in table.references:
        parent = world.tables[reference.table]
        present = {parent.identity(row) for row in database[parent.name]}
        used = {
            key for key in (table.pick(row, reference.columns) for row in rows) if None not in key
        }
        if not used <= present:
            return False
    return all(
        columns == table.truncated or _most_frequent(table, rows, columns) <= most
        for columns, most in table.frequencies
    )


def _most_frequent(table: Table, rows: tuple[Row, ...], columns: tuple[str, ...]) -> int:
    seen: dict[Row, int] = {}
    for row in rows:
        key = table.pick(row, columns)
        if None not in key:
            seen[key] = seen.get(key, 0) + 1
    return max(seen.values(), default=0)


def _ownership_holds(world: World, policy: Policy, database: Database) -> bool:
    for record in database[policy.entity]:
        owned = owned_rows(world, database, policy.entity, record)
        if any(len(owned.get(table, ())) > most for table, most in policy.max_owned.items()):
            return False
    return True


# ---------------------------------------------------------------- text


def literal(value: Value, kind: Kind) -> str:
    if value is None:
        return "NULL"
    if kind == "date":
        return f"DATE '{value}'"
    return f"'{value}'" if isinstance(value, str) else str(value)


def create(table: Table) -> str:
    columns = ", ".join(f"{column.name} {column.type.upper()}" for column in table.columns)
    return f"CREATE TABLE {table.name} ({columns});"


def inserts(world: World, database: Database) -> Iterator[str]:
    for table in world.tables.values():
        kinds = [column.kind for column in table.columns]
        rows = ", ".join(
            f"({', '.join(literal(v, k) for v, k in zip(row, kinds, strict=True))})"
            for row in database[table.name]
        )
        if rows:
            yield f"INSERT INTO {table.name} VALUES {rows};"
