"""Queries without rows, whatever is in the tables: LIMIT 0, WHERE 1 = 0.

Clients ask them for names and types of columns (JDBC sources of Spark, dbt, Metabase's probe). That is what is
left of them, so nothing is read and nothing charged.
"""

from __future__ import annotations

from dp4sql.algebra.expr import Call, Expr, Lit
from dp4sql.algebra.nodes import Distinct, Limit, Node, Project, Select, Sort, Values, columns


def columns_alone(node: Node) -> Node:
    """The columns of `node` without rows where it can have none, else `node`."""
    if not _empty(node):
        return node
    named = columns(node)
    return Limit(Values(named, ((None,) * len(named),)), 0)


def _empty(node: Node) -> bool:
    match node:
        case Limit(count=0):
            return True
        case Select(child, predicate):
            return _never(predicate) or _empty(child)
        case Limit(child) | Sort(child) | Project(child) | Distinct(child):
            return _empty(child)
    # An aggregate may have a row over no rows.
    return False


def _never(predicate: Expr) -> bool:
    match predicate:
        case Lit(None | False):
            return True
        case Call("and", parts):
            return any(map(_never, parts))
        case Call("=" | "<>" as op, (Lit(int(left)), Lit(int(right)))):
            return (left == right) == (op == "<>")
    return False
