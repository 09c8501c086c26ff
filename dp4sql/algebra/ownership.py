"""Ownership (paper Definitions 3.2, 3.3 and 6.1): which tables an entity owns rows in, and how many."""

from __future__ import annotations

from collections.abc import Mapping

from dp4sql.algebra.bounds import INF, Bound, least, plus, times
from dp4sql.algebra.schema import Schema, Table


def key_frequency(table: Table, columns: tuple[str, ...]) -> Bound:
    """Most rows of `table` that share one value of `columns`: 1 if they hold the key, else the least
    bound declared for a subset of them (fewer columns share no fewer rows), else the table's size."""
    names = frozenset(columns)
    if table.key and frozenset(table.key) <= names:
        return 1
    declared: list[Bound] = [f.rows for f in table.frequencies if f.columns <= names]
    return least(*declared, INF if table.rows is None else table.rows)


def owned_tables(schema: Schema, entity: str) -> tuple[str, ...]:
    """The entity and every table that refers to it directly or through others, parents first."""
    found = [entity]
    waiting = True
    while waiting:
        waiting = False
        for table in schema.tables.values():
            parents = {fk.references for fk in table.foreign_keys}
            if table.name not in found and parents & set(found):
                found.append(table.name)
                waiting = True
    return tuple(sorted(found, key=lambda name: _depth(schema, name)))


def _depth(schema: Schema, name: str) -> int:
    parents = {fk.references for fk in schema.table(name).foreign_keys}
    return 1 + max((_depth(schema, parent) for parent in parents), default=0)


def owned_bounds(schema: Schema, entity: str, declared: Mapping[str, int]) -> dict[str, Bound]:
    """Definition 6.1 for every owned table, capped by what the policy declares in `max_owned`."""
    bounds: dict[str, Bound] = {}
    for name in owned_tables(schema, entity):
        table = schema.table(name)
        paths = (
            times(key_frequency(table, fk.columns), bounds[fk.references])
            for fk in table.foreign_keys
            if fk.references in bounds
        )
        derived: Bound = 1 if name == entity else plus(*paths)
        bounds[name] = least(derived, *([declared[name]] if name in declared else []))
    return bounds
