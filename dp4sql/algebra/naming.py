"""Whether every column has a name of its own. Rules and rendering keep what they know of columns by name: two columns
of one name would be one to them, and the bound of one would be taken for that of the other."""

from __future__ import annotations

from collections.abc import Sequence

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
    names = {id(part): ids(part) for part in parts}
    for part in parts:
        below = [names[id(child)] for child in inputs(part)]
        if not _tells_apart(part, len(names[id(part)]), below):
            raise InternalError("two columns of one name")
        if not _has_what_it_reads(part, below):
            raise Unsupported(
                "a subquery reaches past the SELECT that encloses it",
                hint="Correlate each subquery with the query directly around it.",
            )


def _tells_apart(node: Node, names: int, below: Sequence[frozenset[str]]) -> bool:
    if isinstance(node, Semi) and below[0] & below[1]:
        return False
    return len(columns(node)) == names


def _has_what_it_reads(node: Node, below: Sequence[frozenset[str]]) -> bool:
    match node:
        case Join(pairs=pairs) | Semi(pairs=pairs):
            left, right = below
            paired = all(a in left and b in right for a, b in pairs)
            return paired and needed(node, _NONE) <= left | right
        case UnionAll(left_ids=left_ids, right_ids=right_ids):
            return below[0] >= {*left_ids} and below[1] >= {*right_ids}
        case _:
            return not below or needed(node, _NONE) <= below[0]
