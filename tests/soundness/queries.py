"""Random SQL: one aggregate query over a random block of joins, subqueries and conditions.

The text is Postgres's dialect as far as DuckDB and SQLite give it the same meaning. Every construct used
leaves a tag, so that a run can say how often it was tried and accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Literal, TypeAlias

from .blocks import Block, Blocks
from .expressions import Expressions, Scope
from .meetings import Meetings
from .motifs import Motifs, links
from .world import World, traits

DEPTH = 3
DIRECTED = 0.5
"""Share of queries of the shapes in `motifs`."""
MEETING = 0.2
"""Share of queries of the shapes in `meetings`."""
CANDIDATE, DAY = "1", "'2024-02-01'"
"""The value at which a choice (MIN, MAX, a percentile) is probed."""
BELOW, ABOVE = 3, 1
"""The weights of PERCENTILE_DISC(0.25)."""
Aggregate = Literal[
    "count_star",
    "count",
    "count_distinct",
    "sum",
    "sum_distinct",
    "avg",
    "variance",
    "min",
    "max",
    "percentile",
]
DATED = "MIN, MAX or a percentile of a date"
TAGS: Mapping[Aggregate, str] = {
    "count_star": "COUNT(*)",
    "count_distinct": "COUNT(DISTINCT x)",
    "sum_distinct": "SUM(DISTINCT x)",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """One aggregate of the client's query; `name` is its output column, `only` the condition of its FILTER."""

    name: str
    function: Aggregate
    argument: str
    only: str = ""
    candidate: str = CANDIDATE

    def sql(self) -> str:
        match self.function:
            case "count_star":
                return self._filtered("COUNT(*)")
            case "count_distinct" | "sum_distinct":
                return self._filtered(f"{self.function[:-9].upper()}(DISTINCT {self.argument})")
            case "percentile":
                order = f"PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY {self.argument})"
                return self._filtered(order)
            case other:
                return self._filtered(f"{other.upper()}({self.argument})")

    def _filtered(self, call: str) -> str:
        return f"{call} FILTER (WHERE {self.only})" if self.only else call

    def parts(self) -> tuple[str, ...]:
        """The kinds of its measurements."""
        match self.function:
            case "avg":
                return ("sum", "count")
            case "variance":
                return ("sum", "sum_squares", "count")
            case "min" | "max" | "percentile":
                return ("rank",)
            case other:
                return (other,)

    def probe(self, kind: str, center: Fraction) -> str:
        """The SQL of one measurement of this aggregate. AVG is a centred sum and a count, as is a
        SUM beside a count, VARIANCE has the centred squares too; MIN (MAX) chooses by how many rows are at
        most (least) each candidate, a percentile by the weights of those below it and of the others."""
        x = self.argument
        if center:
            shown = str(center) if center.denominator == 1 else repr(float(center))
            x = f"({x} - ({shown}))"
        match kind:
            case "sum":
                return self._filtered(f"SUM({x})")
            case "sum_squares":
                return self._filtered(f"SUM({x} * {x})")
            case "rank" if self.function == "percentile":
                rest = f"WHEN {x} >= {self.candidate} THEN -{ABOVE}"
                return self._filtered(
                    f"SUM(CASE WHEN {x} < {self.candidate} THEN {BELOW} {rest} END)"
                )
            case "rank":
                sign = "<=" if self.function == "min" else ">="
                return self._filtered(f"COUNT(CASE WHEN {x} {sign} {self.candidate} THEN 1 END)")
            case "count" if self.function in ("avg", "variance", "sum"):
                return self._filtered(f"COUNT({x})")
            case _:
                return self.sql()


@dataclass(frozen=True, slots=True)
class Query:
    """`conditions` stand in WHERE, joined by AND; shrinking drops them one by one."""

    preamble: str
    source: str
    conditions: tuple[str, ...]
    keys: tuple[str, ...]
    aggregates: tuple[Measured, ...]
    tags: frozenset[str]

    def sql(self) -> str:
        """What the client sends."""
        return self._text([f"{a.sql()} AS {a.name}" for a in self.aggregates])

    def probe(self, columns: list[str]) -> str:
        """The same rows and groups under other aggregates."""
        return self._text(columns)

    def _text(self, columns: list[str]) -> str:
        keys = [f"{key} AS k{i}" for i, key in enumerate(self.keys)]
        where = f" WHERE {' AND '.join(self.conditions)}" if self.conditions else ""
        group = f" GROUP BY {', '.join(self.keys)}" if self.keys else ""
        return f"{self.preamble}SELECT {', '.join(keys + columns)} FROM {self.source}{where}{group}"


