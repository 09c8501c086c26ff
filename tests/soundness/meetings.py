"""Queries in which two tables meet on values, not along a foreign key: how many rows meet is then a matter of
declared frequencies alone, and one NULL may decide over all of them.

One table is mostly private and the other mostly public: where both change, bounds are loose and hide mistakes.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TypeAlias

from .blocks import Block, Blocks
from .expressions import Scope, Var
from .joins import Relation, equal
from .shapes import Shapes, table_of
from .world import Policy, World

ALIKE = 0.3
"""Share of meetings whose tables are drawn without a look at any policy."""
Pair: TypeAlias = tuple[Var, Var]


class Meetings(Shapes):
    def __init__(self, rng: Random, blocks: Blocks) -> None:
        super().__init__(rng, blocks)
        policy = rng.choice(blocks.world.policies)
        self.public = self._drawn(
            [name for name in blocks.world.tables if _is_public(policy, name)]
        )
        self.private_side = self._drawn(policy.private())

    def _drawn(self, names: list[str]) -> Relation:
        if not names or self.rng.random() < ALIKE:
            return self.blocks.base()
        return self.blocks.scan(self.rng.choice(names))

    def draw(self) -> Block:
        shared = self._shared(self.public, self.private_side)
        if not shared:
            return self.blocks.block(depth=1)
        makers = (
            self.met,
            self.met,
            self.met,
            self.grouped_by_key,
            self.met_again,
            self.listed,
            self.unlisted,
        )
        return self.rng.choice(makers)(self.rng.choice(shared))

    def _shared(self, left: Relation, right: Relation) -> list[Pair]:
        """Columns with values in common; twice more where few rows share one, and where one may change."""
        pairs = [
            (a, b)
            for a in left.columns
            for b in right.columns
            if a.kind == b.kind and set(a.values) & set(b.values)
        ]
        seldom = [pair for pair in pairs if self._seldom(pair[0])]
        moving = [pair for pair in pairs if _moves(self.blocks.world, pair[1])]
        return pairs + 2 * seldom + 3 * moving

    def _seldom(self, var: Var) -> bool:
        assert var.origin is not None
        table = self.blocks.world.tables[var.origin[0]]
        return (var.name,) == table.key or (var.name,) in {c for c, _ in table.frequencies}

    def _key(self, relation: Relation) -> Scope:
        key = self.blocks.world.tables[table_of(relation)].key
        return tuple(var for var in relation.columns if var.name in key)

    def met(self, pair: Pair) -> Block:
        """The rows that meet, and of an outer join those that do not, mostly by what was found."""
        kind = self.rng.choice(("JOIN", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
        text = self._joined(self.public, kind, self.private_side, pair)
        scope = (*self.public.columns, *self.private_side.columns)
        return Block(text, scope, (), self.public.columns)

    def grouped_by_key(self, pair: Pair) -> Block:
        """For each row of one table, something about the rows of the other that it meets."""
        kind = self.rng.choice(("JOIN", "LEFT JOIN"))
        if kind == "LEFT JOIN":
            self.blocks.tags.add("outer join grouped by its left side")
        source = self._joined(self.public, kind, self.private_side, pair)
        text, columns = self.grouped(source, self._key(self.public), self.private_side)
        return self.outside(text, columns, columns[-1:])

    def met_again(self, pair: Pair) -> Block:
        """Private rows meet what met before: a subquery of two tables."""
        other = self.blocks.base()
        shared = self._shared(self.public, other)
        if not shared:
            return self.met(pair)
        self.blocks.tags.add("join of a subquery")
        both = {var.name: var for var in (*other.columns, *self.public.columns)}.values()
        pieces = ", ".join(f"{var.text} AS {var.name}" for var in both)
        source = self._joined(self.public, "JOIN", other, self.rng.choice(shared))
        columns = tuple(replace(var, relation="") for var in both)
        before = self.blocks.named(f"(SELECT {pieces} FROM {source})", columns)
        pairs = self.blocks.joins.pairs(self.private_side.columns, before.columns)
        on = " AND ".join(equal(pairs)) or "TRUE"
        text = f"{self.private_side.text} JOIN {before.text} ON {on}"
        return Block(text, (*self.private_side.columns, *before.columns), ())

    def listed(self, pair: Pair) -> Block:
        """Rows of one table whose value the other has, or has not; many rows may have the same."""
        word = self.rng.choice(("EXISTS", "NOT EXISTS"))
        self.blocks.tags.add(word)
        tests = equal([pair])
        if self.rng.random() < 0.3:
            tests.append(self.predicate(self.private_side))
        test = f"{word} (SELECT 1 FROM {self.private_side.text} WHERE {' AND '.join(tests)})"
        return Block(self.public.text, self.public.columns, (test,))

    def unlisted(self, pair: Pair) -> Block:
        """Rows of one table whose value, or key, the other does not list; one NULL in the list empties them."""
        a, b = pair
        nullable = [var for var in self.private(self.private_side) if var.nullable]
        listed = self.rng.choice([var for var in nullable if var.kind == a.kind] or [b])
        key = self._key(self.public)
        alone = len(key) == 1 and key[0].kind == listed.kind and self.rng.random() < 0.6
        self.blocks.tags.add("NOT IN subquery")
        (value,) = key if alone else (a,)
        test = f"{value.text} NOT IN (SELECT {listed.text} FROM {self.private_side.text})"
        return Block(self.public.text, self.public.columns, (test,))

    def _joined(self, left: Relation, kind: str, right: Relation, pair: Pair) -> str:
        self.blocks.tags |= {kind, "general equi-join"}
        if table_of(left) == table_of(right):
            self.blocks.tags.add("self join")
        return f"{left.text} {kind} {right.text} ON {' AND '.join(equal([pair]))}"


def _is_public(policy: Policy, table: str) -> bool:
    return policy.label(table) == "pub"


def _moves(world: World, var: Var) -> bool:
    assert var.origin is not None
    labels = [policy.label(var.origin[0]) for policy in world.policies]
    return any(isinstance(label, frozenset) and var.name in label for label in labels)
