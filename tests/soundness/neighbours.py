"""Neighbours straight from Definition 5.1.

A neighbour is told by the record `e` and, for each row that `e` owns in a table labelled REP A, the new
values of A. Tables labelled DEL lose every row that `e` owns. Read as: each owned REP row *may* change, so
that the printed definition's neighbours are among these. Both databases must be admissible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, product
from random import Random
from typing import TypeAlias

from .world import (
    Database,
    Policy,
    Reference,
    Row,
    Table,
    Value,
    World,
    admissible,
    owned_rows,
)

Slot: TypeAlias = tuple[str, Row]
"""A table and the key of one of its rows."""
NULLED = 0.3
"""Share of replaced references that become NULL, where they may."""


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to the rows owned by the entity record with key `record`: new values by slot and column."""

    policy: str
    record: Row
    values: Mapping[Slot, Mapping[str, Value]] = field(default_factory=dict)


def owned_by(world: World, database: Database, policy: Policy, record: Row) -> dict[str, list[Row]]:
    entity = world.tables[policy.entity]
    for row in database[policy.entity]:
        if entity.identity(row) == record:
            return owned_rows(world, database, policy.entity, row)
    return {}


def apply(world: World, database: Database, change: Change) -> Database | None:
    """The neighbour, or None where `record` is absent or the neighbour is not admissible."""
    policy = world.policy(change.policy)
    owned = owned_by(world, database, policy, change.record)
    if not owned:
        return None
    after = dict(database)
    for name, rows in owned.items():
        label, table = policy.label(name), world.tables[name]
        if label == "del":
            after[name] = tuple(row for row in database[name] if row not in rows)
        elif label != "pub":
            after[name] = tuple(
                _replaced(table, row, change) if row in rows else row for row in database[name]
            )
    changed = [name for name in owned if after[name] != database[name]]
    return after if admissible(world, after, changed) else None


def _replaced(table: Table, row: Row, change: Change) -> Row:
    new = change.values.get((table.name, table.identity(row)), {})
    return tuple(new.get(name, value) for name, value in zip(table.names, row, strict=True))


def changeable(
    world: World, database: Database, policy: Policy, record: Row
) -> list[tuple[Slot, tuple[str, ...]]]:
    """Owned rows that may change, each with the attributes that may."""
    return [
        ((name, world.tables[name].identity(row)), tuple(sorted(label)))
        for name, rows in owned_by(world, database, policy, record).items()
        if isinstance(label := policy.label(name), frozenset)
        for row in rows
    ]


def options(world: World, database: Database, slot: Slot, attributes: tuple[str, ...]) -> list[Row]:
    """All values that `attributes` of one row could take: a reference only where a parent row exists.

    `database` is the one before, so a value may still refer to a row that the change deletes; `apply` refuses.
    """
    table = world.tables[slot[0]]
    moving = [
        (tuple(map(attributes.index, r.columns)), _keys(world, database, r.table))
        for r in table.references
        if set(r.columns) <= set(attributes)
    ]
    return [
        values
        for values in product(*(table.column(name).options() for name in attributes))
        if all(_refers(tuple([values[i] for i in at]), keys) for at, keys in moving)
    ]


def _keys(world: World, database: Database, name: str) -> set[Row]:
    table = world.tables[name]
    return {table.identity(row) for row in database[name]}


def _refers(key: Row, present: set[Row]) -> bool:
    return None in key or key in present


def random_change(rng: Random, world: World, database: Database, policy: Policy) -> Change | None:
    """A change of a random record; most owned rows change, some stay. Half the time they change alike."""
    records = database[policy.entity]
    if not records:
        return None
    record = world.tables[policy.entity].identity(rng.choice(records))
    values: dict[Slot, Mapping[str, Value]] = {}
    alike, again = rng.random() < 0.5, rng.getrandbits(32)
    for slot, attributes in changeable(world, database, policy, record):
        if rng.random() < 0.85:
            values[slot] = drawn(Random(again) if alike else rng, world, database, slot, attributes)
    return Change(policy.name, record, values)


def drawn(
    rng: Random, world: World, database: Database, slot: Slot, attributes: tuple[str, ...]
) -> dict[str, Value]:
    """One of `options`, which are many."""
    table = world.tables[slot[0]]
    values = {name: rng.choice(table.column(name).options()) for name in attributes}
    for reference in table.references:
        if set(reference.columns) <= set(attributes):
            values |= _referring(rng, world, database, table, reference)
    return values


def _referring(
    rng: Random, world: World, database: Database, table: Table, reference: Reference
) -> dict[str, Value]:
    """A row that exists, or none where that may be: one NULL is enough."""
    keys = sorted(_keys(world, database, reference.table))
    nullable = all(table.column(name).nullable for name in reference.columns)
    if not keys or (nullable and rng.random() < NULLED):
        return {rng.choice(reference.columns): None} if nullable else {}
    return dict(zip(reference.columns, rng.choice(keys), strict=True))


def tweaked(rng: Random, world: World, database: Database, change: Change) -> Change | None:
    """`change` with one owned row's new values drawn again."""
    policy = world.policy(change.policy)
    slots = changeable(world, database, policy, change.record)
    if not slots:
        return None
    slot, attributes = rng.choice(slots)
    new = drawn(rng, world, database, slot, attributes)
    return Change(change.policy, change.record, {**change.values, slot: new})


def every_change(world: World, database: Database, policy: Policy, most: int) -> Iterator[Change]:
    """All changes of all records, at most `most` a record."""
    table = world.tables[policy.entity]
    for row in database[policy.entity]:
        record = table.identity(row)
        slots = changeable(world, database, policy, record)
        spaces = [options(world, database, slot, attributes) for slot, attributes in slots]
        for values in islice(product(*spaces), most):
            new = {
                slot: dict(zip(attributes, chosen, strict=True))
                for (slot, attributes), chosen in zip(slots, values, strict=True)
            }
            yield Change(policy.name, record, new)
