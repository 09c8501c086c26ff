"""Scalar expressions over the columns of one relational node. Typed, total, without SQL text.

A column is named by an id that is unique within a query (`e2.uid`), so a rule never has to ask which
relation a name belongs to. `Call.op` is a key of `dp4sql.algebra.functions.FUNCTIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from dp4sql.algebra.types import BOOLEAN, Type, Value

if TYPE_CHECKING:
    from dp4sql.algebra.nodes import Node


@dataclass(frozen=True, slots=True)
class Col:
    id: str
    type: Type


@dataclass(frozen=True, slots=True)
class Lit:
    value: Value
    type: Type


@dataclass(frozen=True, slots=True)
class Call:
    op: str
    args: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Case:
    """CASE WHEN condition THEN value ... ELSE default END."""

    whens: tuple[tuple[Expr, Expr], ...]
    default: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion that yields NULL where Postgres would raise an error."""

    arg: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class In:
    arg: Expr
    options: tuple[Lit, ...]
    type: Type = BOOLEAN


@dataclass(frozen=True, slots=True)
class Scalar:
    """An uncorrelated scalar subquery; planned on its own and then used as a public constant."""

    query: Node
    column: str
    type: Type


@dataclass(frozen=True, slots=True)
class Constant:
    """A value known only when an earlier stage has been released."""

    stage: int
    type: Type


@dataclass(frozen=True, slots=True)
class Over:
    """A window function; exists above the release alone. `order` pairs an expression with DESC."""

    op: str
    args: tuple[Expr, ...]
    partition: tuple[Expr, ...]
    order: tuple[tuple[Expr, bool], ...]
    frame: str | None
    type: Type
    at: int | None = field(default=None, compare=False)


Expr: TypeAlias = Col | Lit | Call | Case | Cast | In | Scalar | Constant | Over

TRUE = Lit(True, BOOLEAN)


def children(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Col() | Lit():
            return ()
        case Call(args=args):
            return args
        case Case(whens, default):
            return (*(part for when in whens for part in when), default)
        case Cast(arg) | In(arg):
            return (arg,)
        case Over(args=args, partition=partition, order=order):
            return (*args, *partition, *(key for key, _ in order))
        case _:
            return ()


def walk(expr: Expr) -> Iterator[Expr]:
    left = [expr]
    while left:
        part = left.pop()
        yield part
        left += reversed(children(part))


def reads(expr: Expr) -> frozenset[str]:
    """Ids of the columns that `expr` depends on."""
    found: set[str] = set()
    left = [expr]
    while left:
        part = left.pop()
        if isinstance(part, Col):
            found.add(part.id)
        else:
            left += children(part)
    return frozenset(found)


def rewrite(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """Bottom-free rewriting: where `change` gives an expression, that replaces the whole subtree."""
    changed = change(expr)
    if changed is not None:
        return changed

    def again(part: Expr) -> Expr:
        return rewrite(part, change)

    match expr:
        case Call(args=args):
            return replace(expr, args=tuple(map(again, args)))
        case Case(whens, default):
            pairs = tuple((again(when), again(then)) for when, then in whens)
            return replace(expr, whens=pairs, default=again(default))
        case Cast(arg) | In(arg):
            return replace(expr, arg=again(arg))
        case Over(args=args, partition=partition, order=order):
            return replace(
                expr,
                args=tuple(map(again, args)),
                partition=tuple(map(again, partition)),
                order=tuple((again(key), desc) for key, desc in order),
            )
        case _:
            return expr


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    if isinstance(expr, Call) and expr.op == "and":
        return tuple(part for arg in expr.args for part in conjuncts(arg))
    return () if expr == TRUE else (expr,)


def conjunction(parts: tuple[Expr, ...]) -> Expr:
    match parts:
        case ():
            return TRUE
        case (single,):
            return single
        case _:
            return Call("and", parts, BOOLEAN)


@dataclass(frozen=True, slots=True)
class Interval_:
    """A Postgres interval as months, days and microseconds, which do not convert into one another."""

    months: int = 0
    days: int = 0
    micros: int = field(default=0)
