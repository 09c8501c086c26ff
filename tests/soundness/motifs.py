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
            self.unlisted,
            self.conditioned,
            self.padded,
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

    def unlisted(self) -> Block:
        """Parents that no child refers to; a reference that becomes NULL empties them."""
        pairs = [(b, a) for a, b in self._along(self.child, self.parent)]
        if len(pairs) != 1:
            return self.listed()
        ((mine, theirs),) = pairs
        self.blocks.tags.add("NOT IN subquery")
        test = f"{mine.text} NOT IN (SELECT {theirs.text} FROM {self.child.text})"
        return Block(self.parent.text, self.parent.columns, (test,))

    def conditioned(self) -> Block:
        """Children with their parents, where a private column and one of the other side meet a condition."""
        sides = (self.child, self.parent) if self.rng.random() < 0.5 else (self.parent, self.child)
        unequal = self.blocks.joins.unequal_pair(self._private(sides[0]), sides[1].columns)
        if unequal is None:
            return self.paired()
        self.blocks.tags.add("JOIN")
        on = " AND ".join([*equal(self._along(self.child, self.parent)), unequal])
        scope = (*self.child.columns, *self.parent.columns)
        return Block(f"{self.child.text} JOIN {self.parent.text} ON {on}", scope, ())

    def padded(self) -> Block:
        """Children, or those that pass a filter, with what a subquery says of their parents."""
        some = self._subquery()
        child = self.child if self.rng.random() < 0.6 else self._filtered(self.child)
        on = " AND ".join(equal(self._along(child, some))) or "TRUE"
        kind = self.rng.choice(
            ("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
        )
        self.blocks.tags |= {kind, "join of a subquery"}
        left, right = (some, child) if kind == "RIGHT JOIN" else (child, some)
        scope = (*child.columns, *some.columns, *some.columns)
        return Block(f"{left.text} {kind} {right.text} ON {on}", scope, ())

    def _subquery(self) -> Relation:
        """The parents, or those that pass a filter; or all, in a form that hangs on no single row."""
        shape = self.rng.random()
        if shape < 0.2:
            return self.parent
        if shape < 0.6:
            return self._filtered(self.parent)
        if shape < 0.8:
            self.blocks.tags.add("DISTINCT subquery")
            text, columns = _all(self.parent)
            return self.blocks.named(f"(SELECT DISTINCT {text})", columns)
        text, columns = self._grouped(self.parent.text, self.parent.columns, self.parent)
        return self.blocks.named(f"({text})", columns)

    def _filtered(self, relation: Relation) -> Relation:
        self.blocks.tags.add("filtered subquery")
        text, columns = _all(relation)
        return self.blocks.named(f"(SELECT {text} WHERE {self._predicate(relation)})", columns)

    def counted(self) -> Block:
        """For each parent, or all parents that share a value, something about the children; for those without
        any too."""
        left, right = self.parent, self.child
        if self.rng.random() < 0.25:
            left, right = right, left
        on = " AND ".join(equal(self._along(self.child, self.parent))) or "TRUE"
        key = self.blocks.world.tables[_table(left)].key
        keys = tuple(var for var in left.columns if var.name in key)
        others = [var for var in left.columns if var not in keys]
        if others and self.rng.random() < 0.4:
            keys = (self.rng.choice(others),)
        elif others and self.rng.random() < 0.3:
            keys = (*keys, self.rng.choice(others))
        self.blocks.tags |= {"LEFT JOIN", "outer join grouped by its left side"}
        text, columns = self._grouped(f"{left.text} LEFT JOIN {right.text} ON {on}", keys, right)
        return self._outside(text, columns, columns[-1:])

    def paired(self) -> Block:
        """Children with their parents, grouped by the parent and a column of the child that is seldom alike."""
        on = " AND ".join(equal(self._along(self.child, self.parent))) or "TRUE"
        table = self.blocks.world.tables[_table(self.parent)]
        keys = tuple(var for var in self.parent.columns if var.name in table.key)
        declared = {columns for columns, _ in self.link.child.frequencies}
        seldom = [var for var in self.child.columns if (var.name,) in declared]
        names = {var.name for var in keys}
        more = self.rng.choice([v for v in seldom if v.name not in names] or [None])
        self.blocks.tags.add("JOIN")
        text, columns = self._grouped(
            f"{self.parent.text} JOIN {self.child.text} ON {on}",
            keys if more is None else (*keys, more),
            self.child,
        )
        return self._outside(text, columns, columns[-1:])

    def regrouped(self) -> Block:
        """Children grouped by what they refer to."""
        keys = tuple(_named(self.child, column) for column in self.link.reference.columns)
        text, columns = self._grouped(self.child.text, keys, self.child)
        return self._outside(text, columns, columns[:-1])

    def _grouped(self, source: str, keys: Scope, over: Relation) -> tuple[str, Scope]:
        """Text and columns of a subquery with an aggregate over the columns of `over`."""
        self.blocks.tags.add("inner GROUP BY")
        text, made = self.blocks.inner_aggregate(over.columns)
        last = replace(made, name=self.blocks.fresh("n"))
        items = [f"{var.text} AS {var.name}" for var in keys] + [f"{text} AS {last.name}"]
        group = ", ".join(var.text for var in keys)
        columns = (*(replace(var, relation="") for var in keys), last)
        return f"SELECT {', '.join(items)} FROM {source} GROUP BY {group}", columns

    def _outside(self, text: str, columns: Scope, likely: Scope) -> Block:
        """A block over a subquery alone, filtered half the time; `likely` columns are drawn more often."""
        outside = self.blocks.named(f"({text})", columns)
        again = tuple(var for var in outside.columns if var.name in {v.name for v in likely})
        scope = (*outside.columns, *again)
        if self.rng.random() < 0.5:
            return Block(outside.text, scope, ())
        last = outside.columns[-1]
        return Block(outside.text, scope, (self.blocks.expressions.comparison((last,)),))


def _all(relation: Relation) -> tuple[str, Scope]:
    """Every column and the source, for a SELECT, and what columns it has then."""
    pieces = ", ".join(f"{var.text} AS {var.name}" for var in relation.columns)
    return f"{pieces} FROM {relation.text}", tuple(
        replace(v, relation="") for v in relation.columns
    )


def _named(relation: Relation, name: str) -> Var:
    return next(var for var in relation.columns if var.name == name)


def _table(relation: Relation) -> str:
    return relation.text.split()[0]
