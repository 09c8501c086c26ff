"""Where the rows of a view come from: what its columns are in terms of the base relations below it."""

from __future__ import annotations

from dataclasses import dataclass, field

from dp4sql.algebra.expr import Call, Col, Expr, Over, conjuncts, rewrite
from dp4sql.algebra.nodes import (
    Aggregate,
    Distinct,
    Join,
    Limit,
    Node,
    Project,
    Scan,
    Select,
    Semi,
    Sort,
    columns,
    ids,
)
from dp4sql.algebra.types import BOOLEAN, Type
from dp4sql.infer.facts import uses


@dataclass(slots=True)
class Origin:
    """Where the rows of a view come from: its leaves, what each column is in terms of them, and the
    conditions that every row meets. `padded` leaves may be NULL through an outer join."""

    scans: list[Scan] = field(default_factory=list)
    padded: set[str] = field(default_factory=set)
    conditions: list[Expr] = field(default_factory=list)
    opaque: dict[str, Node] = field(default_factory=dict)


def origin(node: Node, found: Origin, padded: bool = False) -> dict[str, Expr]:
    """Each column id of `node` as an expression over leaf columns, collecting leaves and conditions."""
    match node:
        case Select() | Project() if is_windowed(node):
            # What a window gives depends on all rows below it, so these columns are read as they are.
            return {id: _leaf(id, type, node, found, padded) for id, type in columns(node)}
        case Scan():
            found.scans.append(node)
            if padded:
                found.padded.update(ids(node))
            return {id: Col(id, type) for id, type in columns(node)}
        case Select(child, predicate):
            names = origin(child, found, padded)
            if not padded:
                found.conditions += [inline(part, names) for part in conjuncts(predicate)]
            return names
        case Project(child, outputs):
            names = origin(child, found, padded)
            return {id: inline(expr, names) for id, expr in outputs}
        case Join():
            return _join_origin(node, found, padded)
        case Semi(left) | Sort(left) | Limit(left) | Distinct(left):
            return origin(left, found, padded)
        case Aggregate(child, keys):
            names = origin(child, found, padded)
            own = {key: names[key] for key in keys}
            return own | {a.id: _leaf(a.id, a.type, node, found, padded) for a in node.aggs}
        case _:
            return {id: _leaf(id, type, node, found, padded) for id, type in columns(node)}


def is_windowed(node: Node) -> bool:
    """Whether rows are numbered or compared with each other in `node`, as DISTINCT ON does."""
    match node:
        case Project(child, outputs):
            return any(uses(expr, Over) for _, expr in outputs) or is_windowed(child)
        case Select(child):
            return is_windowed(child)
        case _:
            return False


def _leaf(id: str, type: Type, node: Node, found: Origin, padded: bool) -> Expr:
    found.opaque[id] = node
    if padded:
        found.padded.add(id)
    return Col(id, type)


def _join_origin(node: Join, found: Origin, padded: bool) -> dict[str, Expr]:
    left = _side_origin(node.left, found, padded, node.kind == "full")
    right = _side_origin(node.right, found, padded, node.kind in ("left", "full"))
    names = {**left, **right}
    if node.kind == "inner" and not padded:
        found.conditions += [Call("=", (names[a], names[b]), BOOLEAN) for a, b in node.pairs]
    return names


def _side_origin(node: Node, found: Origin, padded: bool, pads: bool) -> dict[str, Expr]:
    """One side of a join. Where the join pads it, a computed column is NULL in the padded rows, whatever
    its expression makes of NULLs, so it becomes a leaf of its own."""
    names = origin(node, found, padded or pads)
    if not pads:
        return names
    return {
        id: expr if isinstance(expr, Col) else _leaf(id, expr.type, node, found, True)
        for id, expr in names.items()
    }


def inline(expr: Expr, names: dict[str, Expr]) -> Expr:
    return rewrite(expr, lambda part: names[part.id] if isinstance(part, Col) else None)


def traced(expr: Expr, node: Node) -> tuple[Expr, Node]:
    """What a column is below the projections of `node`, as far as these give it: over which node."""
    while isinstance(expr, Col) and isinstance(node, (Project, Select)):
        if isinstance(node, Project):
            expr = dict(node.outputs)[expr.id]
        node = node.child
    return expr, node
