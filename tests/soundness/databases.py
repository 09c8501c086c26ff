"""Random admissible databases, and small random changes of them for hill-climbing."""

from __future__ import annotations

from random import Random

from .world import Database, Row, Table, Value, World, admissible


def random_database(rng: Random, world: World, most: int = 4) -> Database:
    """Tables grown row by row, each row kept when the database stays admissible."""
    database: dict[str, tuple[Row, ...]] = {name: () for name in world.tables}
    for name, table in world.tables.items():
        wanted = rng.randint(1, most) if rng.random() < 0.9 else 0
        for _ in range(wanted * 2):
            if len(database[name]) == wanted:
                break
            grown = {**database, name: (*database[name], random_row(rng, world, database, table))}
            if admissible(world, grown):
                database = grown
    return database


def random_row(rng: Random, world: World, database: Database, table: Table) -> Row:
    """References point to rows that exist, or are NULL where they may be."""
    values: dict[str, Value] = {column.name: rng.choice(column.options()) for column in table.columns}
    for reference in table.references:
        parent = world.tables[reference.table]
        rows = database[parent.name]
        nullable = all(table.column(c).nullable for c in reference.columns)
        if rows and not (nullable and rng.random() < 0.15):
            key = parent.identity(rng.choice(rows))
            values |= dict(zip(reference.columns, key, strict=True))
    return tuple(values.values())


def mutated(rng: Random, world: World, database: Database) -> Database | None:
    """One row added, dropped or changed; None where that is not admissible."""
    table = world.tables[rng.choice(list(world.tables))]
    rows = database[table.name]
    move = rng.random()
    if move < 0.35 or not rows:
        new = (*rows, random_row(rng, world, database, table))
    elif move < 0.5:
        dropped = rng.randrange(len(rows))
        new = rows[:dropped] + rows[dropped + 1 :]
    else:
        at = rng.randrange(len(rows))
        new = (*rows[:at], _edited(rng, world, database, table, rows[at]), *rows[at + 1 :])
    changed = {**database, table.name: new}
    return changed if admissible(world, changed) else None


def _edited(rng: Random, world: World, database: Database, table: Table, row: Row) -> Row:
    fresh = random_row(rng, world, database, table)
    if rng.random() < 0.3:
        return fresh
    kept = list(row)
    units = [tuple(r.columns) for r in table.references] + [(column.name,) for column in table.columns]
    for name in rng.choice(units):
        kept[table.positions[name]] = fresh[table.positions[name]]
    return tuple(kept)
