"""L2 sensitivity at the release, squared: what Gaussian noise goes by (docs/soundness.md, "L2").

The L1 bound is one, too. Two things make it smaller where groups are many: a row that moves from one group to
another counts root 2, not 2; and rows that one entity has in many groups count by their squares.
"""

from __future__ import annotations

from fractions import Fraction

from dp4sql.algebra.bounds import Bound, finite, least, plus, times
from dp4sql.algebra.expr import Col
from dp4sql.algebra.nodes import Join, Node, Project, Scan, Select, Semi, Sort, ids, walk_nodes
from dp4sql.algebra.ownership import owner_columns
from dp4sql.infer.derive import Deriver
from dp4sql.infer.release import Summand, adds_nothing, reach, swing
from dp4sql.infer.terms import Attrs, Term, Terms, total


def squared(
    terms: Terms, keys: Attrs, summand: Summand, bound: Fraction, together: Bound
) -> Fraction:
    """`bound` is the one in L1, `together` the most changed rows that can share a value of `keys`."""
    if not keys or summand.distinct:
        return bound * bound
    n = total(terms)
    slots = times(n, plus(*(times(term.n, _slot(term, keys, summand)) for term in terms)))
    known: list[Bound] = [bound * bound, slots]
    if all(term.kind == "Del" for term in terms) or all(term.kind == "Add" for term in terms):
        known.append(times(bound, reach(summand), together))
    found = least(*known)
    assert finite(found)
    return Fraction(found)


def _slot(term: Term, keys: Attrs, summand: Summand) -> Fraction:
    """How far one slot moves the answer, squared."""
    if adds_nothing(term, summand):
        return Fraction(0)
    once = reach(summand) ** 2
    if term.kind in ("Del", "Add"):
        return once
    varies = summand.column in term.attrs
    whole = swing(summand) ** 2 if varies else Fraction(0)
    if not term.fixes(keys):
        return max(2 * once, whole)
    if term.kind == "Rep":
        return (summand.high - summand.low) ** 2 if varies else Fraction(0)
    return max(once, whole)


# ---------------------------------------------------------------- rows of one entity in one group


def rows_together(deriver: Deriver, node: Node, keys: Attrs) -> Bound:
    """The most rows with one value of `keys` that come or go with one entity."""
    base, on = _below(node, keys)
    every = deriver.facts.freq(base, on, nulls=True)
    owners = _owners(deriver, base) if _plain(deriver, base) else None
    if not owners:
        return every
    return least(every, plus(*(deriver.facts.freq(base, on | o, nulls=True) for o in owners)))


def _below(node: Node, on: Attrs) -> tuple[Node, Attrs]:
    """`node` without what picks rows and columns of it; a key that is computed tells nothing."""
    while isinstance(node, (Project, Select, Sort)):
        if isinstance(node, Project):
            passed = {id: e.id for id, e in node.outputs if isinstance(e, Col)}
            on = frozenset(passed[id] for id in on if id in passed)
        node = node.child
    return node, on


def _plain(deriver: Deriver, node: Node) -> bool:
    """Whether each row of the view comes of one row of every private table in it, which are the same rows
    whatever the other rows are."""
    match node:
        case Scan():
            return True
        case Project(child) | Select(child):
            return _plain(deriver, child)
        case Join(left, right, "inner"):
            return _plain(deriver, left) and _plain(deriver, right)
        case Join(left, right, "left") | Semi(left, right):
            return _plain(deriver, left) and not deriver.terms(right)
        case _:
            return False


def _owners(deriver: Deriver, node: Node) -> set[Attrs] | None:
    """For each private table the columns that hold the owner of its row; None where one hides it. Columns
    that a join equates are the same."""
    found: set[Attrs] = set()
    same = _equated(node)
    for scan in walk_nodes(node):
        if isinstance(scan, Scan) and deriver.terms(scan):
            own = _owner(deriver, node, scan)
            if own is None:
                return None
            found.add(frozenset(same.get(id, id) for id in own))
    return found


def _owner(deriver: Deriver, node: Node, scan: Scan) -> Attrs | None:
    policy, table = deriver.policy, scan.table
    if table.name in deriver.bases.displaced:
        return None
    names = (
        frozenset(table.key)
        if table.name == policy.entity
        else owner_columns(deriver.schema, policy.entity, table.name)
    )
    sources = {
        fact.source.column: id
        for id, fact in deriver.facts.columns(node).items()
        if fact.source is not None and fact.source.alias == scan.alias
    }
    if not names or not names <= sources.keys():
        return None
    return frozenset(sources[name] for name in names)


def _equated(node: Node) -> dict[str, str]:
    """Columns of inner joins by the first one that they equal."""
    same: dict[str, str] = {}
    for part in walk_nodes(node):
        if isinstance(part, Join) and part.kind == "inner":
            for a, b in part.pairs:
                first, second = same.get(a, a), same.get(b, b)
                kept = min(first, second)
                same = {c: kept if d in (first, second) else d for c, d in same.items()}
                same |= {a: kept, b: kept, first: kept, second: kept}
    return {a: b for a, b in same.items() if a in ids(node) and b in ids(node)}
