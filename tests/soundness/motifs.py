"""Queries of the shapes for which rules with many side-conditions exist, along one foreign key of the schema.

Free composition finds these shapes too seldom to tell a missing side-condition within seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from .blocks import Block, Blocks
from .joins import Pairs, Relation, equal
from .shapes import Shapes, everything, named, table_of
from .world import Reference, Table, World


@dataclass(frozen=True, slots=True)
class Link:
    """A foreign key of the schema."""

    child: Table
    reference: Reference


def links(world: World) -> list[Link]:
    """All foreign keys; those that some policy may change stand twice more, and so do those to rows that some
    policy may change."""
    every = [Link(table, r) for table in world.tables.values() for r in table.references]
    moving = [link for link in every if _changes(world, link.child.name, link.reference.columns)]
    above = [link for link in every if _changes(world, link.reference.table, ())]
    return every + 2 * moving + 2 * above


def _changes(world: World, table: str, columns: tuple[str, ...]) -> bool:
    """Whether under some policy rows of `table` stay and at least these columns change."""
    labels = [policy.label(table) for policy in world.policies]
    return any(isinstance(label, frozenset) and set(columns) <= label for label in labels)


class Motifs(Shapes):
    def __init__(self, rng: Random, blocks: Blocks, link: Link) -> None:
        super().__init__(rng, blocks)
        self.link = link
        self.child = blocks.scan(link.child.name)
        self.parent = blocks.scan(link.reference.table)

    def draw(self) -> Block:
        makers = (
            self.hanging,
            self.hanging,
            self.hanging,
            self.hanging,
            self.listed,
            self.conditioned,
            self.conditioned,
            self.conditioned,
            self.padded,
            self.padded,
            self.counted,
            self.counted,
            self.paired,
            self.regrouped,
            self.regrouped,
        )
        return self.rng.choice(makers)()

    def _along(self, child: Relation, parent: Relation) -> Pairs:
        """The foreign key's columns with the key they refer to; other columns now and then."""
        if self.rng.random() < 0.1:
            return self.blocks.joins.pairs(child.columns, parent.columns)
        key = self.blocks.world.tables[self.link.reference.table].key
        return [
            (named(child, column), named(parent, part))
            for column, part in zip(self.link.reference.columns, key, strict=True)
        ]

    def hanging(self) -> Block:
        """Parents with, or without, a child."""
        tests = equal(self._along(self.child, self.parent))
        if self.rng.random() < 0.3:
            tests.append(self.predicate(self.child))
        above = self.private(self.parent) if self.rng.random() < 0.8 else self.parent.columns
        below = self.private(self.child) if self.rng.random() < 0.5 else self.child.columns
        unequal = self.blocks.joins.unequal_pair(above, below)
        if unequal is not None and self.rng.random() < 0.6:
            self.blocks.tags.add("correlated on an inequality")
            tests.append(unequal)
        word = self.rng.choice(("EXISTS", "NOT EXISTS"))
        self.blocks.tags.add(word)
        test = f"{word} (SELECT 1 FROM {self.child.text} WHERE {' AND '.join(tests) or 'TRUE'})"
        if unequal not in tests:
            test = self._beside_or(test, self.parent)
        return Block(self.parent.text, self.parent.columns, (test,))

    def _beside_or(self, test: str, over: Relation) -> str:
        """The same test, or another condition instead of it."""
        if self.rng.random() < 0.6:
            return test
        self.blocks.tags.add("EXISTS or IN beside OR")
        return f"({self.predicate(over)} OR {test})"

    def listed(self) -> Block:
        """Parents in, or not in, the list of what the children refer to; or the other way round."""
        pairs = self._along(self.child, self.parent)
        if not pairs:
            return self.hanging()
        inner, outer = self.child, self.parent
        if self.rng.random() < 0.4:
            pairs, inner, outer = [(b, a) for a, b in pairs], outer, inner
        (mine, theirs), *rest = [(b, a) for a, b in pairs]
        word = self.rng.choice(("IN", "NOT IN"))
        self.blocks.tags.add(f"{word} subquery")
        tests = equal(rest)
        if rest:
            self.blocks.tags.add(f"correlated {word}")
        if self.rng.random() < 0.3:
            tests.append(self.predicate(inner))
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        test = f"{mine.text} {word} (SELECT {theirs.text} FROM {inner.text}{where})"
        return Block(outer.text, outer.columns, (self._beside_or(test, outer),))

    def conditioned(self) -> Block:
        """Children with their parents, where a private column and one of the other side meet a condition."""
        pairs = self._along(self.child, self.parent)
        joined = {var for pair in pairs for var in pair}
        sides = (self.child, self.parent) if self.rng.random() < 0.7 else (self.parent, self.child)
        mine, theirs = self.private(sides[0]), sides[1].columns
        free = [tuple(var for var in side if var not in joined) for side in (mine, theirs)]
        unequal = self.blocks.joins.unequal_pair(free[0] or mine, free[1] or theirs)
        if unequal is None:
            return self.paired()
        kind = self.rng.choice(("JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"))
        self.blocks.tags |= {kind, "ON with more than equalities"}
        on = " AND ".join([*equal(pairs), unequal])
        left, right = (
            (self.parent, self.child) if kind == "RIGHT JOIN" else (self.child, self.parent)
        )
        scope = (*self.child.columns, *self.parent.columns)
        return Block(f"{left.text} {kind} {right.text} ON {on}", scope, (), sides[1].columns)

    def padded(self) -> Block:
        """Children, or those that pass a filter, with what a subquery says of their parents."""
        some = self._subquery()
        child = self.child if self.rng.random() < 0.5 else self.filtered(self.child)
        on = " AND ".join(equal(self._along(child, some))) or "TRUE"
        kind = self.rng.choice(
            ("JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
        )
        self.blocks.tags |= {kind, "join of a subquery"}
        left, right = (some, child) if kind == "RIGHT JOIN" else (child, some)
        scope = (*child.columns, *some.columns)
        return Block(f"{left.text} {kind} {right.text} ON {on}", scope, (), some.columns)

    def _subquery(self) -> Relation:
        """The parents, or those that pass a filter; or all, in a form that hangs on no single row."""
        shape = self.rng.random()
        if shape < 0.25:
            return self.parent
        if shape < 0.6:
            return self.filtered(self.parent)
        if shape < 0.8:
            self.blocks.tags.add("DISTINCT subquery")
            text, columns = everything(self.parent)
            return self.blocks.named(f"(SELECT DISTINCT {text})", columns)
        text, columns = self.grouped(self.parent.text, self.parent.columns, self.parent)
        return self.blocks.named(f"({text})", columns)

    def counted(self) -> Block:
        """For each parent, or all parents that share a value, something about the children; for those without
        any too."""
        left, right = self.parent, self.child
        if self.rng.random() < 0.25:
            left, right = right, left
        on = " AND ".join(equal(self._along(self.child, self.parent))) or "TRUE"
        key = self.blocks.world.tables[table_of(left)].key
        keys = tuple(var for var in left.columns if var.name in key)
        others = [var for var in left.columns if var not in keys]
        if others and self.rng.random() < 0.4:
            keys = (self.rng.choice(others),)
        elif others and self.rng.random() < 0.5:
            keys = (
                *keys,
                self.rng.choice([v for v in self.private(left) if v in others] or others),
            )
        self.blocks.tags |= {"LEFT JOIN", "outer join grouped by its left side"}
        text, columns = self.grouped(f"{left.text} LEFT JOIN {right.text} ON {on}", keys, right)
        return self.outside(text, columns, columns[-2:])

    def paired(self) -> Block:
        """Children with their parents, grouped by the parent and a column of the child that is seldom alike."""
        on = " AND ".join(equal(self._along(self.child, self.parent))) or "TRUE"
        table = self.blocks.world.tables[table_of(self.parent)]
        keys = tuple(var for var in self.parent.columns if var.name in table.key)
        declared = {columns for columns, _ in self.link.child.frequencies}
        seldom = [var for var in self.child.columns if (var.name,) in declared]
        names = {var.name for var in keys}
        more = self.rng.choice([v for v in seldom if v.name not in names] or [None])
        self.blocks.tags.add("JOIN")
        text, columns = self.grouped(
            f"{self.parent.text} JOIN {self.child.text} ON {on}",
            keys if more is None else (*keys, more),
            self.child,
        )
        return self.outside(text, columns, columns[-1:])

    def regrouped(self) -> Block:
        """Children grouped by what they refer to."""
        keys = tuple(named(self.child, column) for column in self.link.reference.columns)
        text, columns = self.grouped(self.child.text, keys, self.child)
        return self.outside(text, columns, columns[:-1])
