"""Queries in which two tables meet on values, not along a foreign key: how many rows meet is then a matter of
declared frequencies alone, and one NULL may decide over all of them."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from .blocks import Block, Blocks
from .expressions import Scope, Var
from .joins import Relation, equal
from .shapes import Shapes, table_of


class Meetings(Shapes):
    def __init__(self, rng: Random, blocks: Blocks) -> None:
        super().__init__(rng, blocks)
        self.left = blocks.base()
        self.right = self._another(self.left)

    def _another(self, *taken: Relation) -> Relation:
        """Mostly another table: where a table meets itself all changes count twice, and bounds are loose."""
        names = {table_of(relation) for relation in taken}
        free = [name for name in self.blocks.world.tables if name not in names]
        if free and self.rng.random() < 0.7:
            return self.blocks.scan(self.rng.choice(free))
        return self.blocks.base(taken[0].columns)

    def draw(self) -> Block:
        shared = self._shared()
        if not shared:
            return self.blocks.block(depth=1)
        makers = (self.grouped_by_key, self.met_again, self.unlisted)
        return self.rng.choice(makers)(*self.rng.choice(shared))

    def _shared(self) -> list[tuple[Var, Var]]:
        """Pairs of columns with values in common; those with declared frequencies stand twice more."""
        pairs = [
            (a, b)
            for a in self.left.columns
            for b in self.right.columns
            if a.kind == b.kind and set(a.values) & set(b.values)
        ]
        return pairs + 2 * [(a, b) for a, b in pairs if self._seldom(a) and self._seldom(b)]

    def _seldom(self, var: Var) -> bool:
        assert var.origin is not None
        table = self.blocks.world.tables[var.origin[0]]
        return (var.name,) == table.key or (var.name,) in {c for c, _ in table.frequencies}

    def _key(self) -> Scope:
        key = self.blocks.world.tables[table_of(self.left)].key
        return tuple(var for var in self.left.columns if var.name in key)

    def grouped_by_key(self, a: Var, b: Var) -> Block:
        """For each row of one table, something about the rows of the other that it meets."""
        kind = self.rng.choice(("JOIN", "LEFT JOIN"))
        self._note(kind)
        if kind == "LEFT JOIN":
            self.blocks.tags.add("outer join grouped by its left side")
        source = f"{self.left.text} {kind} {self.right.text} ON {a.text} = {b.text}"
        text, columns = self.grouped(source, self._key(), self.right)
        return self.outside(text, columns, columns[-1:])

    def met_again(self, a: Var, b: Var) -> Block:
        """What met is met by a third table, mostly along a foreign key of one of the two."""
        self._note("JOIN")
        self.blocks.tags.add("join of a subquery")
        both = {var.name: var for var in (*self.right.columns, *self.left.columns)}.values()
        pieces = ", ".join(f"{var.text} AS {var.name}" for var in both)
        text = (
            f"SELECT {pieces} FROM {self.left.text} JOIN {self.right.text} ON {a.text} = {b.text}"
        )
        met = self.blocks.named(f"({text})", tuple(replace(var, relation="") for var in both))
        third = self._another(self.left, self.right)
        pairs = self.blocks.joins.pairs(third.columns, met.columns)
        on = " AND ".join(equal(pairs)) or "TRUE"
        return Block(f"{third.text} JOIN {met.text} ON {on}", (*third.columns, *met.columns), ())

    def unlisted(self, a: Var, b: Var) -> Block:
        """Rows of one table whose value, or key, the other does not list; one NULL in the list empties them."""
        nullable = [var for var in self.private(self.right) if var.nullable] or [b]
        listed = self.rng.choice([var for var in nullable if var.kind == a.kind] or [b])
        key = self._key()
        alone = len(key) == 1 and key[0].kind == listed.kind and self.rng.random() < 0.6
        self.blocks.tags.add("NOT IN subquery")
        (value,) = key if alone else (a,)
        test = f"{value.text} NOT IN (SELECT {listed.text} FROM {self.right.text})"
        return Block(self.left.text, self.left.columns, (test,))

    def _note(self, kind: str) -> None:
        self.blocks.tags |= {kind, "general equi-join"}
        if table_of(self.left) == table_of(self.right):
            self.blocks.tags.add("self join")
