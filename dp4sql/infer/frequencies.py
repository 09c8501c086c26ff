"""How many rows of a view share one value of some columns (paper Figure 12, corrected by D4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

from dp4sql.algebra.bounds import INF, Bound, least, most, plus, times
from dp4sql.algebra.digits import together
from dp4sql.algebra.expr import Call, Col, Expr, Lit, conjuncts
from dp4sql.algebra.nodes import (
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
    columns,
    ids,
    most_alike,
)
from dp4sql.algebra.types import INTEGERS, Type

if TYPE_CHECKING:
    from dp4sql.infer.facts import Facts

EXACT: Final = INTEGERS | {"numeric"}


def frequency(facts: Facts, node: Node, on: frozenset[str], nulls: bool) -> Bound:
    match node:
        case Scan():
            return _scan_freq(node, on, nulls)
        case Select(child, predicate):
            return facts.freq(child, on | _constants(predicate, ids(child)), nulls)
        case Project(child, outputs):
            passed = frozenset(e.id for id, e in outputs if id in on and isinstance(e, Col))
            return facts.freq(child, passed, nulls)
        case Join():
            return _join_freq(facts, node, on, nulls)
        case Semi(left) | Sort(left) | Limit(left):
            return facts.freq(left, on, nulls)
        case Aggregate(child, keys):
            if not keys or frozenset(keys) <= on:
                return 1
            return facts.freq(child, on & frozenset(keys), nulls)
        case Distinct(child):
            return 1 if ids(child) <= on else facts.freq(child, on, nulls)
        case UnionAll(left, right, outputs, left_ids, right_ids):
            types = dict((*columns(left), *columns(right)))
            # Numbers of different sizes meet in one type, where an engine may round them.
            alike = [types[a] == types[b] for a, b in zip(left_ids, right_ids, strict=True)]
            chosen = [i for i, (id, _) in enumerate(outputs) if id in on and alike[i]]
            return plus(
                facts.freq(left, frozenset(left_ids[i] for i in chosen), nulls),
                facts.freq(right, frozenset(right_ids[i] for i in chosen), nulls),
            )
        case Values():
            return most_alike(node, on)
        case Series(id, _, first, last):
            return 1 if id in on else last - first + 1
        case Fetched():
            return INF
        case _:
            assert_never(node)


def _scan_freq(node: Scan, on: frozenset[str], nulls: bool) -> Bound:
    table = node.table
    names = frozenset(id.removeprefix(f"{node.alias}.") for id in on)
    names = frozenset(n for n in names if _told_apart(table.columns[n].type))
    if nulls:
        names = frozenset(n for n in names if not table.columns[n].nullable)
    if table.key and frozenset(table.key) <= names:
        return 1
    bounds: list[Bound] = [f.rows for f in table.frequencies if f.columns <= names]
    return least(*bounds, table.rows if table.rows is not None else INF)


def _told_apart(type: Type) -> bool:
    """Whether engines tell all values of a column apart: numbers of undeclared size may be read in double
    precision, where several are one."""
    return type.kind != "numeric" or type.precision is not None


def _constants(predicate: Expr, own: frozenset[str]) -> frozenset[str]:
    """Columns that `predicate` pins to one value."""
    pinned = set()
    for part in conjuncts(predicate):
        match part:
            case Call("=", (Col(id) as column, Lit(value) as constant)):
                if value is not None and id in own and _one_to_one(column, constant):
                    pinned.add(id)
    return frozenset(pinned)


def _one_to_one(column: Col, constant: Lit) -> bool:
    """Whether one value at most equals the constant: in double precision several exact numbers may."""
    if column.type.kind not in EXACT:
        return True
    return constant.type.kind in EXACT and together((column, constant)) is not None


def _join_freq(facts: Facts, node: Join, on: frozenset[str], nulls: bool) -> Bound:
    left, right = node.left, node.right
    mine, theirs = ids(left), ids(right)
    k1 = frozenset(a for a, _ in node.pairs)
    k2 = frozenset(b for _, b in node.pairs)
    x1, x2 = on & mine, on & theirs
    match node.kind:
        case "inner":
            return _matched_freq(facts, node, x1, x2, nulls)
        case "left":
            if x2 and not nulls:
                return _matched_freq(facts, node, x1, x2, nulls)
            return times(facts.freq(left, x1, nulls), most(1, facts.freq(right, k2)))
        case "full":
            if x1 and x2 and not nulls:
                return _matched_freq(facts, node, x1, x2, nulls)
            a = times(facts.freq(left, x1, nulls), most(1, facts.freq(right, k2)))
            b = times(facts.freq(right, x2, nulls), most(1, facts.freq(left, k1)))
            if not nulls and (x1 or x2):
                return a if x1 else b
            return plus(a, b)
        case _:
            assert_never(node.kind)


def _matched_freq(
    facts: Facts, node: Join, x1: frozenset[str], x2: frozenset[str], nulls: bool
) -> Bound:
    """Frequencies in the matched rows, with `on` closed under the join's equalities."""
    k1 = frozenset(a for a, _ in node.pairs)
    k2 = frozenset(b for _, b in node.pairs)
    x1 = x1 | {a for a, b in node.pairs if b in x2}
    x2 = x2 | {b for a, b in node.pairs if a in x1}
    firm1, firm2 = (
        _firm(facts, side, x) if nulls else x for side, x in ((node.left, x1), (node.right, x2))
    )
    return least(
        times(facts.freq(node.left, x1, nulls), facts.freq(node.right, firm2 | k2)),
        times(facts.freq(node.right, x2, nulls), facts.freq(node.left, firm1 | k1)),
    )


def _firm(facts: Facts, node: Node, on: frozenset[str]) -> frozenset[str]:
    """Columns that are never NULL: beside join keys, which never are, only these identify rows."""
    found = facts.columns(node)
    return frozenset(id for id in on if not found[id].nullable)
