"""Arrays, which stand in ANY and ALL: x = ANY ($1), x <> ALL (ARRAY[1, 2]), x LIKE ANY ('{a%,b%}')."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from dp4sql.algebra.expr import Call, Expr, In, Lit, Scalar, children, walk
from dp4sql.algebra.nodes import (
    Aggregate,
    Distinct,
    Join,
    Node,
    Semi,
    Sort,
    UnionAll,
    columns,
    expressions,
    inputs,
    walk_nodes,
)
from dp4sql.algebra.types import BOOLEAN, TEXT, UNKNOWN, Type
from dp4sql.errors import DatatypeMismatch, InvalidText, Unsupported
from dp4sql.sql.literals import array_items
from dp4sql.sql.lower.expressions.operators import COMPARISONS, negated
from dp4sql.sql.lower.expressions.types import sql_type
from dp4sql.sql.parse import position

if TYPE_CHECKING:
    from dp4sql.sql.lower.expressions import Expressions


def is_array(e: exp.Expr) -> bool:
    """ARRAY[...], '{...}'::type[] and $1::type[]."""
    return isinstance(e, exp.Array) or (
        isinstance(e, exp.Cast) and e.to.this == exp.DataType.Type.ARRAY
    )


def element_type(data: exp.DataType) -> Type:
    (inner,) = data.expressions
    return sql_type(inner)


def array_in(e: exp.Expr) -> tuple[exp.Expr, bool] | None:
    """The array of `x op ANY (array)`, and whether it says ALL; None for everything else."""
    right = e.args.get("expression")
    every = False
    if isinstance(right, exp.Anonymous) and str(right.name).lower() in ("all", "some"):
        if len(right.expressions) != 1:
            return None
        inner, every = right.expressions[0], str(right.name).lower() == "all"
    elif isinstance(right, exp.Any | exp.All):
        inner, every = right.this, isinstance(right, exp.All)
    else:
        return None
    while isinstance(inner, exp.Paren):
        inner = inner.this
    return None if isinstance(inner, exp.Query | exp.Subquery | exp.Values) else (inner, every)


class Arrays:
    """Lowers one comparison with the elements of an array; `ex` lowers its parts."""

    def __init__(self, ex: Expressions) -> None:
        self.ex = ex

    def lower(self, e: exp.Expr, array: exp.Expr, *, every: bool) -> Expr:
        subject = self.ex.lower(e.this)
        elements = self.elements(array, subject.type)
        if elements is None:
            return Lit(None, BOOLEAN)
        (subject, *elements), _ = self.ex.together([subject, *elements], e, "ANY")
        constants = tuple(x for x in elements if isinstance(x, Lit))
        if not elements:
            return Lit(every, BOOLEAN)
        if isinstance(e, exp.NEQ if every else exp.EQ) and len(constants) == len(elements):
            found = In(subject, constants)
            return Call("not", (found,), BOOLEAN) if every else found
        tests = tuple(self._test(e, subject, element) for element in elements)
        return tests[0] if len(tests) == 1 else Call("and" if every else "or", tests, BOOLEAN)

    def _test(self, e: exp.Expr, subject: Expr, element: Expr) -> Expr:
        if isinstance(e, exp.Like | exp.ILike):
            return negated(e, self.ex.like(e, subject, element))
        return self.ex.compare(COMPARISONS[type(e)], subject, element, e)

    def elements(self, array: exp.Expr, like: Type) -> list[Expr] | None:
        """None for an array that is NULL."""
        match array:
            case exp.Array():
                return [self.ex.lower(item) for item in array.expressions]
            case exp.Cast() if is_array(array):
                type = element_type(array.to)
                found = self.elements(array.this, type)
                return None if found is None else [self.ex.cast(x, type, array) for x in found]
            case exp.Literal() if array.is_string:
                return self._texts(str(array.this), like, array)
            case exp.Null():
                return None
            case exp.Parameter():
                return self._parameter(array, like)
            case _:
                raise Unsupported(
                    "ANY and ALL take a parameter, ARRAY[...] or a text such as '{a,b}'",
                    hint="Where the values stand in a table, write IN (SELECT ...).",
                    position=position(array),
                )

    def _parameter(self, e: exp.Parameter, like: Type) -> list[Expr] | None:
        found = self.ex.hook(exp.Any(this=e))
        if not isinstance(found, Lit):
            raise Unsupported("an array that an earlier stage gives", position=position(e))
        if isinstance(found.value, str):
            return self._texts(found.value, like, e)
        if found.value is None or not isinstance(found.value, tuple):
            wanted = TEXT if like.kind == "unknown" else like
            self.ex.infer(found, Type(wanted.kind, array=True))
            return None
        type = replace(found.type, array=False)
        return [Lit(value, type if value is not None else UNKNOWN) for value in found.value]

    def _texts(self, text: str, like: Type, at: exp.Expr) -> list[Expr]:
        try:
            items = array_items(text)
        except ValueError:
            raise InvalidText(
                f'malformed array literal: "{text}"',
                hint="Arrays are written '{1,2,3}' or ARRAY[1, 2, 3].",
                position=position(at),
            ) from None
        return [self.ex.coerce(Lit(item, UNKNOWN), like) for item in items]


def refuse(type: Type, at: exp.Expr) -> DatatypeMismatch:
    """An array where a single value is meant."""
    return DatatypeMismatch(
        f"a parameter of type {type} stands beside ANY or ALL only",
        hint="Write x = ANY ($1), or IN ($1, $2, ...) with a parameter for each value.",
        position=position(at),
    )


def check_whole(node: Node) -> None:
    """Unsupported where an array that is released is part of something else than a row of the answer."""
    for part in walk_nodes(node):
        types = {id: type for n in (part, *inputs(part)) for id, type in columns(n)}
        keys = _compared(part)
        if any(types[id].array for id in keys if id in types) or any(map(_uses, expressions(part))):
            raise Unsupported(
                "an array of percentiles is shown as it is, and nothing is computed from it",
                hint="Ask for a column each, such as PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY x).",
            )


def _uses(expr: Expr) -> bool:
    return any(child.type.array for part in walk(expr) for child in _parts(part))


def _parts(expr: Expr) -> tuple[Expr, ...]:
    return (expr,) if isinstance(expr, Scalar) else children(expr)


def _compared(node: Node) -> tuple[str, ...]:
    match node:
        case Aggregate(keys=keys, aggs=aggs):
            return (*keys, *(agg.arg for agg in aggs if agg.arg is not None))
        case Sort(_, order):
            return tuple(id for id, *_ in order)
        case Distinct() | UnionAll():
            return tuple(id for id, _ in columns(node))
        case Join(pairs=pairs) | Semi(pairs=pairs):
            return tuple(id for pair in pairs for id in pair)
        case _:
            return ()
