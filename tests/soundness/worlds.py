"""Random schemas and labels: chains, diamonds, composite keys, several references to one table, two entities.

Labels are drawn so that the policy file's consistency checks (F-Pub, F-Rep, E-Rep) accept nearly all.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from .world import Column, Label, Policy, Reference, Table, Value, World, owned_tables

NAMES = ("p", "q", "r", "s", "t")
RANGES = ((-2, 3), (1, 2), (0, 1), (0, 5), (-3, -1), (2, 4), (-1, 1), (10, 12))
TEXTS = ("u", "v", "w")
QUARTERS = ((-0.5, 0, 1.75), (0.25, 2), (2.5, 2.75, 3))
DAYS = ("2024-01-31", "2024-02-01", "2025-02-01")


def random_world(rng: Random) -> World:
    tables: dict[str, Table] = {}
    for name in NAMES[: rng.choice((1, 2, 2, 3, 3, 3, 4, 5))]:
        tables[name] = random_table(rng, name, tables)
    bare = World(tables, ())
    roots = [table.name for table in tables.values() if not table.references]
    entities = [rng.choice(roots)]
    entities += [root for root in roots if root not in entities and rng.random() < 0.5]
    if rng.random() < 0.15:
        entities.append(rng.choice(list(tables)))
    policies = [random_policy(rng, bare, f"pol{i}", entity) for i, entity in enumerate(entities)]
    return World(tables, (cover(bare, policies[0], policies), *policies[1:]))


def trusting(world: World) -> World:
    """Without truncation."""
    tables = {name: replace(table, truncated=()) for name, table in world.tables.items()}
    return World(tables, world.policies)


def cover(world: World, first: Policy, policies: list[Policy]) -> Policy:
    """Tables that nobody owns are public by name: a table that no policy names cannot be queried."""
    named = {table for policy in policies for table in policy.labels}
    missing: dict[str, Label] = {table: "pub" for table in world.tables if table not in named}
    return Policy(first.name, first.entity, {**first.labels, **missing}, first.max_owned)


# ---------------------------------------------------------------- tables


def random_table(rng: Random, name: str, parents: dict[str, Table]) -> Table:
    columns: list[Column] = []
    references: list[Reference] = []
    wanted = rng.choice((0, 1, 1, 1, 2, 2)) if parents else 0
    for _ in range(wanted):
        parent = parents[rng.choice(list(parents))]
        references.append(_refer(rng, name, parent, columns, reuse=rng.random() < 0.7))
    key = _random_key(rng, name, columns, references)
    attributes = [
        _attribute(rng, f"{name}_{letter}") for letter in "abc"[: rng.choice((1, 2, 2, 3))]
    ]
    columns += attributes
    table = Table(name, key, tuple(columns), tuple(references))
    rows = rng.choice((2, 3, 4)) if rng.random() < 0.6 else None
    frequencies = _frequencies(rng, table)
    cut = rng.choice(frequencies)[0] if frequencies and rng.random() < 0.3 else ()
    return Table(name, key, tuple(columns), tuple(references), frequencies, rows, cut)


def _refer(
    rng: Random, name: str, parent: Table, columns: list[Column], *, reuse: bool
) -> Reference:
    """Columns that hold the parent's key: under its own names (USING finds them) or prefixed ones."""
    nullable = rng.random() < 0.35
    taken = {column.name for column in columns}
    chosen = []
    for part in parent.key:
        model = parent.column(part)
        own = part if reuse and part not in taken else f"{name}_{part}"
        while own in taken:
            own += "x"
        taken.add(own)
        chosen.append(own)
        columns.append(Column(own, model.kind, model.values, nullable, model.declared))
    return Reference(tuple(chosen), parent.name)


def _random_key(
    rng: Random, name: str, columns: list[Column], references: list[Reference]
) -> tuple[str, ...]:
    """An id of its own, a pair of ids, a reference and a line number, or the reference itself."""
    shape = rng.random()
    if references and shape < 0.25:
        used = references[0].columns
        for i, column in enumerate(columns):
            if column.name in used:
                columns[i] = Column(column.name, column.kind, column.values, False, column.declared)
        if shape < 0.06:
            return used
        columns.append(_identifier(f"{name}_line", 2))
        return (*used, f"{name}_line")
    columns.insert(0, _identifier(f"{name}_id", rng.choice((3, 4))))
    if shape > 0.85:
        columns.insert(1, _identifier(f"{name}_sub", 2))
        return (f"{name}_id", f"{name}_sub")
    return (f"{name}_id",)


def _identifier(name: str, most: int) -> Column:
    return Column(name, "integer", tuple(range(1, most + 1)), declared={"range": [1, most]})


def _attribute(rng: Random, name: str) -> Column:
    nullable = rng.random() < 0.4
    kind = rng.random()
    if kind < 0.15:
        texts: tuple[Value, ...] = TEXTS[: rng.choice((2, 3))]
        declared = {"domain": list(texts)} if rng.random() < 0.8 else {}
        return Column(name, "text", texts, nullable, declared)
    if kind < 0.27:
        days: tuple[Value, ...] = DAYS
        return Column(name, "date", days, nullable, {"range": [DAYS[0], DAYS[-1]]})
    if kind < 0.34:
        parts: tuple[Value, ...] = rng.choice(QUARTERS)
        return Column(name, "numeric", parts, nullable, {"range": [parts[0], parts[-1]]})
    low, high = rng.choice(RANGES)
    values = tuple(sorted({low, high, *((0,) if low < 0 < high else ()), rng.randint(low, high)}))
    if rng.random() < 0.2:
        return Column(name, "integer", values, nullable, {"domain": list(values)})
    return Column(name, "integer", values, nullable, {"range": [low, high]})


def _frequencies(rng: Random, table: Table) -> tuple[tuple[tuple[str, ...], int], ...]:
    found: dict[tuple[str, ...], int] = {}
    for reference in table.references:
        if rng.random() < 0.9:
            columns = reference.columns
            part = columns if len(columns) == 1 or rng.random() < 0.6 else (rng.choice(columns),)
            found[part] = rng.choice((1, 1, 2, 2, 3))
    loose = [column.name for column in table.columns if column.name not in table.key]
    for column in loose:
        if (column,) not in found and rng.random() < 0.5:
            found[(column,)] = rng.choice((1, 1, 2, 3))
    if len(loose) > 1 and rng.random() < 0.1:
        found.setdefault(tuple(rng.sample(loose, 2)), 2)
    return tuple(found.items())


# ---------------------------------------------------------------- policies


def random_policy(rng: Random, world: World, name: str, entity: str) -> Policy:
    labels: dict[str, Label] = {}
    for owned in owned_tables(world, entity):
        labels[owned] = _random_label(rng, world.tables[owned], labels)
    capped = {
        table: rng.choice((1, 2, 3)) for table in labels if table != entity and rng.random() < 0.2
    }
    return Policy(name, entity, labels, capped)


def _random_label(rng: Random, table: Table, labels: dict[str, Label]) -> Label:
    """A reference to a private key must be private itself; a key column never can."""
    forced = {c for r in table.references if labels.get(r.table) == "del" for c in r.columns}
    free = [column.name for column in table.columns if column.name not in table.key]
    choices: list[Label] = ["del", "del"]
    if free and not forced & set(table.key):
        some = frozenset(column for column in free if rng.random() < 0.5) | forced
        choices += [frozenset(some or {rng.choice(free)})] * 2 + [frozenset(free)] * 2
    if not forced:
        choices += ["pub", "pub", "pub"]
    return rng.choice(choices)
