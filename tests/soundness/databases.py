"""Random admissible databases, and small random changes of them for hill-climbing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from .world import Database, Row, Table, Value, World, admissible


@dataclass(frozen=True, slots=True)
class Palette:
    """What rows are made of. A narrow one repeats values and references until frequencies are used up."""

    options: Mapping[tuple[str, str], tuple[Value, ...]]
    focused: bool


def random_palette(rng: Random, world: World) -> Palette:
    options = {
        (table.name, column.name): _narrowed(rng, column.options())
        for table in world.tables.values()
        for column in table.columns
        if column.name not in table.key
    }
    return Palette(options, rng.random() < 0.5)


def _narrowed(rng: Random, options: tuple[Value, ...]) -> tuple[Value, ...]:
    if rng.random() < 0.5:
        return options
    return tuple(rng.sample(options, min(len(options), rng.choice((1, 2)))))


def random_database(rng: Random, world: World, most: int = 4) -> Database:
    """Tables grown row by row, each row kept when the database stays admissible."""
    database: dict[str, tuple[Row, ...]] = dict.fromkeys(world.tables, ())
    palette = random_palette(rng, world)
    for name, table in world.tables.items():
        wanted = rng.choice((1, 2, 3, most, most)) if rng.random() < 0.95 else 0
        for _ in range(wanted * 3):
            if len(database[name]) == wanted:
                break
            row = random_row(rng, world, database, table, palette)
            grown = {**database, name: (*database[name], row)}
            if admissible(world, grown, (name,)):
                database = grown
    return database


def random_row(
    rng: Random, world: World, database: Database, table: Table, palette: Palette | None = None
) -> Row:
    """References point to rows that exist, or are NULL where they may be."""
    drawn = {} if palette is None else palette.options
    values: dict[str, Value] = {
        column.name: rng.choice(drawn.get((table.name, column.name), column.options()))
        for column in table.columns
    }
    for reference in table.references:
        parent = world.tables[reference.table]
        rows = database[parent.name]
        nullable = all(table.column(c).nullable for c in reference.columns)
        if rows and not (nullable and rng.random() < 0.15):
            focused = palette is not None and palette.focused and rng.random() < 0.7
            key = parent.identity(rows[0] if focused else rng.choice(rows))
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
    return changed if admissible(world, changed, (table.name,)) else None


def _edited(rng: Random, world: World, database: Database, table: Table, row: Row) -> Row:
    fresh = random_row(rng, world, database, table)
    if rng.random() < 0.3:
        return fresh
    kept = list(row)
    units = [tuple(r.columns) for r in table.references] + [
        (column.name,) for column in table.columns
    ]
    for name in rng.choice(units):
        kept[table.positions[name]] = fresh[table.positions[name]]
    return tuple(kept)
