"""How large expressions get. A function that needs its argument more than once holds it as often, and so does a
column that a subquery computes of another: nested, a few hundred characters could keep a machine busy for hours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dp4sql.algebra.expr import Col, Expr, children
from dp4sql.algebra.nodes import Node, Project, UnionAll, columns, expressions, inputs
from dp4sql.errors import TooComplex

MOST: Final = 100_000
"""Parts of an expression, each as often as it stands there."""


class Sizes:
    """The number of parts of expressions, where a column has as many as `below` says. Each is counted once,
    however often it stands in others."""

    def __init__(self, below: Mapping[str, int] | None = None) -> None:
        self._below = below or {}
        self._known: dict[int, tuple[Expr, int]] = {}

    def check(self, expr: Expr) -> int:
        """TooComplex where there are more than `MOST`."""
        if isinstance(expr, Col):
            return self._below.get(expr.id, 1)
        parts = children(expr)
        if not parts:
            return 1
        known = self._known.get(id(expr))
        if known is not None:
            return known[1]
        size = 1 + sum(map(self.check, parts))
        if size > MOST:
            raise TooComplex(
                "an expression is too large once its functions are written out",
                hint="Nest fewer functions and subqueries in one another.",
            )
        self._known[id(expr)] = expr, size
        return size


def check_sizes(node: Node) -> None:
    """TooComplex where a column of `node`, in terms of the tables below, is too large."""
    _sizes(node)


def _sizes(node: Node) -> dict[str, int]:
    below: dict[str, int] = {}
    for child in inputs(node):
        below |= _sizes(child)
    found = [Sizes(below).check(expr) for expr in expressions(node)]
    match node:
        case Project(_, outputs):
            return dict(zip((id for id, _ in outputs), found, strict=True))
        case UnionAll():
            return {}
        case _:
            return {id: below.get(id, 1) for id, _ in columns(node)}
