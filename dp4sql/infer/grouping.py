"""What an Aggregate reads: whether the order of rows counts, and the join under its Projects."""

from __future__ import annotations

from collections.abc import Mapping

from dp4sql.algebra.digits import width
from dp4sql.algebra.expr import Col, Expr, reads, rewrite
from dp4sql.algebra.nodes import Aggregate, Join, Node, Project, argument, columns
from dp4sql.errors import Unsupported


def check_order(node: Aggregate) -> None:
    """A group whose rows stay the same must stay the same: sums of binary fractions depend on their order.
    Numbers of unknown size, such as quotients, are such fractions, too."""
    for agg in node.aggs:
        spread = agg.function.startswith(("var", "stddev"))
        adds = agg.function in ("sum", "sum_distinct", "avg")
        if spread or (adds and width(argument(node, agg)) is None):
            name = agg.function.split("_")[0].upper()
            raise Unsupported(
                f"{name} below the outermost aggregate is computed in double precision, where the result "
                "depends on the order of rows",
                hint="Aggregate once, or cast to numeric(p, s) below SUM and AVG.",
                position=agg.at,
            )


def peel(node: Aggregate) -> tuple[Join | None, dict[str, frozenset[str]], dict[str, str]]:
    """The join under an Aggregate and its Projects; what each aggregate reads of it; the keys' names in it."""
    seen: dict[str, Expr] = {id: Col(id, type) for id, type in columns(node.child)}
    below: Node = node.child
    while isinstance(below, Project):
        outputs = dict(below.outputs)
        seen = {id: _through(expr, outputs) for id, expr in seen.items()}
        below = below.child
    names = {id: expr.id for id, expr in seen.items() if isinstance(expr, Col)}
    arguments = {agg.id: reads(seen[agg.arg]) for agg in node.aggs if agg.arg is not None}
    return (below if isinstance(below, Join) else None), arguments, names


def _through(expr: Expr, outputs: Mapping[str, Expr]) -> Expr:
    return rewrite(expr, lambda part: outputs[part.id] if isinstance(part, Col) else None)
