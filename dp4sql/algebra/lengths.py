"""How long the texts of a query may get. REPLACE and || can multiply a short text until no memory holds it, and then an
engine fails on the rows that come so far: the error would tell that there is one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dp4sql.algebra.expr import Call, Case, Cast, Col, Constant, Expr, Lit, Over, children, walk
from dp4sql.algebra.nodes import (
    Aggregate,
    Node,
    Project,
    UnionAll,
    Values,
    columns,
    expressions,
    inputs,
    walk_nodes,
)
from dp4sql.algebra.types import TEXTS, Type
from dp4sql.errors import TooComplex

LONGEST: Final = 100_000
"""Characters of a text that a query makes: engines hold some thousand rows at once."""
STORED: Final = 1_000
"""Characters that a text of a table is taken to have."""
RELEASED: Final = 10_000
"""Characters of a text that a subquery has released, at most."""
SHORT: Final = 40
"""Characters of what is no text."""
GROWS: Final = frozenset({"replace", "||", "concat", "concat_ws"})

Lengths = Mapping[str, int]


def check_lengths(node: Node) -> None:
    """TooComplex where a text of `node` could be longer than `LONGEST`."""
    exprs = (expr for part in walk_nodes(node) for expr in expressions(part))
    if any(isinstance(part, Call) and part.op in GROWS for e in exprs for part in walk(e)):
        _lengths(node)


def _lengths(node: Node) -> dict[str, int]:
    """For each column of `node` the characters that it may have."""
    below: dict[str, int] = {}
    for child in inputs(node):
        below |= _lengths(child)
    found = [_longest(expr, below) for expr in expressions(node)]
    match node:
        case Project(_, outputs):
            return dict(zip((id for id, _ in outputs), found, strict=True))
        case UnionAll(_, _, outputs, left, right):
            sides = zip(outputs, left, right, strict=True)
            return {id: max(below[a], below[b]) for (id, _), a, b in sides}
        case Aggregate(aggs=aggs):
            texts = {a.id: below[a.arg] for a in aggs if a.arg is not None and a.type.kind in TEXTS}
            return {id: (below | texts).get(id, SHORT) for id, _ in columns(node)}
        case Values(own, rows):
            longest = max((len(v) for row in rows for v in row if isinstance(v, str)), default=0)
            return {id: max(longest, _of(type)) for id, type in own}
        case _:
            return {id: below.get(id, _of(type)) for id, type in columns(node)}


def _of(type: Type) -> int:
    return STORED if type.kind in TEXTS else SHORT


def _longest(expr: Expr, below: Lengths) -> int:
    parts = [_longest(part, below) for part in children(expr)]
    length = _length(expr, parts, below)
    if isinstance(expr, Call) and expr.op in GROWS and length > LONGEST:
        raise TooComplex(
            "REPLACE and || could make a text too long for the engine",
            hint=f"What a query makes may have {LONGEST} characters; texts of tables count as {STORED}.",
        )
    return length


def _length(expr: Expr, parts: list[int], below: Lengths) -> int:
    match expr:
        case Col(id):
            return below.get(id, STORED)
        case Lit(value):
            return len(value) if isinstance(value, str) else SHORT
        case Constant(type=type):
            return RELEASED if type.kind in TEXTS else SHORT
        case Call("replace", (_, Lit(str() as old), Lit(str() as new))):
            return parts[0] if len(new) <= len(old) or not old else parts[0] * len(new) // len(old)
        case Call("replace"):
            return parts[0] * max(1, parts[2])
        case Call("||" | "concat"):
            return sum(parts)
        case Call("concat_ws", args):
            return sum(parts[1:]) + parts[0] * len(args)
        case Call("lpad" | "rpad", (_, Lit(int() as size), _)):
            return size
        case Call() | Case() | Cast() | Over():
            return max(parts, default=SHORT)
        case _:
            return SHORT
