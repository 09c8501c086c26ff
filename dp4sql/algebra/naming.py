"""Whether every column has a name of its own. Rules and rendering keep what they know of columns by name: two columns
of one name would be one to them, and the bound of one would be taken for that of the other."""

from __future__ import annotations

from collections.abc import Iterator

from dp4sql.algebra.expr import reads
from dp4sql.algebra.nodes import (
    Join,
    Node,
    Scan,
    Semi,
    UnionAll,
    columns,
    expressions,
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
    aliases = [part.alias for part in walk_nodes(node) if isinstance(part, Scan)]
    if len(aliases) > len(set(aliases)):
        raise InternalError("two scans of one name")
    for part in walk_nodes(node):
        if not all(_tells_apart(part)):
            raise InternalError("two columns of one name")
        if not all(_has_what_it_reads(part)):
            raise Unsupported(
                "a subquery reaches past the SELECT that encloses it",
                hint="Correlate each subquery with the query directly around it.",
            )


def _tells_apart(node: Node) -> Iterator[bool]:
    yield len(columns(node)) == len(ids(node))
    if isinstance(node, Semi):
        yield not ids(node.left) & ids(node.right)


def _has_what_it_reads(node: Node) -> Iterator[bool]:
    found = _NONE.union(*map(ids, inputs(node)))
    yield all(reads(expr) <= found for expr in expressions(node))
    match node:
        case Join(left, right, pairs=pairs) | Semi(left, right, pairs=pairs):
            yield all(a in ids(left) and b in ids(right) for a, b in pairs)
        case UnionAll(left, right, _, left_ids, right_ids):
            yield ids(left) >= {*left_ids} and ids(right) >= {*right_ids}
        case _ if inputs(node):
            yield needed(node, _NONE) <= found
