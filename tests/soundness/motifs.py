"""Queries of the shapes for which rules with many side-conditions exist, along one foreign key of the schema.

Free composition finds these shapes too seldom to tell a missing side-condition within seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from .blocks import Block, Blocks
from .expressions import Scope, Var
from .joins import Pairs, Relation, equal
from .world import Reference, Table, World


@dataclass(frozen=True, slots=True)
class Link:
    """A foreign key of the schema."""

    child: Table
    reference: Reference


def links(world: World) -> list[Link]:
    """All foreign keys; those that some policy may change stand twice more."""
    every = [Link(table, r) for table in world.tables.values() for r in table.references]
    return every + 2 * [link for link in every if _moves(world, link)]


def _moves(world: World, link: Link) -> bool:
    labels = [policy.label(link.child.name) for policy in world.policies]
    return any(
        isinstance(label, frozenset) and set(link.reference.columns) <= label for label in labels
    )


class Motifs:
    def __init__(self, rng: Random, blocks: Blocks, link: Link) -> None:
        self.rng, self.blocks, self.link = rng, blocks, link
        self.child = blocks.scan(link.child.name)
        self.parent = blocks.scan(link.reference.table)

    def draw(self) -> Block:
        makers = (
            self.hanging,
            self.hanging,
            self.listed,
            self.padded,
            self.counted,
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
            (_named(child, column), _named(parent, part))
            for column, part in zip(self.link.reference.columns, key, strict=True)
        ]

    def _private(self, relation: Relation) -> Scope:
        """Columns that some policy may change, as far as there are any."""
        world = self.blocks.world
        labels = [policy.label(_table(relation)) for policy in world.policies]
        names = {name for label in labels if isinstance(label, frozenset) for name in label}
        return tuple(v for v in relation.columns if v.name in names) or relation.columns

    def _predicate(self, relation: Relation) -> str:
        scope = self._private(relation) if self.rng.random() < 0.7 else relation.columns
        return self.blocks.expressions.predicate(scope)

    def hanging(self) -> Block:
        """Parents with, or without, a child."""
        tests = equal(self._along(self.child, self.parent))
        if self.rng.random() < 0.4:
            tests.append(self._predicate(self.child))
        unequal = self.blocks.joins.unequal_pair(self.parent.columns, self._private(self.child))
        if unequal is not None and self.rng.random() < 0.4:
            self.blocks.tags.add("correlated on an inequality")
            tests.append(unequal)
        word = self.rng.choice(("EXISTS", "NOT EXISTS"))
        self.blocks.tags.add(word)
        test = f"{word} (SELECT 1 FROM {self.child.text} WHERE {' AND '.join(tests) or 'TRUE'})"
        return Block(self.parent.text, self.parent.columns, (test,))

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
            tests.append(self._predicate(inner))
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        return Block(
            outer.text,
            outer.columns,
            (f"{mine.text} {word} (SELECT {theirs.text} FROM {inner.text}{where})",),
        )

    def padded(self) -> Block:
        """Children with their parents, as far as those pass a filter."""
        pieces = ", ".join(f"{var.text} AS {var.name}" for var in self.parent.columns)
        test = self._predicate(self.parent)
        some = self.blocks.named(
            f"(SELECT {pieces} FROM {self.parent.text} WHERE {test})",
            tuple(replace(var, relation="") for var in self.parent.columns),
        )
        on = " AND ".join(equal(self._along(self.child, some))) or "TRUE"
        kind = self.rng.choice(("LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "JOIN"))
        self.blocks.tags |= {kind, "join of a subquery", "filtered subquery"}
        left, right = (some, self.child) if kind == "RIGHT JOIN" else (self.child, some)
        scope = (*self.child.columns, *some.columns, *some.columns)
        return Block(f"{left.text} {kind} {right.text} ON {on}", scope, ())

    def counted(self) -> Block:
        """For each parent something about its children, for those without any too."""
        blocks, left, right = self.blocks, self.parent, self.child
        if self.rng.random() < 0.25:
            left, right = right, left
        pairs = self._along(self.child, self.parent)
        key = blocks.world.tables[_table(left)].key
        keys = [var for var in left.columns if var.name in key]
        if self.rng.random() < 0.3:
            keys = [self.rng.choice(left.columns)]
        keys += [var for var in left.columns if var not in keys and self.rng.random() < 0.2]
        text, made = blocks.inner_aggregate(right.columns)
        name = blocks.fresh("n")
        on = " AND ".join(equal(pairs)) or "TRUE"
        grouped = ", ".join(var.text for var in keys)
        blocks.tags |= {"LEFT JOIN", "inner GROUP BY", "outer join grouped by its left side"}
        return self._outside(
            f"SELECT {', '.join(f'{v.text} AS {v.name}' for v in keys)}, {text} AS {name} "
            f"FROM {left.text} LEFT JOIN {right.text} ON {on} GROUP BY {grouped}",
            (*(replace(var, relation="") for var in keys), replace(made, name=name)),
        )

    def regrouped(self) -> Block:
        """Children grouped by what they refer to."""
        keys = [_named(self.child, column) for column in self.link.reference.columns]
        text, made = self.blocks.inner_aggregate(self.child.columns)
        name = self.blocks.fresh("n")
        self.blocks.tags.add("inner GROUP BY")
        return self._outside(
            f"SELECT {', '.join(f'{v.text} AS {v.name}' for v in keys)}, {text} AS {name} "
            f"FROM {self.child.text} GROUP BY {', '.join(v.text for v in keys)}",
            (*(replace(var, relation="") for var in keys), replace(made, name=name)),
        )

    def _outside(self, text: str, columns: Scope) -> Block:
        """A block over a subquery alone, filtered half the time. What it is grouped by comes first, and again
        in the scope, so that it is drawn more often."""
        outside = self.blocks.named(f"({text})", columns)
        *keys, last = outside.columns
        scope = (*outside.columns, *keys)
        if self.rng.random() < 0.5:
            return Block(outside.text, scope, ())
        return Block(outside.text, scope, (self.blocks.expressions.comparison((last,)),))


def _named(relation: Relation, name: str) -> Var:
    return next(var for var in relation.columns if var.name == name)


def _table(relation: Relation) -> str:
    return relation.text.split()[0]
