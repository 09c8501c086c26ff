"""Random scalar expressions and predicates over a scope of columns."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, Literal, TypeAlias

from .world import Value, literal

Kind: TypeAlias = Literal["integer", "number", "text", "date"]
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


@dataclass(frozen=True, slots=True)
class Var:
    """A column in scope. `origin` is the base table and column it passes through, if it does; `nullable`
    only steers the choice of predicates; `made` is the aggregate that computed it in a
    subquery; the values of an `unlisted` column are not declared."""

    relation: str
    name: str
    kind: Kind
    values: tuple[Value, ...]
    origin: tuple[str, str] | None = None
    nullable: bool = True
    made: str = ""
    unlisted: bool = False

    @property
    def text(self) -> str:
        return f"{self.relation}.{self.name}"


Scope: TypeAlias = tuple[Var, ...]


class Expressions:
    """Draws expressions and notes the constructs it uses in `tags`."""

    def __init__(self, rng: Random, tags: set[str]) -> None:
        self.rng, self.tags = rng, tags

    # ------------------------------------------------------------ numbers

    def number(self, scope: Scope, plain: float = 0.5) -> str:
        """A numeric expression; a constant where the scope has no number."""
        numbers = numeric(scope)
        if not numbers:
            return self._flag(scope)
        if self.rng.random() < plain:
            return self.rng.choice(numbers).text
        return self.rng.choice(
            (
                self._arithmetic,
                self._arithmetic,
                self._case,
                self._coalesce,
                self._absolute,
                self._extreme,
                self._flag,
                self._part,
                self._cast,
            )
        )(scope)

    def _one(self, scope: Scope) -> str:
        return self.rng.choice(numeric(scope)).text

    def _arithmetic(self, scope: Scope) -> str:
        self.tags.add("arithmetic")
        other = self._one(scope) if self.rng.random() < 0.5 else str(self.rng.choice((-1, 2, 3)))
        return f"({self._one(scope)} {self.rng.choice('+-*')} ({other}))"

    def _case(self, scope: Scope) -> str:
        self.tags.add("CASE")
        default = f" ELSE {self.rng.choice((-1, 0, 2))}" if self.rng.random() < 0.7 else ""
        return f"CASE WHEN {self.comparison(scope)} THEN {self._one(scope)}{default} END"

    def _flag(self, scope: Scope) -> str:
        self.tags.add("CASE")
        return f"CASE WHEN {self.comparison(scope)} THEN 1 ELSE 0 END"

    def _coalesce(self, scope: Scope) -> str:
        self.tags.add("COALESCE")
        return f"COALESCE({self._one(scope)}, {self.rng.choice((0, 1, -2))})"

    def _absolute(self, scope: Scope) -> str:
        self.tags.add("ABS")
        return f"ABS({self._one(scope)})"

    def _extreme(self, scope: Scope) -> str:
        self.tags.add("LEAST/GREATEST")
        other = self._one(scope) if self.rng.random() < 0.5 else str(self.rng.choice((0, 1)))
        return f"{self.rng.choice(('LEAST', 'GREATEST'))}({self._one(scope)}, {other})"

    def _part(self, scope: Scope) -> str:
        days = [var for var in scope if var.kind == "date"]
        if not days:
            return self._one(scope)
        self.tags.add("date part")
        part = self.rng.choice(("year", "month", "day"))
        return f"date_part('{part}', {self.rng.choice(days).text})"

    def _cast(self, scope: Scope) -> str:
        """To types that every engine converts integers and booleans to alike."""
        self.tags.add("CAST")
        if self.rng.random() < 0.3:
            return f"CAST({self.comparison(scope)} AS INTEGER)"
        type = self.rng.choice(("BIGINT", "DOUBLE PRECISION", "NUMERIC(12, 2)"))
        return f"CAST({self._one(scope)} AS {type})"

    def group_key(self, scope: Scope) -> str:
        """A key with few values: CASE over constants, a comparison, a date part, COALESCE, arithmetic."""
        shape = self.rng.random()
        days = [var for var in scope if var.kind == "date"]
        if days and shape < 0.6:
            self.tags.add("bins of a date part")
            return self._part(scope)
        if shape < 0.3:
            self.tags.add("bins of CASE")
            return f"CASE WHEN {self.comparison(scope)} THEN 'x' ELSE 'y' END"
        if shape < 0.5:
            self.tags.add("bins of a boolean")
            return f"({self.comparison(scope)})"
        self.tags.add("bins of an expression")
        return self.number(scope, plain=0)

    # ------------------------------------------------------------ predicates

    def predicate(self, scope: Scope, depth: int = 2) -> str:
        shape = self.rng.random()
        if depth and shape < 0.15:
            self.tags.add("AND/OR")
            word = self.rng.choice(("AND", "OR", "OR"))
            return f"({self.predicate(scope, depth - 1)} {word} {self.predicate(scope, depth - 1)})"
        if depth and shape < 0.22:
            self.tags.add("NOT")
            return f"NOT ({self.predicate(scope, depth - 1)})"
        if shape < 0.34:
            return self._in_list(scope)
        if shape < 0.46:
            return self._is_null(scope)
        if shape < 0.56 and numeric(scope):
            other = self.rng.choice((0, 1, 2))
            return f"{self.number(scope, plain=0)} {self.rng.choice(COMPARISONS)} {other}"
        return self.comparison(scope)

    def _is_null(self, scope: Scope) -> str:
        """Of a column that can be NULL, as far as the scope has one."""
        self.tags.add("IS NULL")
        var = self.rng.choice([var for var in scope if var.nullable] or scope)
        return f"{var.text} IS {'' if var.nullable and self.rng.random() < 0.4 else 'NOT '}NULL"

    def comparison(self, scope: Scope) -> str:
        """One that some of the column's values pass: a predicate that drops every row tests nothing."""
        var = self.rng.choice(scope)
        peers = [other for other in scope if other.kind == var.kind and other != var]
        if peers and self.rng.random() < 0.2:
            return f"{var.text} {self.rng.choice(COMPARISONS)} {self.rng.choice(peers).text}"
        bound = self.rng.choice(var.values)
        passing = [
            op for op in COMPARISONS if any(_passes(op, value, bound) for value in var.values)
        ]
        return f"{var.text} {self.rng.choice(passing)} {plain_literal(bound)}"

    def _in_list(self, scope: Scope) -> str:
        return self.in_list(self.rng.choice(scope))

    def in_list(self, var: Var, *, negated: bool = True) -> str:
        self.tags.add("IN list")
        chosen = sorted(
            {plain_literal(self.rng.choice(var.values)) for _ in range(self.rng.choice((1, 2, 2)))}
        )
        turned = negated and len(chosen) < len(var.values) and self.rng.random() < 0.4
        word = "NOT IN" if turned else "IN"
        return f"{var.text} {word} ({', '.join(chosen)})"


def _passes(comparison: str, value: Any, bound: Any) -> bool:
    match comparison:
        case "=":
            return bool(value == bound)
        case "<>":
            return bool(value != bound)
        case "<":
            return bool(value < bound)
        case "<=":
            return bool(value <= bound)
        case ">":
            return bool(value > bound)
        case _:
            return bool(value >= bound)


def numeric(scope: Scope) -> list[Var]:
    return [var for var in scope if var.kind in ("integer", "number")]


def plain_literal(value: Value) -> str:
    """Dates as bare strings, which all engines compare with a date column as Postgres does."""
    return literal(value, "text" if isinstance(value, str) else "integer")
