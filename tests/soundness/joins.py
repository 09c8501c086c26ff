"""Random joins: which columns to join on, and the text of each kind of join."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from .expressions import COMPARISONS, Expressions, Scope, Var
from .world import World

KINDS = ("JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", ",")
Pairs: TypeAlias = list[tuple[Var, Var]]


@dataclass(frozen=True, slots=True)
class Relation:
    """Text of one FROM item with its alias, and the columns it brings."""

    text: str
    alias: str
    columns: Scope


Joined: TypeAlias = tuple[str, Scope, tuple[str, ...]]
"""Text of FROM, its columns, and conditions for WHERE."""


def equal(pairs: Pairs) -> list[str]:
    return [f"{a.text} = {b.text}" for a, b in pairs]


class Joins:
    def __init__(self, rng: Random, world: World, tags: set[str], expressions: Expressions) -> None:
        self.rng, self.world, self.tags, self.expressions = rng, world, tags, expressions

    def joined(self, source: str, scope: Scope, right: Relation, *, commas: bool) -> Joined:
        """`source` joined with `right`; after a comma only commas, because JOIN binds tighter and would not
        see what stands before it."""
        both = (*scope, *right.columns)
        shape = 1.0 if commas else self.rng.random()
        if shape < 0.05:
            self.tags.add("cross join")
            return f"{source} CROSS JOIN {right.text}", both, ()
        if shape < 0.1:
            return self._unequal(source, scope, right)
        pairs = self.pairs(scope, right.columns)
        if not pairs:
            return source, scope, ()
        if right.text.startswith("("):
            self.tags.add("join of a subquery")
        kind = "," if commas else self.rng.choice(KINDS)
        self.tags.add("comma join" if kind == "," else f"{kind}")
        if kind == ",":
            return f"{source}, {right.text}", both, tuple(equal(pairs))
        using = self._using(scope, pairs)
        if using is not None:
            return f"{source} {kind} {right.text} USING ({using})", both, ()
        parts = equal(pairs)
        if self.rng.random() < 0.15:
            self.tags.add("ON with more than equalities")
            parts.append(self.expressions.predicate(both, 1))
        return f"{source} {kind} {right.text} ON {' AND '.join(parts)}", both, ()

    def _unequal(self, source: str, scope: Scope, right: Relation) -> Joined:
        found = self.unequal_pair(scope, right.columns)
        if found is None:
            return source, scope, ()
        self.tags.add("non-equi join")
        kind = self.rng.choice(("JOIN", "JOIN", "LEFT JOIN"))
        return f"{source} {kind} {right.text} ON {found}", (*scope, *right.columns), ()

    def unequal_pair(self, left: Scope, right: Scope) -> str | None:
        pairs = [(a, b) for a in left for b in right if a.kind == b.kind]
        if not pairs:
            return None
        a, b = self.rng.choice(pairs)
        return f"{b.text} {self.rng.choice(COMPARISONS[1:])} {a.text}"

    # ------------------------------------------------------------ what to join on

    def pairs(self, left: Scope, right: Scope) -> Pairs:
        """Join columns: mostly a foreign key with the key it refers to, else columns of one kind."""
        keyed = self._key_pairs(left, right)
        if keyed and self.rng.random() < 0.8:
            chosen = self.rng.choice(keyed)
            self.tags.add("key join of a composite key" if len(chosen) > 1 else "key join")
            return chosen
        same = [
            (a, b)
            for a in left
            for b in right
            if a.kind == b.kind and set(a.values) & set(b.values)
        ]
        if not same:
            return []
        self.tags.add("general equi-join")
        if any(a.origin and b.origin and a.origin[0] == b.origin[0] for a, b in same):
            self.tags.add("self join")
            alike = [(a, b) for a, b in same if a.origin and a.origin == b.origin]
            same = alike if alike and self.rng.random() < 0.7 else same
        return self.rng.sample(same, min(len(same), self.rng.choice((1, 1, 1, 2))))

    def _key_pairs(self, left: Scope, right: Scope) -> list[Pairs]:
        forward = self.references(left, right)
        return forward + [[(b, a) for a, b in pairs] for pairs in self.references(right, left)]

    def references(self, child: Scope, parent: Scope) -> list[Pairs]:
        found = []
        for table in self.world.tables.values():
            for reference in table.references:
                key = self.world.tables[reference.table].key
                below = [_seen(child, table.name, c) for c in reference.columns]
                above = [_seen(parent, reference.table, c) for c in key]
                if all(below) and all(above):
                    found.append(
                        [
                            (self.rng.choice(b), self.rng.choice(a))
                            for b, a in zip(below, above, strict=True)
                        ]
                    )
        return found

    def _using(self, scope: Scope, pairs: Pairs) -> str | None:
        names = [a.name for a, b in pairs if a.name == b.name]
        clear = all(sum(var.name == name for var in scope) == 1 for name in names)
        if len(names) < len(pairs) or not clear or self.rng.random() < 0.4:
            return None
        self.tags.add("USING")
        return ", ".join(dict.fromkeys(names))


def _seen(scope: Scope, table: str, column: str) -> list[Var]:
    return [var for var in scope if var.origin == (table, column)]
