"""What is added up, held in its range: this makes a bound true whatever the data.

Where the argument is exact arithmetic over columns that have ranges, each column is held in its own, and the
argument is in its range by its form alone (`held`). It then needs so few digits that it is computed as
quickly as the engine would by itself, and an engine that knows the extremes of its columns can tell that
nothing is to be clamped. Else the argument itself is clamped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from dp4sql.algebra.digits import Width, width
from dp4sql.algebra.expr import Call, Case, Col, Expr, Lit, reads
from dp4sql.algebra.nodes import Aggregate, Node, Project, columns
from dp4sql.algebra.types import INTEGERS, Type
from dp4sql.infer.facts import Facts
from dp4sql.infer.moments import Range
from dp4sql.infer.ranges import Fact, range_of
from dp4sql.mechanisms.measure import Quantity, constant
from dp4sql.mechanisms.origin import traced

UNKNOWN = Fact(Type("unknown"), True)
EXACT = INTEGERS | {"numeric"}


def summand(q: Quantity, type: Type, node: Aggregate, facts: Facts) -> Expr:
    """The argument in its range, minus the centre: over columns of `node.child`, or of what it projects."""
    found = held(q, node, facts)
    value = _clamped(q, type, node, facts) if found is None else found.expr
    return Call("-", (value, constant(q.center, type)), type) if q.center else value


def firm(expr: Expr) -> bool:
    """Whether a summand is never NULL by its form alone."""
    match expr:
        case Lit(value):
            return value is not None
        case Call("held in", args):
            return firm(args[-1])
        case Call("+" | "-" | "*", args):
            return all(map(firm, args))
        case Case(whens, default):
            return firm(default) and all(firm(then) for _, then in whens)
        case _:
            return False


# ---------------------------------------------------------------- by columns


@dataclass(frozen=True, slots=True)
class Held:
    """The argument with its columns held in their ranges: its digits, and the range that it has by its form
    alone. `firm`: it is never NULL."""

    expr: Expr
    width: Width
    low: Fraction
    high: Fraction
    firm: bool


def held(q: Quantity, node: Aggregate, facts: Facts) -> Held | None:
    """The argument with its columns held in their ranges, where that is enough."""
    assert q.arg is not None
    found = _held(q.arg, node, facts)
    if found is None or (never_null(q, node, facts) and not found.firm):
        return None
    least, most = _ends(q)
    return found if least <= found.low and found.high <= most else None


@lru_cache(maxsize=128)
def _held(arg: str, node: Aggregate, facts: Facts) -> Held | None:
    expr = _holding(Col(arg, dict(columns(node.child))[arg]), node.child, facts)
    digits = None if expr is None else width(expr)
    if expr is None or digits is None:
        return None
    low, high = _range_by_form(expr)
    if low is None or high is None:
        return None
    return Held(expr, digits, low, high, firm(expr))


def _argument(q: Quantity, node: Aggregate) -> Expr:
    assert q.arg is not None
    outputs = dict(node.child.outputs) if isinstance(node.child, Project) else {}
    return outputs.get(q.arg) or Col(q.arg, dict(columns(node.child))[q.arg])


def _holding(expr: Expr, node: Node, facts: Facts) -> Expr | None:
    """`expr` over `node` with each column that it adds or multiplies held in its range; conditions stay as
    they are."""
    match expr:
        case Lit():
            return expr
        case Col(id):
            origin, below = traced(expr, node)
            if isinstance(origin, Col):
                return _column(origin, facts.columns(node)[id])
            return _holding(origin, below, facts)
        case Call("+" | "-" | "*", (a, b)) if expr.type.kind in EXACT:
            left, right = _holding(a, node, facts), _holding(b, node, facts)
            return None if left is None or right is None else replace(expr, args=(left, right))
        case Case(whens, default):
            parts = (*(then for _, then in whens), default)
            *thens, last = (_holding(part, node, facts) for part in parts)
            pairs = [
                (when, then)
                for (when, _), then in zip(whens, thens, strict=True)
                if then is not None
            ]
            if last is None or len(pairs) < len(whens):
                return None
            return replace(expr, whens=tuple(pairs), default=last)
        case _:
            return None


def _column(column: Col, fact: Fact) -> Expr | None:
    """The ends are on the column's own grid, so that no value that is in its range moves."""
    low, high = fact.range
    own = width(column)
    if column.type.kind not in EXACT or own is None or low is None or high is None:
        return None
    step = Fraction(1, 10**own.scale)
    low, high = math.ceil(low / step) * step, math.floor(high / step) * step
    return _held_in(column, low, high, not fact.nullable) if low <= high else None


def _held_in(expr: Expr, low: Fraction, high: Fraction, total: bool) -> Expr:
    """`total`: a NULL counts as the value nearest 0, for none should be there."""
    ends = constant(low, expr.type), constant(high, expr.type)
    nearest = constant(max(low, min(high, Fraction(0))), expr.type)
    absent = nearest if total else Lit(None, expr.type)
    return Call("held in", (expr, *ends, absent), expr.type)


# ---------------------------------------------------------------- as a whole


def _clamped(q: Quantity, type: Type, node: Aggregate, facts: Facts) -> Expr:
    """NaN falls to the upper end; a NULL adds the least where every row is known to add something."""
    assert q.arg is not None
    column, total = Col(q.arg, _sized(q, type, node)), never_null(q, node, facts)
    if not total and column.type.kind in INTEGERS and _inside(q, _argument(q, node)):
        return column
    return _held_in(column, *_ends(q), total)


def _sized(q: Quantity, type: Type, node: Aggregate) -> Type:
    """The argument's type with as many digits as its form needs; integers fit once they are clamped."""
    if type.kind in INTEGERS:
        return Type(type.kind)
    own = width(_argument(q, node)) if type.kind == "numeric" else None
    return type if own is None else replace(type, precision=own.digits, scale=own.scale)


def never_null(q: Quantity, node: Aggregate, facts: Facts) -> bool:
    """Whether the bound rests on every row adding something, so that a NULL there adds the least of it."""
    assert q.arg is not None
    return not q.low <= 0 <= q.high and not facts.columns(node.child)[q.arg].nullable


def _inside(q: Quantity, expr: Expr) -> bool:
    """Whether `expr` keeps to the range by its form alone."""
    low, high = _range_by_form(expr)
    if low is None or high is None:
        return False
    least, most = _ends(q)
    return least <= low and high <= most


def _range_by_form(expr: Expr) -> Range:
    return range_of(expr, dict.fromkeys(reads(expr), UNKNOWN))


def _ends(q: Quantity) -> tuple[Fraction, Fraction]:
    return q.low * q.unit + q.center, q.high * q.unit + q.center
