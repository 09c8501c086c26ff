"""Whether every column has a name of its own. Rules and rendering keep what they know of columns by name: two columns
of one name would be one to them, and the bound of one would be taken for that of the other."""

from __future__ import annotations

from dp4sql.algebra.nodes import (
    Join,
    Node,
    Scan,
    Semi,
    UnionAll,
    columns,
    ids,
    inputs,
    needed,
    walk_nodes,
)
from dp4sql.errors import InternalError, Unsupported

_NONE: frozenset[str] = frozenset()


def check_names(node: Node) -> None:
    """Unsupported where an expression reads a column that its inputs do not have; InternalError where two columns
    or two scans have one name."""
    parts = list(walk_nodes(node))
    aliases = [part.alias for part in parts if isinstance(part, Scan)]
    if len(aliases) > len(set(aliases)):
        raise InternalError("two scans of one name")
    for part in parts:
        if not _tells_apart(part):
            raise InternalError("two columns of one name")
        if not _has_what_it_reads(part):
            raise Unsupported(
                "a subquery reaches past the SELECT that encloses it",
                hint="Correlate each subquery with the query directly around it.",
            )


def _tells_apart(node: Node) -> bool:
    if isinstance(node, Semi) and ids(node.left) & ids(node.right):
        return False
    return len(columns(node)) == len(ids(node))


def _has_what_it_reads(node: Node) -> bool:
    match node:
        case Scan():
            return True
        case Join(left, right, pairs=pairs) | Semi(left, right, pairs=pairs):
            ours, theirs = ids(left), ids(right)
            paired = all(a in ours and b in theirs for a, b in pairs)
            return paired and needed(node, _NONE) <= ours | theirs
        case UnionAll(left, right, _, left_ids, right_ids):
            return ids(left) >= {*left_ids} and ids(right) >= {*right_ids}
        case _:
            return needed(node, _NONE) <= _NONE.union(*map(ids, inputs(node)))
