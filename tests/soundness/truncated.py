"""What queries see of a database under `enforce: truncate`, as the curator's guide tells it."""

from __future__ import annotations

import hashlib

from .world import Database, Row, Table, World


def seen(world: World, database: Database) -> Database:
    """What queries see: of each value of the truncated columns the rows whose keys hash lowest, NULLs all; and
    no row whose parent is left out."""
    if not any(table.truncated for table in world.tables.values()):
        return database
    kept: dict[str, tuple[Row, ...]] = {}
    for table in world.tables.values():
        rows = tuple(row for row in database[table.name] if _has_parents(world, table, row, kept))
        kept[table.name] = _lowest(table, rows) if table.truncated else rows
    return kept


def _has_parents(world: World, table: Table, row: Row, kept: Database) -> bool:
    for reference in table.references:
        parent, key = world.tables[reference.table], table.pick(row, reference.columns)
        if None not in key and key not in {parent.identity(above) for above in kept[parent.name]}:
            return False
    return True


def _lowest(table: Table, rows: tuple[Row, ...]) -> tuple[Row, ...]:
    (most,) = (n for columns, n in table.frequencies if columns == table.truncated)
    places: dict[Row, int] = {}
    chosen: set[Row] = set()
    for row in sorted(rows, key=lambda row: _hash(table, row)):
        value = table.pick(row, table.truncated)
        places[value] = places.get(value, 0) + 1
        if None in value or places[value] <= most:
            chosen.add(row)
    return tuple(row for row in rows if row in chosen)


def _hash(table: Table, row: Row) -> tuple[str, Row]:
    key = table.identity(row)
    return hashlib.md5("|".join((table.name, *map(str, key))).encode()).hexdigest(), key
