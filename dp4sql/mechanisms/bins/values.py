"""Rows of values that are known without data: lists, series, and a NULL beside them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from dp4sql.algebra.expr import Call, Case, Col, Expr, In, Lit
from dp4sql.algebra.nodes import Node, Series, UnionAll, Values, columns
from dp4sql.algebra.schema import Column
from dp4sql.algebra.types import BOOLEAN, INTEGERS, Type, Value

MAX_SERIES = 1_000_000
DIGITS = 15
"""Numbers of so many digits differ in double precision, too."""


def rows_of(id: str, type: Type, values: tuple[Value, ...], nullable: bool = False) -> Node:
    return Values(((id, type),), tuple((v,) for v in (*values, *((None,) if nullable else ()))))


def series_of(
    id: str, type: Type, span: tuple[Fraction | None, Fraction | None], nullable: bool
) -> Node | None:
    """All values of a type without fractions in a range that is not too wide."""
    low, high = span
    if low is None or high is None or high - low >= MAX_SERIES:
        return None
    if type.kind not in INTEGERS | {"date"} and not (type.kind == "numeric" and type.scale == 0):
        return None
    first, last = -(-low.numerator // low.denominator), high.numerator // high.denominator
    found = Series(id, type, first, last)
    return or_null(found) if nullable else found


def or_null(tree: Node) -> Node:
    """The same, and a row of NULLs."""
    own = columns(tree)
    nothing = Values(tuple((f"null:{id}", type) for id, type in own), ((None,) * len(own),))
    names = tuple(id for id, _ in own)
    return UnionAll(tree, nothing, own, names, tuple(f"null:{id}" for id in names))


def size(tree: Node) -> int:
    """Rows of a list or a series; 1 for what only the data can tell."""
    match tree:
        case Values(_, rows):
            return len(rows)
        case Series(first=first, last=last):
            return last - first + 1
        case UnionAll(left, right):
            return size(left) + size(right)
        case _:
            return 1


def is_short(tree: Node) -> bool:
    """Whether all numbers of a list or a series have `DIGITS` digits at most."""
    match tree:
        case Values(_, rows):
            return all(_digits(value) <= DIGITS for row in rows for value in row)
        case Series(first=first, last=last):
            return all(len(str(abs(end))) <= DIGITS for end in (first, last))
        case UnionAll(left, right):
            return is_short(left) and is_short(right)
        case _:
            return True


def _digits(value: Value) -> int:
    known = isinstance(value, int | Decimal) and Decimal(value).is_finite()
    return len(Decimal(value).normalize().as_tuple().digits) if known else 0  # type: ignore[arg-type]


Span: TypeAlias = tuple[Fraction | None, Fraction | None]


def undone(expr: Expr, span: Span) -> Iterator[tuple[Expr, Span]]:
    """`expr`, and what is left of it without the constants that are added and multiplied last, each with its range."""
    yield expr, span
    found = _undone(expr, span)
    if found is not None:
        yield from undone(*found)


def _undone(expr: Expr, span: Span) -> tuple[Expr, Span] | None:
    match expr:
        case Call("*" | "+" | "-" as op, (inner, Lit(int() | Decimal() as by))):
            pass
        case Call("*" | "+" as op, (Lit(int() | Decimal() as by), inner)):
            pass
        case _:
            return None
    step = Fraction(by)
    low, high = span
    if op == "*":
        ends = [None if end is None or not step else end / step for end in span]
        low, high = (ends[1], ends[0]) if step < 0 else (ends[0], ends[1])
        return (inner, (low, high)) if step else None
    step = step if op == "+" else -step
    return inner, (None if low is None else low - step, None if high is None else high - step)


def or_other(col: Col, column: Column) -> Expr:
    domain = tuple(Lit(value, column.type) for value in column.domain or ())
    missing = Call("is null", (col,), BOOLEAN)
    whens = ((missing, Lit(None, column.type)), (In(col, domain), col))
    return Case(whens, Lit(column.other, column.type), column.type)


def constants_of(expr: Expr) -> list[Value] | None:
    """All values of an expression that only ever yields constants."""
    match expr:
        case Lit(value):
            return [value]
        case Case(whens, default):
            parts = [constants_of(part) for part in (*(then for _, then in whens), default)]
            return None if any(part is None for part in parts) else list(_flat(parts))
        case Call("coalesce", args):
            parts = [constants_of(part) for part in args]
            return None if any(part is None for part in parts) else list(_flat(parts))
        case _:
            return None


def _flat(parts: list[list[Value] | None]) -> Iterator[Value]:
    for part in parts:
        yield from part or ()
