"""Ownership (paper Definitions 3.2, 3.3 and 6.1): which tables an entity owns rows in, and how many."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from dp4sql.algebra.bounds import INF, Bound, least, plus, times
from dp4sql.algebra.schema import ForeignKey, Schema, Table


def key_frequency(table: Table, columns: Iterable[str], trusted: bool = False) -> Bound:
    """Most rows of `table` that share one value of `columns`: 1 if they hold the key, else the least
    bound declared for a subset of them (fewer columns share no fewer rows), else the table's size.

    `trusted`: before truncation, so that only bounds count which the data meets by itself.
    """
    names = frozenset(columns)
    if table.key and frozenset(table.key) <= names:
        return 1
    declared: list[Bound] = [
        f.rows for f in table.frequencies if f.columns <= names and not (trusted and f.truncate)
    ]
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


def owning_links(schema: Schema, entity: str, table: str) -> list[ForeignKey]:
    """The foreign keys through which rows of `table` have owners."""
    return [fk for fk in schema.table(table).foreign_keys if _owned(schema, entity, fk.references)]


def _owned(schema: Schema, entity: str, table: str) -> bool:
    above = (fk.references for fk in schema.table(table).foreign_keys)
    return table == entity or any(_owned(schema, entity, parent) for parent in above)


def _only_link(schema: Schema, entity: str, table: str) -> ForeignKey | None:
    links = owning_links(schema, entity, table) if table != entity else []
    return links[0] if len(links) == 1 else None


def owner_columns(schema: Schema, entity: str, table: str) -> frozenset[str]:
    """Columns that hold the key of a row's owner, where the table is owned by one way alone."""
    link = _only_link(schema, entity, table)
    if link is None:
        return frozenset()
    if link.references == entity:
        return frozenset(link.columns)
    parent = schema.table(link.references)
    above = owner_columns(schema, entity, parent.name)
    if not above <= frozenset(parent.key):
        return frozenset()
    pairs = zip(link.columns, parent.key, strict=True)
    return frozenset(mine for mine, theirs in pairs if theirs in above)


def settles_owner(schema: Schema, entity: str, table: str, columns: frozenset[str]) -> bool:
    """Whether rows of `table` that share a value of `columns` (without NULL) all have one owner, or none."""
    link = _only_link(schema, entity, table)
    if link is None:
        return False
    if frozenset(link.columns) <= columns:
        return True
    parent = schema.table(link.references)
    if parent.name == entity or any(schema.table(table).columns[c].nullable for c in link.columns):
        return False
    pairs = zip(link.columns, parent.key, strict=True)
    above = frozenset(theirs for mine, theirs in pairs if mine in columns)
    return settles_owner(schema, entity, parent.name, above)


def owned_bounds(
    schema: Schema, entity: str, declared: Mapping[str, int], trusted: Collection[str] = ()
) -> dict[str, Bound]:
    """Definition 6.1 for every owned table, capped by what the policy declares in `max_owned` and by
    how often the owner's key occurs. Of the tables `trusted` it counts the rows before truncation."""
    bounds: dict[str, Bound] = {}
    for name in owned_tables(schema, entity):
        table = schema.table(name)
        raw = name in trusted
        paths = (
            times(key_frequency(table, fk.columns, raw), bounds[fk.references])
            for fk in table.foreign_keys
            if fk.references in bounds
        )
        derived: Bound = 1 if name == entity else plus(*paths)
        keyed = owner_columns(schema, entity, name)
        caps: list[Bound] = [key_frequency(table, keyed, raw)] if keyed else []
        caps += [declared[name]] if name in declared else []
        bounds[name] = least(derived, *caps)
    return bounds
