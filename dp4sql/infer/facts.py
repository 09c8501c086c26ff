"""What holds of a view in every admissible database, whatever the policy.

Column facts (type, NULL, range, source), frequencies and anchors (sensitivity.md section 3). Each is a
recursion over the tree; `Facts` remembers what it has computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from dp4sql.algebra.bounds import Bound, finite
from dp4sql.algebra.digits import SUMMABLE, width
from dp4sql.algebra.expr import Call, Col, Expr, In, Lit, conjuncts, reads, walk
from dp4sql.algebra.functions import FUNCTIONS
from dp4sql.algebra.nodes import (
    Agg,
    Aggregate,
    Distinct,
    Fetched,
    Join,
    Limit,
    Node,
    Project,
    Scan,
    Select,
    Semi,
    Series,
    Sort,
    UnionAll,
    Values,
    argument,
    walk_nodes,
)
from dp4sql.algebra.schema import Column, Table
from dp4sql.algebra.times import MICROS
from dp4sql.infer.frequencies import frequency
from dp4sql.infer.moments import Range
from dp4sql.infer.ranges import (
    ANY,
    Columns,
    Fact,
    Source,
    hull,
    meet,
    nullable,
    number,
    range_of,
)


@dataclass(frozen=True, slots=True)
class Anchor:
    """The view is a function of one row of `table` (scanned as `alias`) and of the rows that row refers to.

    `total`: every base row yields exactly one row of the view.
    """

    table: Table
    alias: str
    total: bool


class Facts:
    """Memo tables over the nodes of one query."""

    def __init__(self) -> None:
        self._columns: dict[int, Columns] = {}
        self._anchors: dict[int, Anchor | None] = {}
        self._freq: dict[tuple[int, frozenset[str], bool], Bound] = {}
        self._keep: list[Node] = []

    def columns(self, node: Node) -> Columns:
        if id(node) not in self._columns:
            self._keep.append(node)
            self._columns[id(node)] = _columns(self, node)
        return self._columns[id(node)]

    def anchor(self, node: Node) -> Anchor | None:
        if id(node) not in self._anchors:
            self._keep.append(node)
            self._anchors[id(node)] = _anchor(self, node)
        return self._anchors[id(node)]

    def freq(self, node: Node, on: frozenset[str], nulls: bool = False) -> Bound:
        """Most rows that share one value of the columns `on`.

        Without `nulls` the value has no NULL in it, as in a join; with `nulls` all NULLs count as one
        value, as in GROUP BY.
        """
        key = (id(node), on, nulls)
        if key not in self._freq:
            self._keep.append(node)
            self._freq[key] = frequency(self, node, on, nulls)
        return self._freq[key]

    def key_join(self, child: Node, parent: Node, pairs: tuple[tuple[str, str], ...]) -> bool:
        """Whether `pairs` equate a base foreign key seen in anchored `child` with the key of anchored `parent`."""
        anchor = self.anchor(parent)
        if anchor is None or self.anchor(child) is None or not pairs:
            return False
        mine, theirs = self.columns(child), self.columns(parent)
        below = [mine[a].source for a, _ in pairs]
        above = [theirs[b].source for _, b in pairs]
        if any(s is None for s in below) or any(
            s is None or s.alias != anchor.alias for s in above
        ):
            return False
        scans = {(s.alias, s.table) for s in below if s is not None}
        if len(scans) != 1:
            return False
        table = self.table_of(child, next(iter(scans))[0])
        found = {(b.column, a.column) for b, a in zip(below, above, strict=True) if a and b}
        return any(
            fk.references == anchor.table.name
            and set(zip(fk.columns, anchor.table.key, strict=True)) == found
            for fk in table.foreign_keys
        )

    def table_of(self, node: Node, alias: str) -> Table:
        for part in _scans(node):
            if part.alias == alias:
                return part.table
        raise KeyError(alias)


def _scans(node: Node) -> list[Scan]:
    return [part for part in walk_nodes(node) if isinstance(part, Scan)]


# ---------------------------------------------------------------- columns


def _columns(facts: Facts, node: Node) -> Columns:
    match node:
        case Scan(table, alias):
            return {
                f"{alias}.{c.name}": _base_fact(table, alias, c) for c in table.columns.values()
            }
        case Select(child, predicate):
            return narrowed(facts.columns(child), predicate)
        case Project(child, outputs):
            below = facts.columns(child)
            return {id: fact_of(expr, below) for id, expr in outputs}
        case Join():
            return _join_columns(facts, node)
        case Semi(left, _, pairs, _, anti):
            below = facts.columns(left)
            return below if anti else _not_null(below, frozenset(a for a, _ in pairs))
        case Aggregate(child, keys, aggs):
            below = facts.columns(child)
            return {key: below[key] for key in keys} | {
                agg.id: _agg_fact(facts, node, agg) for agg in aggs
            }
        case Distinct(child) | Sort(child) | Limit(child):
            return facts.columns(child)
        case UnionAll(left, right, outputs, left_ids, right_ids):
            a, b = facts.columns(left), facts.columns(right)
            return {
                id: Fact(type, a[x].nullable or b[y].nullable, hull(a[x].range, b[y].range))
                for (id, type), x, y in zip(outputs, left_ids, right_ids, strict=True)
            }
        case Values(own, rows):
            return {
                id: Fact(type, any(row[i] is None for row in rows), _span([row[i] for row in rows]))
                for i, (id, type) in enumerate(own)
            }
        case Series(id, type, first, last, step):
            unit = Fraction(step, MICROS["day"]) if step > 1 else 1
            return {id: Fact(type, False, (first * Fraction(unit), last * Fraction(unit)))}
        case Fetched(columns=own):
            return {id: Fact(type, True) for id, type in own}
        case _:
            assert_never(node)


def _base_fact(table: Table, alias: str, column: Column) -> Fact:
    span: Range = column.range or _span(column.domain or ())
    return Fact(column.type, column.nullable, span, Source(alias, table.name, column.name))


def _span(values: Sequence[object]) -> Range:
    if isinstance(values, range):
        values = [values[0], values[-1]]
    points = [number(v) for v in values if v is not None]  # type: ignore[arg-type]
    if not points or any(p is None for p in points):
        return ANY
    firm = [p for p in points if p is not None]
    return (min(firm), max(firm))


def fact_of(expr: Expr, below: Columns) -> Fact:
    if isinstance(expr, Col):
        return below[expr.id]
    return Fact(expr.type, nullable(expr, below), range_of(expr, below))


def _not_null(columns: Columns, wanted: frozenset[str]) -> Columns:
    return {id: replace(f, nullable=False) if id in wanted else f for id, f in columns.items()}


def _join_columns(facts: Facts, node: Join) -> Columns:
    left, right = facts.columns(node.left), facts.columns(node.right)
    match node.kind:
        case "inner":
            keys = frozenset(id for pair in node.pairs for id in pair)
            both = _not_null({**left, **right}, keys)
            return both if node.residual is None else narrowed(both, node.residual)
        case "left":
            return {**left, **_padded(right)}
        case "full":
            return {**_padded(left), **_padded(right)}


def _padded(columns: Columns) -> Columns:
    return {id: replace(fact, nullable=True) for id, fact in columns.items()}


def narrowed(columns: Columns, predicate: Expr) -> Columns:
    """Rows that pass `predicate` are not NULL where it is strict and lie where it says."""
    result = dict(columns)
    for part in conjuncts(predicate):
        for id in _proven_not_null(part):
            if id in result:
                result[id] = replace(result[id], nullable=False)
        limit = _limit(part)
        if limit is not None and limit[0] in result:
            id, span = limit
            result[id] = replace(result[id], range=meet(result[id].range, span))
    return result


def _proven_not_null(part: Expr) -> frozenset[str]:
    match part:
        case Call("not", (Call("is null", (Col(id),)),)):
            return frozenset({id})
        case Call("or"):
            return frozenset()
        case Call("not", (inner,)):
            return strict_columns(inner)
        case _:
            return strict_columns(part)


def strict_columns(expr: Expr) -> frozenset[str]:
    """Columns whose NULL makes `expr` NULL."""
    match expr:
        case Col(id):
            return frozenset({id})
        case In(arg):
            return strict_columns(arg)
        case Call(op, args) if FUNCTIONS[op].strict:
            return frozenset(id for arg in args for id in strict_columns(arg))
        case _:
            return frozenset()


def _limit(part: Expr) -> tuple[str, Range] | None:
    match part:
        case Call(op, (Col(id), Lit(value))):
            return _compare_limit(op, id, number(value))
        case In(Col(id), options):
            return (id, _span([option.value for option in options]))
        case _:
            return None


def _compare_limit(op: str, id: str, point: Fraction | None) -> tuple[str, Range] | None:
    if point is None:
        return None
    match op:
        case "=":
            return (id, (point, point))
        case "<" | "<=":
            return (id, (None, point))
        case ">" | ">=":
            return (id, (point, None))
        case _:
            return None


def _agg_fact(facts: Facts, node: Aggregate, agg: Agg) -> Fact:
    below = facts.columns(node.child)
    nulls = any(below[key].nullable for key in node.keys)
    rows = facts.freq(node.child, frozenset(node.keys), nulls=nulls)
    most_rows = Fraction(rows) if finite(rows) else None
    if agg.arg is None:
        return Fact(agg.type, False, (Fraction(1 if node.keys else 0), most_rows))
    arg = below[agg.arg]
    if agg.function in ("sum", "sum_distinct", "avg") and _may_be_left_out(node, agg):
        arg = replace(arg, nullable=True, range=ANY)
    match agg.function:
        case "count" | "count_distinct" | "count_star":
            return Fact(agg.type, False, (Fraction(0), most_rows))
        case "sum" | "sum_distinct":
            return Fact(agg.type, arg.nullable or not node.keys, _sum_range(arg.range, most_rows))
        case "avg" | "min" | "max" | "quantile_cont" | "quantile_disc" | "bool_and" | "bool_or":
            return Fact(agg.type, arg.nullable or not node.keys, arg.range)
        case "var_samp" | "var_pop" | "stddev_samp" | "stddev_pop":
            return Fact(agg.type, True)
        case _:
            assert_never(agg.function)


def _may_be_left_out(node: Aggregate, agg: Agg) -> bool:
    """Values that could make a sum run out of digits are NULL to it."""
    own = width(argument(node, agg))
    return own is not None and own.digits > SUMMABLE


def _sum_range(span: Range, rows: Fraction | None) -> Range:
    if rows is None or span[0] is None or span[1] is None:
        return ANY
    return (min(span[0], span[0] * rows), max(span[1], span[1] * rows))


# ---------------------------------------------------------------- anchors


def _anchor(facts: Facts, node: Node) -> Anchor | None:
    match node:
        case Scan(table, alias):
            return Anchor(table, alias, total=True)
        case Select(child):
            below = facts.anchor(child)
            return None if below is None else replace(below, total=False)
        case Project(child):
            return facts.anchor(child)
        case Join():
            return _join_anchor(facts, node)
        case Semi(left, right, pairs, residual):
            below = facts.anchor(left)
            if below is None or residual is not None or not facts.key_join(left, right, pairs):
                return None
            return replace(below, total=False)
        case Aggregate() | Distinct() | UnionAll() | Values() | Series() | Fetched():
            return None
        case Sort() | Limit():
            return None
        case _:
            assert_never(node)


def _join_anchor(facts: Facts, node: Join) -> Anchor | None:
    if node.residual is not None or node.kind == "full":
        return None
    for child, parent, pairs, outer in orientations(node):
        below, above = facts.anchor(child), facts.anchor(parent)
        if below and above and facts.key_join(child, parent, pairs):
            columns = facts.columns(child)
            firm = above.total and not any(columns[a].nullable for a, _ in pairs)
            return replace(below, total=below.total and (outer or firm))
    return None


def orientations(
    node: Join,
) -> list[tuple[Node, Node, tuple[tuple[str, str], ...], bool]]:
    """Ways to read a join as child and parent; the flag tells that every child row is kept."""
    turned = tuple((b, a) for a, b in node.pairs)
    match node.kind:
        case "inner":
            return [
                (node.left, node.right, node.pairs, False),
                (node.right, node.left, turned, False),
            ]
        case "left":
            return [(node.left, node.right, node.pairs, True)]
        case "full":
            return []


def uses(expr: Expr, wanted: type) -> bool:
    return any(isinstance(part, wanted) for part in walk(expr))


def touches(expr: Expr | None, columns: frozenset[str]) -> frozenset[str]:
    return frozenset() if expr is None else reads(expr) & columns
