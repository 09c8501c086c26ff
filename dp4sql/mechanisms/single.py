"""Joined aggregates of one row, as in `t CROSS JOIN (SELECT AVG(x) AS m FROM t) s`: scalar subqueries in FROM.

Where such a row is private and is joined below an aggregate, each private row may move all that are compared with it.
So it is released first, and its columns are constants for the rest, as those of a scalar subquery are.
"""

from __future__ import annotations

from collections.abc import Callable

from dp4sql.algebra.expr import Constant, Expr
from dp4sql.algebra.nodes import (
    Aggregate,
    Join,
    Node,
    Project,
    Semi,
    Values,
    columns,
    inputs,
    with_inputs,
)
from dp4sql.algebra.types import Type

Released = Callable[[str, Type], Constant]
"""Gives the constant for a column of the row."""


def is_row(node: Node) -> bool:
    """Whether it is an aggregate without GROUP BY, which always has exactly one row, or computed from one."""
    while isinstance(node, Project):
        node = node.child
    return isinstance(node, Aggregate) and not node.keys


def joined_rows(node: Node, joined: bool = False) -> list[Node]:
    """The aggregates of one row that joins in `node` have beside them."""
    if joined and is_row(node):
        return [node]
    return [part for child in inputs(node) for part in joined_rows(child, _joins(node, joined))]


def with_constants(node: Node, known: Callable[[Node], Node | None], joined: bool = False) -> Node:
    """`node`, where those of its joined rows that `known` has another node for are that node."""
    if joined and is_row(node):
        return known(node) or node
    below = (with_constants(child, known, _joins(node, joined)) for child in inputs(node))
    return with_inputs(node, tuple(below))


def _joins(node: Node, joined: bool) -> bool:
    match node:
        case Join(correlated=correlated):
            return not correlated
        case Semi():
            return True
        case Aggregate():
            return False
        case _:
            return joined


def constant_row(node: Node, released: Released) -> Node:
    """One row of constants with the columns of `node`."""
    outputs: list[tuple[str, Expr]] = [(id, released(id, type)) for id, type in columns(node)]
    return Project(Values((), ((),)), tuple(outputs))
