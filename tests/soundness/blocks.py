"""Random FROM clauses and WHERE conditions: joins of every kind, subqueries, CTEs, EXISTS and IN."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from .expressions import COMPARISONS, Expressions, Kind, Scope, Var, numeric
from .joins import Joins, Pairs, Relation, equal
from .world import World

BUDGETS = (0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 6, 10)
"""Numbers of constructs (joins, conditions, subqueries) to draw from."""
SETS = ("UNION ALL", "UNION ALL", "UNION ALL", "UNION", "UNION", "INTERSECT", "EXCEPT")
SMALL = (0, 1, 2)
"""Constants that computed columns are compared with."""


@dataclass(frozen=True, slots=True)
class Block:
    """`groups` are columns that a query is mostly grouped by, where a motif has such."""

    source: str
    scope: Scope
    conditions: tuple[str, ...]
    groups: Scope = ()

    def where(self) -> str:
        return f" WHERE {' AND '.join(self.conditions)}" if self.conditions else ""


class Blocks:
    """Draws the parts of one query; numbers its aliases, keeps its CTEs and the names of the tables it used."""

    def __init__(self, rng: Random, world: World, tags: set[str], expressions: Expressions) -> None:
        self.rng, self.world, self.tags, self.expressions = rng, world, tags, expressions
        self.joins = Joins(rng, world, tags, expressions)
        self.used: set[str] = set()
        self._count = 0
        self._budget = rng.choice(BUDGETS)
        self._tables = [
            *world.tables,
            *(name for policy in world.policies for name in policy.private()),
        ]
        self._ctes: list[tuple[str, str, Scope]] = []

    def preamble(self) -> str:
        if not self._ctes:
            return ""
        return f"WITH {', '.join(f'{name} AS ({text})' for name, text, _ in self._ctes)} "

    def fresh(self, letter: str) -> str:
        """An alias or a column name that nothing else in the query has."""
        self._count += 1
        return f"{letter}{self._count}"

    # ------------------------------------------------------------ blocks

    def _spend(self, chance: float) -> bool:
        """Whether one more construct goes in. Most queries have few: those have tight bounds, and a mistake
        in a rule shows at once."""
        if self._budget <= 0 or self.rng.random() >= chance:
            return False
        self._budget -= 1
        return True

    def block(self, depth: int, near: Scope = ()) -> Block:
        """`near` are columns that the block will be joined with: it mostly starts at a table related to theirs."""
        first = self.relation(depth, near)
        source, scope, conditions = first.text, first.columns, ()
        while self._spend(0.5):
            right = self.relation(depth - 1, scope)
            source, scope, more = self.joins.joined(source, scope, right, commas=bool(conditions))
            conditions += more
        return Block(source, scope, (*conditions, *self._conditions(scope, depth)))

    def _conditions(self, scope: Scope, depth: int) -> list[str]:
        found = []
        while self._spend(0.3):
            found.append(self.expressions.predicate(scope))
        if depth >= 0 and self._spend(0.4):
            found.append(self.subquery_condition(scope, depth))
        if found:
            self.tags.add("WHERE")
        return found

    # ------------------------------------------------------------ FROM items

    def relation(self, depth: int, near: Scope = ()) -> Relation:
        if depth <= 0 or not self._spend(0.6):
            return self.base(near)
        if self.rng.random() < 0.1:
            return self._common()
        makers = (
            self.filtered,
            self.filtered,
            self.grouped,
            self.grouped,
            self.grouped,
            self.distinct,
            self.union,
        )
        text, columns = self.rng.choice(makers)(depth - 1, near)
        return self.named(f"({text})", columns)

    def named(self, text: str, columns: Scope) -> Relation:
        alias = self.fresh("x")
        return Relation(
            f"{text} {alias}", alias, tuple(replace(c, relation=alias) for c in columns)
        )

    def base(self, near: Scope = ()) -> Relation:
        related = self._related(near)
        names = related if related and self.rng.random() < 0.7 else self._tables
        return self.scan(self.rng.choice(names))

    def scan(self, name: str) -> Relation:
        table = self.world.tables[name]
        self.used.add(name)
        columns = tuple(
            Var(
                "",
                c.name,
                "number" if c.kind == "numeric" else c.kind,
                c.values,
                (table.name, c.name),
                c.nullable,
                unlisted=not c.declared,
            )
            for c in table.columns
        )
        return self.named(table.name, columns)

    def _related(self, near: Scope) -> list[str]:
        """Tables that refer to one of those in scope, or that one of them refers to."""
        seen = {var.origin[0] for var in near if var.origin is not None}
        up = [r.table for name in seen for r in self.world.tables[name].references]
        down = [
            t.name for t in self.world.tables.values() if seen & {r.table for r in t.references}
        ]
        return sorted({*up, *down})

    def _common(self) -> Relation:
        """A CTE, new or used again (which makes a self join of a subquery)."""
        if not self._ctes or self.rng.random() < 0.5:
            maker = self.rng.choice((self.filtered, self.grouped, self.distinct))
            text, columns = maker(1, ())
            self._ctes.append((f"cte{len(self._ctes)}", text, columns))
        else:
            self.tags.add("CTE used again")
        self.tags.add("CTE")
        name, _, columns = self.rng.choice(self._ctes)
        return self.named(name, columns)

    # ------------------------------------------------------------ subqueries in FROM

    def filtered(self, depth: int, near: Scope) -> tuple[str, Scope]:
        self.tags.add("filtered subquery")
        block = self.block(depth, near)
        if not block.conditions:
            block = replace(block, conditions=(self.expressions.predicate(block.scope),))
        items, columns = self._items(block.scope, compute=0.3)
        return f"SELECT {items} FROM {block.source}{block.where()}", columns

    def distinct(self, depth: int, near: Scope) -> tuple[str, Scope]:
        self.tags.add("DISTINCT subquery")
        block = self.block(depth, near)
        items, columns = self._items(block.scope, compute=0.1, most=3)
        return f"SELECT DISTINCT {items} FROM {block.source}{block.where()}", columns

    def union(self, depth: int, near: Scope) -> tuple[str, Scope]:
        word = self.rng.choice(SETS)
        left, right = self.block(depth, near), self.block(depth, near)
        pairs = [(a, b) for a in left.scope for b in right.scope if a.kind == b.kind]
        if not pairs:
            return self.filtered(depth, near)
        same = [(a, b) for a, b in pairs if a.origin is not None and a.origin == b.origin]
        chosen = self.rng.sample(same or pairs, min(self.rng.choice((1, 2, 3)), len(same or pairs)))
        columns = tuple(
            Var("", self.fresh("u"), a.kind, tuple(dict.fromkeys(a.values + b.values)))
            for a, b in chosen
        )
        texts = [
            _select(block, side, columns)
            for block, side in zip((left, right), zip(*chosen, strict=True), strict=True)
        ]
        self.tags.add(word)
        return f" {word} ".join(texts), columns

    def grouped(self, depth: int, near: Scope) -> tuple[str, Scope]:
        self.tags.add("inner GROUP BY")
        block = self.block(depth, near)
        items, columns, keys = self._group_keys(block.scope)
        for _ in range(self.rng.choice((1, 1, 2))):
            text, made = self.inner_aggregate(block.scope)
            columns.append(replace(made, name=self.fresh("n")))
            items.append(f"{text} AS {columns[-1].name}")
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        return (
            f"SELECT {', '.join(items)} FROM {block.source}{block.where()}{group}{self._having(block.scope)}",
            tuple(columns),
        )

    def _group_keys(self, scope: Scope) -> tuple[list[str], list[Var], list[str]]:
        items, columns, keys = [], [], []
        wanted = self.rng.choice((0, 1, 1, 1, 2, 2))
        for var in self.rng.sample(scope, min(wanted, len(scope))):
            if var.name in {column.name for column in columns}:
                continue
            items.append(f"{var.text} AS {var.name}")
            keys.append(var.text)
            columns.append(replace(var, relation=""))
        if keys and self.rng.random() < 0.1:
            self.tags.add("inner GROUP BY expression")
            text = self.expressions.number(scope, plain=0)
            columns.append(Var("", self.fresh("g"), "number", SMALL))
            items.append(f"{text} AS {columns[-1].name}")
            keys.append(text)
        if not keys:
            self.tags.add("inner aggregate without GROUP BY")
        return items, columns, keys

    def inner_aggregate(self, scope: Scope) -> tuple[str, Var]:
        """Its text and the column it makes, which has no name yet."""
        function = self.rng.choice(
            ("COUNT(*)", "COUNT(*)", "COUNT", "SUM", "AVG", "MIN", "MAX", "COUNT(DISTINCT)")
        )
        if function in ("SUM", "AVG", "MIN", "MAX") and not numeric(scope):
            function = "COUNT"
        self.tags.add(f"inner {function}")
        kind: Kind = "number" if function in ("AVG", "SUM") else "integer"
        made = Var("", "", kind, SMALL, made=function)
        match function:
            case "COUNT(*)":
                return function, made
            case "COUNT":
                return f"COUNT({self.rng.choice(scope).text})", made
            case "COUNT(DISTINCT)":
                return f"COUNT(DISTINCT {self.rng.choice(scope).text})", made
            case _:
                return f"{function}({self.expressions.number(scope, plain=0.8)})", made

    def _having(self, scope: Scope) -> str:
        if self.rng.random() < 0.85:
            return ""
        self.tags.add("HAVING in a subquery")
        text, _ = self.inner_aggregate(scope)
        return f" HAVING {text} {self.rng.choice(COMPARISONS)} {self.rng.choice((0, 1, 2))}"

    def _items(self, scope: Scope, compute: float, most: int = 5) -> tuple[str, Scope]:
        wanted = len(scope) if self.rng.random() < 0.4 else self.rng.randint(1, most)
        chosen = self.rng.sample(scope, min(len(scope), wanted))
        unique = tuple({var.name: var for var in chosen}.values())
        items = [f"{var.text} AS {var.name}" for var in unique]
        columns = [replace(var, relation="") for var in unique]
        if self.rng.random() < compute:
            self.tags.add("computed column")
            columns.append(Var("", self.fresh("c"), "number", SMALL))
            items.append(f"{self.expressions.number(scope, plain=0)} AS {columns[-1].name}")
        if self.rng.random() < 0.3:
            columns, items = columns[::-1], items[::-1]
        return ", ".join(items), tuple(columns)

    # ------------------------------------------------------------ EXISTS and IN

    def subquery_condition(self, scope: Scope, depth: int) -> str:
        inner = self.block(depth - 1, scope)
        shape = self.rng.random()
        if shape < 0.45:
            return self._membership(scope, inner)
        pairs = self.joins.pairs(scope, inner.scope)
        if shape < 0.6 and pairs and numeric(scope):
            return self._scalar(scope, inner, pairs)
        conditions = [*inner.conditions, *equal(pairs)]
        unequal = self.joins.unequal_pair(scope, inner.scope)
        if unequal is not None and self.rng.random() < 0.4:
            self.tags.add("correlated on an inequality")
            conditions.append(unequal)
        word = self.rng.choice(("EXISTS", "NOT EXISTS"))
        self.tags.add(word if pairs else f"{word} without correlation")
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"{word} (SELECT 1 FROM {inner.source}{where})"

    def _scalar(self, scope: Scope, inner: Block, pairs: Pairs) -> str:
        self.tags.add("correlated scalar subquery")
        text, _ = self.inner_aggregate(inner.scope)
        where = " AND ".join((*inner.conditions, *equal(pairs)))
        return (
            f"{self.expressions.number(scope)} {self.rng.choice(COMPARISONS)} "
            f"(SELECT {text} FROM {inner.source} WHERE {where})"
        )

    def _membership(self, scope: Scope, inner: Block) -> str:
        pairs = self.joins.pairs(scope, inner.scope)
        if not pairs:
            return self.expressions.predicate(scope)
        word = self.rng.choice(("IN", "NOT IN"))
        self.tags.add(f"{word} subquery")
        a, b = pairs[0]
        conditions = list(inner.conditions)
        if self.rng.random() < 0.2:
            self.tags.add(f"correlated {word}")
            conditions += equal(pairs[1:] or self.joins.pairs(scope, inner.scope))
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"{a.text} {word} (SELECT {b.text} FROM {inner.source}{where})"


def _select(block: Block, items: Scope, names: Scope) -> str:
    shown = ", ".join(
        f"{item.text} AS {name.name}" for item, name in zip(items, names, strict=True)
    )
    return f"SELECT {shown} FROM {block.source}{block.where()}"
