"""Base relations under one policy: which of their rows one entity owns, and what a view shows of those."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dp4sql.algebra.bounds import Bound, times
from dp4sql.algebra.nodes import Node, Scan
from dp4sql.algebra.ownership import owned_bounds
from dp4sql.algebra.schema import ForeignKey, Schema, Table
from dp4sql.infer.derivation import Derivation
from dp4sql.infer.facts import Anchor, Facts
from dp4sql.infer.terms import Distinct, Term, map_distinct, tidy
from dp4sql.policy.labels import Del, Policy, Pub, Rep
from dp4sql.policy.truncation import displaced_tables


@dataclass
class Bases:
    """`owned`: most rows of a table that one entity can have; `displaced`: as in `dp4sql.policy.truncation`."""

    schema: Schema
    policy: Policy
    facts: Facts
    owned: Mapping[str, Bound] = field(init=False)
    displaced: Mapping[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.displaced = displaced_tables(self.schema, self.policy)
        self.owned = owned_bounds(
            self.schema, self.policy.entity, self.policy.max_owned, self.displaced
        )

    def scan(self, node: Scan) -> Derivation:
        table = node.table
        n = self.owned.get(table.name, 0)
        about = f"{table.name} {node.alias}" if node.alias != table.name else table.name
        about += f" ({table.left_out})" if table.cut else ""
        entity = table.name == self.policy.entity
        if n == 0:
            return Derivation("X-NotOwned", (), about=about)
        if table.name in self.displaced:
            return Derivation("X-Trunc", (self._displaced(node, n),), about=about)
        distinct = self._distinct(table, node.alias)
        match self.policy.labels.get(table.name, Pub()):
            case Del():
                deleted = (Term("Del", n, distinct=distinct),)
                return Derivation("E-Del" if entity else "F-Del", deleted, about=about)
            case Rep(attributes):
                attrs = frozenset(f"{node.alias}.{a}" for a in attributes)
                terms = tidy((Term("Rep", n, attrs, distinct),))
                return Derivation("E-Rep" if entity else "F-Rep", terms, about=about)
            case Pub():
                return Derivation("E-Pub" if entity else "F-Pub", (), about=about)

    def _displaced(self, node: Scan, n: Bound) -> Term:
        """X-Trunc. A row that goes lets another in, one that comes pushes another out, whoever owns it: they
        agree in the truncated bound's columns alone."""
        bound = node.table.truncation
        kept = bound.columns if bound is not None else frozenset()
        attrs = frozenset(f"{node.alias}.{c}" for c in node.table.columns if c not in kept)
        return Term("Opt", times(n, self.displaced[node.table.name]), attrs)

    def anchor(self, node: Node) -> Anchor | None:
        """The base row that a view's rows sit on, if it is the entity that owns the changed ones."""
        anchor = self.facts.anchor(node)
        return None if anchor is None or anchor.table.name in self.displaced else anchor

    def owning_keys(self, table: Table) -> list[ForeignKey]:
        return [fk for fk in table.foreign_keys if self.owned.get(fk.references, 0) != 0]

    def _distinct(self, table: Table, alias: str) -> Distinct:
        """Rows owned through one foreign key alone refer to no more parents than the entity owns."""
        links = self.owning_keys(table)
        if len(links) != 1 or table.name == self.policy.entity:
            return {}
        (link,) = links
        parents = self.owned[link.references]
        label = self.policy.labels.get(table.name, Pub())
        moves = isinstance(label, Rep) and bool(label.attributes & frozenset(link.columns))
        after = self.owned[table.name] if moves else parents
        return {frozenset(f"{alias}.{c}" for c in link.columns): (parents, after)}

    def distinct(self, node: Node, anchor: Anchor) -> Distinct:
        """The same, for the base row that an anchored view's rows sit on."""
        names = self._anchored_names(node, anchor)
        return map_distinct(self._distinct(anchor.table, anchor.alias), names.get)

    def _anchored_names(self, node: Node, anchor: Anchor) -> dict[str, str]:
        """`alias.column` of the anchor's scan -> the view's column that passes it through."""
        return {
            f"{anchor.alias}.{fact.source.column}": id
            for id, fact in self.facts.columns(node).items()
            if fact.source is not None and fact.source.alias == anchor.alias
        }

    def deletes(self, table: Table) -> bool:
        return isinstance(self.policy.labels.get(table.name, Pub()), Del)
