"""Derivations: which rule gives each node its terms under one policy.

There is no default arm: a shape without a rule is refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import assert_never

from dp4sql.algebra.bounds import Bound
from dp4sql.algebra.expr import Expr, Over, Scalar, reads, walk
from dp4sql.algebra.nodes import (
    Aggregate,
    Distinct,
    Fetched,
    Join,
    JoinKind,
    Limit,
    Node,
    Project,
    Scan,
    Select,
    Semi,
    Series,
    Sort,
    UnionAll,
    Values,
    ids,
)
from dp4sql.algebra.schema import Schema
from dp4sql.errors import Refused, Unsupported
from dp4sql.infer import binary, unary
from dp4sql.infer.bases import Bases
from dp4sql.infer.derivation import Derivation
from dp4sql.infer.facts import Facts, orientations, touches, uses
from dp4sql.infer.grouping import check_order, peel
from dp4sql.infer.rules import Rule
from dp4sql.infer.terms import Distinct as DistinctMap
from dp4sql.infer.terms import Term, Terms, changed, comes_or_goes, map_distinct, tidy, total
from dp4sql.policy.labels import Policy


@dataclass
class Deriver:
    """Derives terms under one policy; remembers what it has derived."""

    schema: Schema
    policy: Policy
    facts: Facts
    bases: Bases = field(init=False)
    _known: dict[int, tuple[Node, Derivation]] = field(default_factory=dict)
    """By identity; a node that is kept here leaves its identity to no other."""

    def __post_init__(self) -> None:
        self.bases = Bases(self.schema, self.policy, self.facts)

    def derive(self, node: Node) -> Derivation:
        if id(node) not in self._known:
            self._known[id(node)] = (node, self._derive(node))
        return self._known[id(node)][1]

    def terms(self, node: Node) -> Terms:
        return self.derive(node).terms

    # ------------------------------------------------------------ dispatch

    def _derive(self, node: Node) -> Derivation:
        match node:
            case Scan():
                return self.bases.scan(node)
            case Select(child, predicate):
                below = self._below(child, predicate)
                rule: Rule = "T-Sel3" if self._cuts(below.terms, predicate) else "T-Sel1/2"
                return Derivation(rule, unary.select(below.terms, predicate), (below,))
            case Project(child, outputs):
                below = self._below(child, *(expr for _, expr in outputs))
                return Derivation("T-Prj", unary.project(below.terms, dict(outputs)), (below,))
            case Join():
                return self._join(node)
            case Semi():
                return self._semi(node)
            case Aggregate():
                return self._group(node)
            case Distinct(child):
                below = self.derive(child)
                return Derivation("X-Distinct", unary.distinct(below.terms, ids(child)), (below,))
            case UnionAll(left, right, outputs, left_ids, right_ids):
                a, b = self.derive(left), self.derive(right)
                names = [id for id, _ in outputs]
                terms = unary.union_all(
                    a.terms,
                    b.terms,
                    tuple(zip(left_ids, names, strict=True)),
                    tuple(zip(right_ids, names, strict=True)),
                )
                return Derivation("X-Union", terms, (a, b))
            case Values() | Series() | Fetched():
                return Derivation("X-Public", ())
            case Sort(child) | Limit(child):
                return self._ordered(node, child)
            case _:
                assert_never(node)

    def _below(self, child: Node, *exprs: Expr) -> Derivation:
        below = self.derive(child)
        for expr in exprs:
            if below.terms and (window := _window(expr)) is not None:
                raise Unsupported(
                    "a window function or DISTINCT ON over private rows has no finite bound: one row can "
                    "move all others",
                    hint="Aggregate first (GROUP BY) and apply it to the result, as in SUM(COUNT(*)) OVER ().",
                    position=window.at,
                )
            if uses(expr, Scalar):
                raise Unsupported("a scalar subquery here is not supported")
        return below

    @staticmethod
    def _cuts(terms: Terms, predicate: Expr) -> bool:
        return any(t.kind == "Rep" and not t.fixes(reads(predicate)) for t in terms)

    def _ordered(self, node: Sort | Limit, child: Node) -> Derivation:
        below = self.derive(child)
        if below.terms and isinstance(node, Limit):
            raise Unsupported(
                "LIMIT below an aggregate picks private rows by their order, which no rule bounds",
                hint="Remove the LIMIT from the subquery, or filter with WHERE on a range.",
                position=node.at,
            )
        return Derivation("X-Order", below.terms, (below,))

    # ------------------------------------------------------------ joins

    def _side(self, node: Node, keys: frozenset[str]) -> binary.Side:
        return binary.Side(self.terms(node), ids(node), keys, self.facts.freq(node, keys))

    def _join(self, node: Join) -> Derivation:
        premises = (self._below(node.left), self._below(node.right))
        if not premises[0].terms and not premises[1].terms:
            return Derivation("X-Public", (), premises)
        keyed = self._key_join(node)
        general = self._general(node)
        if keyed is not None and keyed.n <= total(general):
            return Derivation("T-Key", tidy((keyed,)), premises)
        single = self._single(node)
        if single is not None and total(single) <= total(general):
            return Derivation("X-LeftOne", single, premises)
        names: dict[JoinKind, Rule] = {"inner": "T-Join", "left": "X-Left", "full": "X-Full"}
        return Derivation(names[node.kind], general, premises)

    def _single(self, node: Join) -> Terms | None:
        """X-LeftOne, where the keys tell the rows of the right side apart."""
        k1, k2 = (frozenset(pair[i] for pair in node.pairs) for i in (0, 1))
        one = node.kind == "left" and node.residual is None and self.facts.freq(node.right, k2) == 1
        return (
            binary.left_one(self._side(node.left, k1), self._side(node.right, k2)) if one else None
        )

    def _matched(self, node: Join) -> Terms:
        k1 = frozenset(a for a, _ in node.pairs)
        k2 = frozenset(b for _, b in node.pairs)
        left = self._side(node.left, k1)
        right = self._side(node.right, k2)
        terms = binary.general_join(left, right, node.pairs)
        return terms if node.residual is None else unary.select(terms, node.residual)

    def _general(self, node: Join) -> Terms:
        """X-Left, X-Full: the matched rows, and the unmatched ones as an anti join, padded."""
        terms = self._matched(node)
        turned = tuple((b, a) for a, b in node.pairs)
        if node.kind in ("left", "full"):
            alone = self._semi_terms(node.left, node.right, node.pairs, node.residual)
            terms += binary.padded(alone, ids(node.right))
        if node.kind == "full":
            alone = self._semi_terms(node.right, node.left, turned, node.residual)
            terms += binary.padded(alone, ids(node.left))
        return tidy(terms)

    def _key_join(self, node: Join) -> Term | None:
        if self.facts.anchor(node) is None:
            return None
        options = [
            self._keyed(child, parent, pairs, keeps)
            for child, parent, pairs, keeps in orientations(node)
            if self.facts.key_join(child, parent, pairs)
        ]
        found = [option for option in options if option is not None]
        return min(found, key=lambda term: term.n, default=None)

    def _keyed(
        self, child: Node, parent: Node, pairs: tuple[tuple[str, str], ...], keeps_child: bool
    ) -> Term | None:
        anchor, above = self.bases.anchor(child), self.bases.anchor(parent)
        if anchor is None or above is None:
            return None
        columns = self.facts.columns(child)
        owned = self.bases.owned.get(anchor.table.name, 0)
        own = self.bases.distinct(child, anchor)
        terms = binary.key_join(
            binary.KeyJoin(
                child=self.terms(child),
                parent=self.terms(parent),
                parent_columns=ids(parent),
                foreign_key=frozenset(a for a, _ in pairs),
                owned=owned,
                deleted=self.bases.deletes(anchor.table),
                total=above.total and not any(columns[a].nullable for a, _ in pairs),
                keeps_child=keeps_child,
                distinct={**own, **map_distinct(own, dict(pairs).get)},
            )
        )
        return terms[0] if terms else Term("Rep", 0)

    # ------------------------------------------------------------ EXISTS, IN

    def _semi(self, node: Semi) -> Derivation:
        premises = (self._below(node.left), self._below(node.right))
        self._check_nulls(node)
        if not premises[0].terms and not premises[1].terms:
            return Derivation("X-Public", (), premises)
        terms = self._semi_terms(node.left, node.right, node.pairs, node.residual)
        keyed = self._semi_keyed(node)
        if keyed is not None and keyed.n <= total(terms):
            return Derivation("X-SemiKey", tidy((keyed,)), premises)
        hung = self._hanging(node.left, node.right, node.pairs)
        if hung is not None:
            flickering = comes_or_goes(premises[0].terms) or bool(premises[1].terms)
            reads_own = frozenset(a for a, _ in node.pairs) | touches(node.residual, ids(node.left))
            flickering = flickering or bool(changed(premises[0].terms) & reads_own)
            capped = binary.owned_only(
                (*premises[0].terms, *premises[1].terms),
                hung[0],
                hung[1],
                hung[2],
                flickers=flickering,
                attrs=changed(premises[0].terms),
            )
            if total(capped) <= total(terms):
                return Derivation("X-Hang", capped, premises)
        return Derivation("X-Anti" if node.anti else "X-Semi", terms, premises)

    def _semi_keyed(self, node: Semi) -> Term | None:
        """X-SemiKey. IN over the key of an anchored parent is a key join without the parent's columns."""
        if self.facts.anchor(node) is None:
            return None
        term = self._keyed(node.left, node.right, node.pairs, keeps_child=False)
        if term is None:
            return None
        kept = ids(node.left)
        distinct = {x: pair for x, pair in term.distinct.items() if x <= kept}
        return Term(term.kind, term.n, term.attrs & kept, distinct)

    def _semi_terms(
        self,
        left: Node,
        right: Node,
        pairs: tuple[tuple[str, str], ...],
        residual: Expr | None,
    ) -> Terms:
        k1 = frozenset(a for a, _ in pairs)
        k2 = frozenset(b for _, b in pairs)
        return binary.semi_join(
            binary.SemiJoin(
                left=self.terms(left),
                right=self.terms(right),
                left_reads=k1 | touches(residual, ids(left)),
                right_reads=k2 | touches(residual, ids(right)),
                right_keys=k2,
                left_frequency=self.facts.freq(left, k1),
            )
        )

    def _hanging(
        self, left: Node, right: Node, pairs: tuple[tuple[str, str], ...]
    ) -> tuple[Bound, bool, DistinctMap] | None:
        """When `right` hangs on `left` by its only owning link: (owned rows, deleted, distinct) of the left."""
        anchor, base = self.bases.anchor(right), self.bases.anchor(left)
        turned = tuple((b, a) for a, b in pairs)
        if anchor is None or base is None or not self.facts.key_join(right, left, turned):
            return None
        sources = [self.facts.columns(right)[b].source for _, b in pairs]
        links = self.bases.owning_keys(anchor.table)
        names = frozenset(s.column for s in sources if s is not None and s.alias == anchor.alias)
        if len(links) != 1 or frozenset(links[0].columns) != names:
            return None
        if changed(self.terms(right)) & frozenset(b for _, b in pairs):
            return None
        owned = self.bases.owned.get(base.table.name, 0)
        return owned, self.bases.deletes(base.table), self.bases.distinct(left, base)

    def _check_nulls(self, node: Semi) -> None:
        if not (node.anti and node.null_aware):
            return
        mine, theirs = self.facts.columns(node.left), self.facts.columns(node.right)
        nullable = any(mine[a].nullable or theirs[b].nullable for a, b in node.pairs)
        if nullable and (self.terms(node.left) or self.terms(node.right)):
            raise Refused(
                "NOT IN over a column that can be NULL has no finite bound: a single NULL empties the result",
                hint="Use NOT EXISTS, or exclude NULLs on both sides with IS NOT NULL.",
                position=node.at,
            )

    # ------------------------------------------------------------ grouping

    def _group(self, node: Aggregate) -> Derivation:
        below = self._below(node.child)
        if not below.terms:
            return Derivation("T-Grp4", (), (below,))
        check_order(node)
        keys = frozenset(node.keys)
        if not keys:
            return Derivation("X-GrpAll", unary.group_all(below.terms, node.aggs), (below,))
        if self.facts.freq(node.child, keys, nulls=True) == 1:
            return Derivation(
                "X-GrpKey", unary.group_on_key(below.terms, keys, node.aggs), (below,)
            )
        general = unary.group(below.terms, keys, node.aggs)
        special = self._group_left(node)
        if special is not None and total(special[1]) <= total(general):
            return Derivation(special[0], special[1], (below,))
        return Derivation("T-Grp", general, (below,))

    def _group_left(self, node: Aggregate) -> tuple[Rule, Terms] | None:
        """X-GrpLeft where the groups are single rows of the left side of a LEFT JOIN."""
        join, arguments, names = peel(node)
        if join is None or join.kind != "left":
            return None
        keys = frozenset(names.get(key, "") for key in node.keys)
        if not keys <= ids(join.left) or self.facts.freq(join.left, keys, nulls=True) != 1:
            return None
        renamed = [(names[key], key) for key in node.keys]
        hung = self._hanging(join.left, join.right, join.pairs)
        if hung is not None:
            left = self.terms(join.left)
            every = frozenset(agg.id for agg in node.aggs)
            attrs = frozenset(key for a, key in renamed if a in changed(left)) | every
            seen = map_distinct(hung[2], dict(renamed).get)
            terms = binary.owned_only(
                (*left, *self.terms(join.right)),
                hung[0],
                hung[1],
                seen,
                flickers=comes_or_goes(left),
                attrs=attrs,
            )
            return "X-GrpHang", terms
        if join.residual is not None:
            return None
        view = unary.LeftGrouping(
            left=self.terms(join.left),
            right=self.terms(join.right),
            left_keys=frozenset(a for a, _ in join.pairs),
            right_keys=frozenset(b for _, b in join.pairs),
            left_frequency=self.facts.freq(join.left, frozenset(a for a, _ in join.pairs)),
            group_keys=keys,
            aggs=node.aggs,
            arguments=arguments,
        )
        return "X-GrpLeft", unary.renamed(
            unary.group_left_join(view), [*renamed, *((a.id, a.id) for a in node.aggs)]
        )


def _window(expr: Expr) -> Over | None:
    return next((part for part in walk(expr) if isinstance(part, Over)), None)
