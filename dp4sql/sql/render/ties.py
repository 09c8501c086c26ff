"""Which of equal rows LIMIT and windows take, and in which order rows are shown.

An engine may take any, another one each time, as its plan or its threads have it. A bound counts on one view of the
public rows, so where these are stored rows all their columns decide in the end. Rows that are equal in all of
them are the same whichever is taken. Public columns of a partly private table are shown in an order of their own,
too: rows may be stored by what is private of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dp4sql.algebra.expr import Col, Expr, Over, reads, rewrite
from dp4sql.algebra.nodes import Limit, Node, Project, Scan, Sort, columns, ids, walk_nodes
from dp4sql.errors import Unsupported

_PLACES: Final = frozenset({"row_number", "ntile", "lag", "lead"})
_VALUES: Final = frozenset({"first_value", "last_value", "nth_value"})
_RANKS: Final = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
_ALL: Final = "BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"


def limited(node: Limit) -> Limit:
    if not _stored(node):
        return node
    child, keys = (
        (node.child.child, node.child.keys) if isinstance(node.child, Sort) else (node.child, ())
    )
    return replace(node, child=_by_all(child, keys, ids(child)))


def settled(node: Node, used: frozenset[str]) -> Node:
    """`node` with an order that its columns `used` decide alone, where its own leaves one open."""
    match node:
        case Project(child, outputs) if _is_sorted(child):
            read = frozenset().union(*(reads(expr) for id, expr in outputs if id in used))
            return replace(node, child=settled(child, read))
        case Limit(child) if _is_sorted(child):
            return replace(node, child=settled(child, used))
        case Limit(child):
            return replace(node, child=_by_all(child, (), used))
        case Sort(child, keys):
            return _by_all(child, keys, used)
        case _:
            return _by_all(node, (), used)


def _is_sorted(node: Node) -> bool:
    while isinstance(node, Project | Limit):
        node = node.child
    return isinstance(node, Sort)


def _by_all(child: Node, keys: tuple[tuple[str, bool, bool], ...], used: frozenset[str]) -> Node:
    known = {id for id, *_ in keys}
    if isinstance(child, Project):
        known |= {id for id, expr in child.outputs if not reads(expr)}
    rest = tuple((id, False, False) for id, _ in columns(child) if id in used - known)
    return Sort(child, (*keys, *rest)) if keys or rest else child


def windowed(node: Project) -> Project:
    if not _stored(node.child):
        return node
    rest = tuple((Col(id, type), False) for id, type in columns(node.child))

    def decided(part: Expr) -> Expr | None:
        return _decided(part, rest) if isinstance(part, Over) else None

    return replace(node, outputs=tuple((id, rewrite(e, decided)) for id, e in node.outputs))


def _stored(node: Node) -> bool:
    return any(isinstance(part, Scan) for part in walk_nodes(node))


def _decided(over: Over, rest: tuple[tuple[Col, bool], ...]) -> Over:
    """Peers that count together, as in ranks and sums up to the current value, are left together."""
    known = [key for key, _ in over.order]
    rest = tuple((key, desc) for key, desc in rest if key not in known)
    order, frame = (*over.order, *rest), (over.frame or "").upper()
    if over.op in _PLACES:
        return replace(over, order=order, frame=None)
    if over.op in _RANKS or (over.op not in _VALUES and not frame.startswith("ROWS")):
        return over
    if over.op == "last_value" and not frame:
        # The last of the peers of a row is the first of them backwards.
        peers = (*over.partition, *known)
        backwards = tuple((key, True) for key, _ in rest)
        return replace(over, op="first_value", partition=peers, order=backwards)
    if frame.startswith("RANGE " + _ALL):
        over, frame = replace(over, frame="ROWS " + _ALL), "ROWS " + _ALL
    firm = frame.startswith("ROWS") or (over.op == "first_value" and not frame)
    if not firm or "EXCLUDE" in frame:
        raise Unsupported(
            "this window takes one of several rows that may be equal",
            hint="Give it a frame of rows, as in ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW.",
            position=over.at,
        )
    return replace(over, order=order)
