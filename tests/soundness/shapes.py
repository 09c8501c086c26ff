"""What the motifs are made of: predicates on what may change, filtered and grouped subqueries."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from .blocks import Block, Blocks
from .expressions import Scope, Var
from .joins import Relation


class Shapes:
    def __init__(self, rng: Random, blocks: Blocks) -> None:
        self.rng, self.blocks = rng, blocks

    def private(self, relation: Relation) -> Scope:
        """Columns that some policy may change, as far as there are any."""
        world = self.blocks.world
        labels = [policy.label(table_of(relation)) for policy in world.policies]
        names = {name for label in labels if isinstance(label, frozenset) for name in label}
        return tuple(v for v in relation.columns if v.name in names) or relation.columns

    def predicate(self, relation: Relation) -> str:
        scope = self.private(relation) if self.rng.random() < 0.7 else relation.columns
        return self.blocks.expressions.predicate(scope)

    def filtered(self, relation: Relation) -> Relation:
        self.blocks.tags.add("filtered subquery")
        text, columns = everything(relation)
        return self.blocks.named(f"(SELECT {text} WHERE {self.predicate(relation)})", columns)

    def grouped(self, source: str, keys: Scope, over: Relation) -> tuple[str, Scope]:
        """Text and columns of a subquery with an aggregate over the columns of `over`."""
        self.blocks.tags.add("inner GROUP BY")
        text, made = self.blocks.inner_aggregate(over.columns)
        last = replace(made, name=self.blocks.fresh("n"))
        items = [f"{var.text} AS {var.name}" for var in keys] + [f"{text} AS {last.name}"]
        group = ", ".join(var.text for var in keys)
        columns = (*(replace(var, relation="") for var in keys), last)
        return f"SELECT {', '.join(items)} FROM {source} GROUP BY {group}", columns

    def outside(self, text: str, columns: Scope, likely: Scope) -> Block:
        """A block over a subquery alone, filtered half the time; `likely` columns are drawn more often."""
        outside = self.blocks.named(f"({text})", columns)
        again = tuple(var for var in outside.columns if var.name in {v.name for v in likely})
        scope = (*outside.columns, *again)
        if self.rng.random() < 0.5:
            return Block(outside.text, scope, ())
        last = outside.columns[-1]
        return Block(outside.text, scope, (self.blocks.expressions.comparison((last,)),))


def everything(relation: Relation) -> tuple[str, Scope]:
    """Every column and the source, for a SELECT, and what columns it has then."""
    pieces = ", ".join(f"{var.text} AS {var.name}" for var in relation.columns)
    return f"{pieces} FROM {relation.text}", tuple(
        replace(v, relation="") for v in relation.columns
    )


def named(relation: Relation, name: str) -> Var:
    return next(var for var in relation.columns if var.name == name)


def table_of(relation: Relation) -> str:
    return relation.text.split()[0]
