"""Sums of products, multiplied once a group instead of once a row.

SUM(price * (1 - discount)) is the sum, over the discounts that occur, of SUM(price) * (1 - discount). Where a
column that has few values in its range is a factor of what is added up, rows are grouped by it first, and held
in its range and multiplied are the groups. Out of range there may be more values: that takes longer, and adds
up to the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from dp4sql.algebra.digits import width
from dp4sql.algebra.expr import Call, Col, Expr, Lit, reads, walk

#: Groups that one group may fall into, where all values are in their ranges.
MOST: Final = 1000


@dataclass(frozen=True, slots=True)
class Product:
    """`rows` times `factor`, None being 1: a part that differs from row to row, and one that few values give."""

    rows: Expr | None
    factor: Expr | None


def few_valued(summands: Iterable[Expr]) -> list[str]:
    """Columns held in their ranges that together have at most MOST values there, those with the fewest first."""
    sizes = {
        part.args[0].id: _values(part)
        for part in (p for expr in summands for p in walk(expr))
        if isinstance(part, Call) and part.op == "held in" and isinstance(part.args[0], Col)
    }
    found, all_of_them = [], 1
    for column, size in sorted(sizes.items(), key=lambda item: item[1]):
        all_of_them *= size
        if all_of_them <= MOST:
            found.append(column)
    return found


def _values(part: Call) -> int:
    column, low, high, _ = part.args
    own = width(column)
    assert own is not None
    return int((_number(high) - _number(low)) * 10**own.scale) + 1


def _number(end: Expr) -> Fraction:
    assert isinstance(end, Lit)
    return Fraction(end.value)  # type: ignore[arg-type]


def product(expr: Expr, few: Collection[str]) -> Product | None:
    """`expr` as a product of which the columns `few` are one factor; None where it is none."""
    if not reads(expr) & set(few):
        return Product(expr, None)
    if _is_factor(expr, few):
        return Product(None, expr)
    match expr:
        case Call("*", (a, b)):
            left, right = product(a, few), product(b, few)
            if left is None or right is None:
                return None
            rows = _times(left.rows, right.rows, expr)
            return Product(rows, _times(left.factor, right.factor, expr))
        case _:
            return None


def _is_factor(expr: Expr, few: Collection[str]) -> bool:
    """Whether it has one value for equal values of `few`, however these are written (0.1 and 0.10)."""
    match expr:
        case Lit():
            return True
        case Call("held in", (Col(id), *_)):
            return id in few
        case Call("+" | "-" | "*", args):
            return all(_is_factor(arg, few) for arg in args)
        case _:
            return False


def _times(a: Expr | None, b: Expr | None, like: Call) -> Expr | None:
    if a is None or b is None:
        return b if a is None else a
    return Call("*", (a, b), like.type)