def random_query(rng: Random, world: World) -> Query:
    tags: set[str] = set()
    expressions = Expressions(rng, tags)
    blocks = Blocks(rng, world, tags, expressions)
    known = links(world)
    shape = rng.random()
    if known and shape < DIRECTED:
        block = Motifs(rng, blocks, rng.choice(known)).draw()
    elif shape > 1 - MEETING:
        block = Meetings(rng, blocks).draw()
    else:
        block = blocks.block(depth=DEPTH)
    keys, limits = _keys(rng, tags, expressions, block)
    aggregates = _aggregates(rng, tags, expressions, block)
    tags |= traits(world, blocks.used)
    return Query(
        blocks.preamble(),
        block.source,
        (*block.conditions, *limits),
        keys,
        aggregates,
        frozenset(tags),
    )


def days(scope: Scope) -> list[str]:
    return [var.text for var in scope if var.kind == "date"]


Keys: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""Texts of GROUP BY, and conditions that limit them."""


def _keys(rng: Random, tags: set[str], expressions: Expressions, block: Block) -> Keys:
    wanted = rng.choice((0, 1, 1, 1, 2) if block.groups else (0, 0, 1, 1, 1, 2))
    tags.add("outer GROUP BY" if wanted else "no GROUP BY")
    drawn = [_key(rng, tags, expressions, block) for _ in range(wanted)]
    limits = tuple(limit for _, limit in drawn if limit)
    return tuple(dict.fromkeys(key for key, _ in drawn)), limits


def _key(
    rng: Random, tags: set[str], expressions: Expressions, block: Block
) -> tuple[str, str | None]:
    """A key, and the condition that lists its groups if there is one."""
    if rng.random() < 0.15:
        return expressions.group_key(block.scope), None
    var = rng.choice(block.groups if block.groups and rng.random() < 0.7 else block.scope)
    if rng.random() < (0.7 if var.unlisted else 0.08):
        tags.add("bins of an IN list")
        return var.text, expressions.in_list(var, negated=False)
    tags.add("bins of a count" if var.made.startswith("COUNT") else "bins of a column")
    return var.text, None


def _aggregates(
    rng: Random, tags: set[str], expressions: Expressions, block: Block
) -> tuple[Measured, ...]:
    made: list[tuple[Aggregate, str, str, str]] = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        function, argument = rng.choice(AGGREGATES)(rng, expressions, block)
        dated = function in CHOICES and argument in days(block.scope)
        tags.add(DATED if dated else TAGS.get(function, f"{function.upper()}(x)"))
        only = expressions.predicate(block.scope) if rng.random() < 0.05 else ""
        if only:
            tags.add("FILTER")
        made.append((function, argument, only, DAY if dated else CANDIDATE))
    unique = list(dict.fromkeys(made))
    return tuple(Measured(f"a{i}", *parts) for i, parts in enumerate(unique))


def _star(rng: Random, expressions: Expressions, block: Block) -> tuple[Aggregate, str]:
    return "count_star", "*"


def _count(rng: Random, expressions: Expressions, block: Block) -> tuple[Aggregate, str]:
    return "count", rng.choice(block.scope).text


def _distinct(rng: Random, expressions: Expressions, block: Block) -> tuple[Aggregate, str]:
    return "count_distinct", rng.choice(block.scope).text


def _sum(rng: Random, expressions: Expressions, block: Block) -> tuple[Aggregate, str]:
    return "sum", expressions.number(block.scope, plain=0.6)


def _avg(rng: Random, expressions: Expressions, block: Block) -> tuple[Aggregate, str]:
    return "avg", expressions.number(block.scope, plain=0.8)


CHOICES: tuple[Aggregate, ...] = ("min", "max", "percentile")
RARE: tuple[Aggregate, ...] = ("sum_distinct", "variance", *CHOICES)


def _rare(rng: Random, expressions: Expressions, block: Block) -> tuple[Aggregate, str]:
    function, dates = rng.choice(RARE), days(block.scope)
    if function in CHOICES and dates and rng.random() < 0.5:
        return function, rng.choice(dates)
    return function, expressions.number(block.scope, plain=0.8)


AGGREGATES: tuple[Callable[[Random, Expressions, Block], tuple[Aggregate, str]], ...] = (
    _star, _star, _star, _count, _count, _distinct, _distinct, _sum, _sum, _sum, _avg, _rare,
)  # fmt: skip
