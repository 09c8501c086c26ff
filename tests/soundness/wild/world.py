"""Persons, their visits and calls, and shops that are public; policies; databases and their neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeAlias

import dp4sql
from dp4sql.policy.labels import PolicySet

from .values import CALL, PERSON, SHOP, VISIT, Column, Engine, Value

Row: TypeAlias = tuple[Value, ...]
Database: TypeAlias = Mapping[str, tuple[Row, ...]]

KINDS = ("a", "b", "c", "zz")
#: By table its columns, the key first; v and e also have the person's.
TABLES: Mapping[str, tuple[Column, ...]] = {
    "w": (Column("kind", {"type": "text"}, KINDS), *SHOP),
    "p": (Column("id", {"type": "integer"}, ()), *PERSON),
    "v": (Column("vid", {"type": "integer"}, ()), Column("pid", {"type": "integer"}, ()), *VISIT),
    "c": (Column("cid", {"type": "text"}, ()), Column("pid", {"type": "integer"}, ()), *CALL),
    "e": (Column("eid", {"type": "integer"}, ()), Column("pid", {"type": "integer"}, ()), *CALL),
}
FREQUENCIES: Mapping[str, list[Mapping[str, Any]]] = {
    "v": [{"columns": ["pid"], "rows": 3}],
    "c": [{"columns": ["pid"], "rows": 3}, {"columns": ["kind"], "rows": 2, "enforce": "truncate"}],
    "e": [{"columns": ["pid"], "rows": 2, "enforce": "truncate"}],
}
ROWS = {"w": 4, "p": 12}
OWNED = ("v", "c", "e")
ALL = tuple(c.name for c in PERSON)
SOME = ("x", "q", "k", "g", "d", "f")


@dataclass(frozen=True, slots=True)
class Labels:
    """What one record's rows may do: all go (`gone`), or have other values in some columns (`changed`)."""

    entity: str
    gone: tuple[str, ...] = ()
    changed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def mapping(self) -> dict[str, Any]:
        changed = {table: {"rep": list(columns)} for table, columns in self.changed.items()}
        return {"w": "pub", **dict.fromkeys(self.gone, "del"), **changed}


POLICIES = {
    "goes": Labels("p", ("p", "v", "c", "e")),
    "moves": Labels("p", (), {"p": ALL, "v": ("kind", "score", "amt"), "c": ("kind", "cost"), "e": ("cost",)}),
    "some": Labels("p", (), {"p": SOME}),
    "visits": Labels("p", ("v", "e")),
    "visit": Labels("v", ("v",)),
}  # fmt: skip


def policy(**each: object) -> PolicySet:
    """The policies, with further settings for all of them."""
    tables = {name: _table(name, columns) for name, columns in TABLES.items()}
    policies = {
        name: {"entity": labels.entity, "epsilon": 1, "labels": labels.mapping(), **each}
        for name, labels in POLICIES.items()
    }
    return dp4sql.load_policy({"dp4sql": 1, "tables": tables, "policies": policies})


def _table(name: str, columns: tuple[Column, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "key": [columns[0].name],
        "columns": {c.name: dict(c.declared) for c in columns},
    }
    if name in OWNED:
        found["foreign_keys"] = [{"columns": ["pid"], "references": "p"}]
        found["max_frequency"] = FREQUENCIES[name]
    if name in ROWS:
        found["rows"] = ROWS[name]
    return found


# ---------------------------------------------------------------- databases


@dataclass(frozen=True, slots=True)
class Pair:
    """Neighbours under `policy`."""

    policy: str
    before: Database
    after: Database


@dataclass(slots=True)
class Draws:
    """Databases as `engine` can hold them; `tame` ones hold nothing that is not declared."""

    rng: Random
    engine: Engine
    tame: bool = False

    def database(self) -> Database:
        kinds = self.rng.sample(KINDS, self.rng.randint(1, len(KINDS)))
        persons = [self._row("p", str(i)) for i in range(1, self.rng.randint(2, 7))]
        found = {
            "w": tuple(self._row("w", kind) for kind in kinds),
            "p": tuple(persons),
        }
        for name in OWNED:
            found[name] = self._owned(name, [p[0] for p in persons])
        return found

    def _owned(self, name: str, persons: list[Value]) -> tuple[Row, ...]:
        """As many as may be, and more where the others are left out of what queries see."""
        most = 4 if name == "e" and not self.tame else 3
        if name == "e" and self.tame:
            most = 2
        owners = [p for p in persons for _ in range(self.rng.randint(0, most))]
        keys = (self._key(name, i) for i in range(len(owners)))
        return tuple(self._row(name, key, owner) for key, owner in zip(keys, owners, strict=True))

    def _key(self, name: str, number: int) -> str:
        odd = ("{}", " {}", "{} ", "é{}", "{}'")
        return odd[number % 5].format(number) if name == "c" else str(number)

    def _row(self, name: str, *known: Value) -> Row:
        rest = TABLES[name][len(known) :]
        return (*known, *(c.draw(self.rng, self.engine, self.tame) for c in rest))

    def pair(self) -> Pair:
        name = self.rng.choice(list(POLICIES))
        before = self.database()
        return Pair(name, before, self.neighbour(before, name))

    def neighbour(self, before: Database, name: str) -> Database:
        labels = POLICIES[name]
        if not before[labels.entity]:
            return before
        record = self.rng.choice(before[labels.entity])[0]

        def owns(table: str) -> Callable[[Row], bool]:
            place = 0 if table == labels.entity else 1
            return lambda row: row[place] == record

        after = dict(before)
        for table in labels.gone:
            owned = owns(table)
            after[table] = tuple(row for row in before[table] if not owned(row))
        for table, columns in labels.changed.items():
            owned = owns(table)
            after[table] = tuple(
                self._changed(table, row, columns) if owned(row) else row for row in before[table]
            )
        return after

    def _changed(self, table: str, row: Row, columns: tuple[str, ...]) -> Row:
        pairs = zip(TABLES[table], row, strict=True)
        return tuple(
            c.draw(self.rng, self.engine, self.tame)
            if c.name in columns and self.rng.random() < 0.8
            else value
            for c, value in pairs
        )


# ---------------------------------------------------------------- shrinking


def smaller(pair: Pair) -> Iterator[Pair]:
    """The pair without one of its rows, and without those that refer to it."""
    for name in TABLES:
        for key in dict.fromkeys(row[0] for row in (*pair.before[name], *pair.after[name])):
            sides = (_without(side, name, key) for side in (pair.before, pair.after))
            yield Pair(pair.policy, *sides)


def _without(database: Database, name: str, key: Value) -> Database:
    found = dict(database)
    found[name] = tuple(row for row in database[name] if row[0] != key)
    for owned in OWNED if name == "p" else ():
        found[owned] = tuple(row for row in database[owned] if row[1] != key)
    return found
