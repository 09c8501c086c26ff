"""Why a bound is infinite, in words a curator can act on."""

from __future__ import annotations

from dp4sql.algebra.bounds import finite
from dp4sql.algebra.nodes import Join, Node, Scan, Semi, inputs
from dp4sql.algebra.ownership import key_frequency
from dp4sql.errors import Refused
from dp4sql.infer.derive import Deriver
from dp4sql.infer.terms import total


def unbounded(deriver: Deriver, node: Node, what: str) -> Refused:
    """A refusal that names the smallest part of `node` whose terms have no finite count."""
    culprit = _culprit(deriver, node)
    if isinstance(culprit, Scan):
        return _base(deriver, culprit, what)
    if isinstance(culprit, Join | Semi):
        return _join(deriver, culprit, what)
    return Refused(
        f"{what} has no finite bound under policy {deriver.policy.name}: one {deriver.policy.entity} may "
        "change any number of its rows",
        hint="EXPLAIN of a simpler query shows which step has no bound; joins on keys and grouping keep them.",
    )


def _culprit(deriver: Deriver, node: Node) -> Node:
    for child in inputs(node):
        if not finite(total(deriver.terms(child))):
            return _culprit(deriver, child)
    return node


def _base(deriver: Deriver, scan: Scan, what: str) -> Refused:
    table = scan.table
    missing = [
        f"{table.name} ({', '.join(fk.columns)})"
        for fk in table.foreign_keys
        if not finite(key_frequency(table, fk.columns)) and fk.references in deriver.bases.owned
    ]
    return Refused(
        f"{what} has no finite bound under policy {deriver.policy.name}: one {deriver.policy.entity} "
        f"may own any number of rows of {table.name}",
        hint=f"The curator can declare max_frequency for {' and '.join(missing) or table.name}: "
        "at most so many rows share one value.",
        position=scan.at,
    )


def _join(deriver: Deriver, join: Join | Semi, what: str) -> Refused:
    sides = []
    for node, keys in (
        (join.left, [a for a, _ in join.pairs]),
        (join.right, [b for _, b in join.pairs]),
    ):
        if not finite(deriver.facts.freq(node, frozenset(keys))):
            sources = [deriver.facts.columns(node)[k].source for k in keys]
            named = [f"{s.table}.{s.column}" for s in sources if s is not None]
            sides.append(", ".join(named) or "a joined subquery")
    if not join.pairs:
        return Refused(
            f"{what} has no finite bound under policy {deriver.policy.name}: a join without equality "
            "multiplies every row with a whole table",
            hint="Join on equal columns, or let the curator declare rows (the largest size) for the table.",
        )
    return Refused(
        f"{what} has no finite bound under policy {deriver.policy.name}: "
        f"any number of rows may share a value of {' and of '.join(sides)}",
        hint="The curator can declare max_frequency for the join column; joining on a key needs none.",
    )
