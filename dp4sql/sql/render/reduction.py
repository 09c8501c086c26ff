"""Less work for an engine that groups all rows of a subquery where a few groups are joined."""

from __future__ import annotations

from dataclasses import replace

from dp4sql.algebra.expr import conjunction, conjuncts, reads
from dp4sql.algebra.nodes import Aggregate, Join, Node, Scan, Select, Semi, ids


def needed_groups(node: Join, right: Aggregate) -> Aggregate:
    """The right side of a correlated join, without the groups that no row of the left asks for, as far as
    conditions on one table of the left tell. Not a subquery for each row: without an index each of those
    reads everything."""
    child = right.child
    for left_id, right_id in node.pairs:
        source = _alone(node.left, left_id)
        if isinstance(source, Select):
            child = Semi(child, source, ((right_id, left_id),), None, anti=False)
    return replace(right, child=child)


def _alone(node: Node, id: str) -> Node | None:
    """The table that column `id` of `node` is from, with the conditions on that table alone: it has all of
    the column's values, and perhaps more."""
    match node:
        case Scan():
            return node if id in ids(node) else None
        case Select(child, predicate):
            source = _alone(child, id)
            if source is None:
                return None
            own = tuple(p for p in conjuncts(predicate) if reads(p) <= ids(source))
            return Select(source, conjunction(own)) if own else source
        case Join(left, right, kind="inner"):
            return _alone(left, id) or _alone(right, id)
        case Join(left, _, kind="left") | Semi(left):
            return _alone(left, id)
        case _:
            return None
