"""Relational algebra (paper Figure 3, extended). Frozen nodes; every column has a query-wide unique id.

`at` is where a node stands in the statement, for refusals that name it.

Aggregates, grouping keys, join keys and sort keys are column ids: whatever is computed is computed by a
Project below. Sort, Limit and window expressions exist above a release only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from operator import is_
from typing import Literal, TypeAlias

from dp4sql.algebra.digits import held
from dp4sql.algebra.expr import Col, Expr, reads
from dp4sql.algebra.schema import Table
from dp4sql.algebra.types import COMPARED, Type, Value

JoinKind: TypeAlias = Literal["inner", "left", "full"]
AggregateFunction: TypeAlias = Literal[
    "count_star",
    "count",
    "count_distinct",
    "sum",
    "sum_distinct",
    "avg",
    "min",
    "max",
    "quantile_cont",
    "quantile_disc",
    "var_samp",
    "var_pop",
    "stddev_samp",
    "stddev_pop",
    "bool_and",
    "bool_or",
]


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """A base relation; column ids are `alias.column`."""

    table: Table
    alias: str
    at: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Select:
    child: Node
    predicate: Expr


@dataclass(frozen=True, slots=True, eq=False)
class Project:
    child: Node
    outputs: tuple[tuple[str, Expr], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Join:
    """Equi-join on `pairs` (left id, right id); no pairs is a cross join. `residual` is the rest of ON.

    RIGHT JOIN is a left join with its sides exchanged. `correlated`: the right side, groups of `pairs`,
    came from a scalar subquery about each row of the left; that changes nothing but how it is rendered.
    """

    left: Node
    right: Node
    kind: JoinKind
    pairs: tuple[tuple[str, str], ...]
    residual: Expr | None = None
    correlated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Semi:
    """Rows of `left` with (EXISTS, IN) or, when `anti`, without a match in `right`.

    `null_aware` marks NOT IN, where a NULL on either side makes the predicate unknown.
    """

    left: Node
    right: Node
    pairs: tuple[tuple[str, str], ...]
    residual: Expr | None
    anti: bool
    null_aware: bool = False
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Agg:
    """One aggregate: `id` names its output, `arg` the column it reads (None for COUNT(*)); `text` is how the
    statement writes it. `fraction` is the share of values before a percentile, in ascending order also where it is
    `descending`: then of two values between which it lies exactly it is the larger one."""

    id: str
    function: AggregateFunction
    arg: str | None
    type: Type
    fraction: Value = None
    descending: bool = field(default=False, kw_only=True)
    text: str = field(default="", compare=False)
    at: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, eq=False)
class Aggregate:
    """GROUP BY `keys`; with no keys there is always exactly one row."""

    child: Node
    keys: tuple[str, ...]
    aggs: tuple[Agg, ...]
    at: tuple[int | None, ...] = ()
    """Where each key stands."""
    clause: str = "GROUP BY"
    """What asks for the groups."""


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    child: Node
    at: tuple[int | None, ...] = ()
    """Where each column stands."""


@dataclass(frozen=True, slots=True, eq=False)
class UnionAll:
    """`outputs[i]` takes `left_ids[i]` of the left and `right_ids[i]` of the right child."""

    left: Node
    right: Node
    outputs: tuple[tuple[str, Type], ...]
    left_ids: tuple[str, ...]
    right_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """A literal relation."""

    columns: tuple[tuple[str, Type], ...]
    rows: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """The integers from `first` to `last`; for dates, days since 1970-01-01; for timestamps, steps of so many
    microseconds since then."""

    id: str
    type: Type
    first: int
    last: int
    step: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Sort:
    """`keys` are (column id, descending, nulls first)."""

    child: Node
    keys: tuple[tuple[str, bool, bool], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    child: Node
    count: int | None
    offset: int = 0
    at: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Fetched:
    """Rows that stage `stage` of a plan has released (or read as public)."""

    stage: int
    columns: tuple[tuple[str, Type], ...]


Node: TypeAlias = (
    Scan
    | Select
    | Project
    | Join
    | Semi
    | Aggregate
    | Distinct
    | UnionAll
    | Values
    | Series
    | Sort
    | Limit
    | Fetched
)


def inputs(node: Node) -> tuple[Node, ...]:
    match node:
        case Scan() | Values() | Series() | Fetched():
            return ()
        case Join(left, right) | Semi(left, right) | UnionAll(left, right):
            return (left, right)
        case (
            Select(child)
            | Project(child)
            | Aggregate(child)
            | Distinct(child)
            | Sort(child)
            | Limit(child)
        ):
            return (child,)


def with_inputs(node: Node, new: tuple[Node, ...]) -> Node:
    """`node` itself when nothing is new: what is known of it by identity stays known."""
    if all(map(is_, new, inputs(node))):
        return node
    match node:
        case Scan() | Values() | Series() | Fetched():
            return node
        case Join() | Semi() | UnionAll():
            return replace(node, left=new[0], right=new[1])
        case Select() | Project() | Aggregate() | Distinct() | Sort() | Limit():
            return replace(node, child=new[0])


def expressions(node: Node) -> tuple[Expr, ...]:
    """The expressions that stand in `node` itself."""
    match node:
        case Select(predicate=predicate):
            return (predicate,)
        case Project(outputs=outputs):
            return tuple(expr for _, expr in outputs)
        case Join(residual=residual) | Semi(residual=residual):
            return (residual,) if residual is not None else ()
        case _:
            return ()


def needed(node: Node, used: frozenset[str]) -> frozenset[str]:
    """The columns of its inputs that `node` reads where only `used` of its own are looked at."""
    read = frozenset().union(*(reads(expr) for expr in expressions(node)))
    match node:
        case Project():
            return read
        case Aggregate(keys=keys, aggs=aggs):
            return frozenset(keys) | {agg.arg for agg in aggs if agg.arg is not None}
        case Join(pairs=pairs) | Semi(pairs=pairs):
            return used | read | {id for pair in pairs for id in pair}
        case Sort(keys=order):
            return used | {id for id, *_ in order}
        case Select() | Limit():
            return used | read
        case _:
            return frozenset().union(*(ids(child) for child in inputs(node)))


def most_alike(node: Values, on: frozenset[str]) -> int:
    """How many rows have the same values in the columns `on`, at most."""
    chosen = [i for i, (id, _) in enumerate(node.columns) if id in on]
    if not chosen or any(node.columns[i][1].kind not in COMPARED for i in chosen):
        return len(node.rows)
    return max(Counter(tuple(row[i] for i in chosen) for row in node.rows).values(), default=0)


def walk_nodes(node: Node) -> Iterator[Node]:
    left = [node]
    while left:
        part = left.pop()
        yield part
        left += reversed(inputs(part))


@lru_cache(maxsize=4096)
def columns(node: Node) -> tuple[tuple[str, Type], ...]:
    """Output column ids and types, in order."""
    match node:
        case Scan(table, alias):
            return tuple((f"{alias}.{c.name}", c.type) for c in table.columns.values())
        case Project(outputs=outputs):
            return tuple((id, held(expr)) for id, expr in outputs)
        case Join(left, right):
            return (*columns(left), *columns(right))
        case Semi(left) | Select(left) | Distinct(left) | Sort(left) | Limit(left):
            return columns(left)
        case Aggregate(child, keys, aggs):
            types = dict(columns(child))
            return (*((key, types[key]) for key in keys), *((a.id, a.type) for a in aggs))
        case UnionAll(outputs=outputs):
            return outputs
        case Values(own) | Fetched(columns=own):
            return own
        case Series(id, type):
            return ((id, type),)


def argument(node: Aggregate, agg: Agg) -> Expr:
    """What `agg` takes, as far as the Project below says."""
    assert agg.arg is not None
    outputs = dict(node.child.outputs) if isinstance(node.child, Project) else {}
    return outputs.get(agg.arg) or Col(agg.arg, dict(columns(node.child))[agg.arg])


@lru_cache(maxsize=4096)
def ids(node: Node) -> frozenset[str]:
    return frozenset(id for id, _ in columns(node))
