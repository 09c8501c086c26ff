"""FROM and WHERE of one SELECT: relations and conditions, joined into one tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from sqlglot import exp

from dp4sql.algebra.expr import Call, Expr, conjunction, conjuncts, reads
from dp4sql.algebra.nodes import Node, Values, ids
from dp4sql.algebra.types import BOOLEAN
from dp4sql.errors import SyntaxError_, Unsupported
from dp4sql.sql.lower.attached import Attached
from dp4sql.sql.lower.expressions import Expressions
from dp4sql.sql.lower.joins import assemble, linked, outer_join, with_keys
from dp4sql.sql.lower.lowered import Ctes, cut_or_sorted
from dp4sql.sql.lower.lowering import Lowering
from dp4sql.sql.lower.names import Relation, Scope, fold
from dp4sql.sql.lower.relations import Relations
from dp4sql.sql.lower.subqueries import Subqueries, is_subquery_test
from dp4sql.sql.parse import position

#: LEFT, OUTER, NATURAL and the like. CROSS and INNER have no side.
_JOINS: Final = frozenset(
    (side, kind, method)
    for side in ("", "LEFT", "RIGHT", "FULL")
    for kind in ("", "OUTER", "INNER", "CROSS")
    for method in ("", "NATURAL")
    if (not side or kind in ("", "OUTER")) and (kind != "CROSS" or not method)
)


@dataclass
class Block:
    """FROM and WHERE of a SELECT, or a join in brackets: what other clauses stand on.

    `correlated` are conditions that read columns of the enclosing SELECT. `first` is where the relations
    after the last comma begin among those of the block, which begin at `start` in the scope.
    """

    scope: Scope
    start: int = 0
    first: int = 0
    trees: list[Node] = field(default_factory=list)
    conditions: list[Expr] = field(default_factory=list)
    correlated: list[Expr] = field(default_factory=list)
    tests: list[exp.Expr] = field(default_factory=list)
    attached: list[tuple[exp.Expr, list[exp.Expr]]] = field(default_factory=list)


class BlockLowering:
    """Lowers FROM and WHERE of one SELECT; `scope` is filled with its relations."""

    def __init__(
        self, base: Lowering, e: exp.Select, ctes: Ctes, scope: Scope, plain: Expressions
    ) -> None:
        self.base, self.e, self.ctes, self.scope, self.plain = base, e, ctes, scope, plain

    def block(self) -> tuple[Node, list[Expr]]:
        """The joined and filtered FROM clause, and the conditions that reach outside."""
        block = Block(self.scope)
        source = self.e.args.get("from_")
        if source is None:
            block.trees.append(Values((), ((),)))
        else:
            self._add(block, source.this)
        for join in self.e.args.get("joins") or ():
            self._join(block, join)
        self._where(block)
        own = frozenset().union(*(ids(tree) for tree in block.trees))
        local = [part for part in block.conditions if reads(part) <= own]
        correlated = [part for part in block.conditions if not reads(part) <= own]
        node = assemble(self.base.facts, *with_keys(block.trees, local, self.base.fresh))
        for test in block.tests:
            node = Subqueries(self.base, self.scope, self.ctes).apply(node, test)
        for test, parts in block.attached:
            node = Attached(self.base, self.scope, self.ctes).selected(node, test, parts)
        return node, correlated

    def _add(self, block: Block, e: exp.Expr) -> tuple[Node, Relation]:
        if isinstance(e, exp.Paren) or (
            isinstance(e, exp.Subquery) and not isinstance(e.this, exp.Query)
        ):
            return self._nested(block, e)
        node, relation = Relations(self.base).lower(e, self.ctes)
        self._introduce(relation, e)
        block.trees.append(node)
        for join in e.args.get("joins") or ():
            self._join(block, join)
        return node, relation

    def _nested(self, block: Block, e: exp.Expr) -> tuple[Node, Relation]:
        """(a JOIN b ON ...), which is joined before what stands around it."""
        if e.args.get("alias") is not None or cut_or_sorted(e):
            raise Unsupported(
                "an alias, ORDER BY or LIMIT of a join in brackets is not supported",
                hint="Write it as a subquery: (SELECT ... FROM a JOIN b ON ...) AS t.",
                position=position(e),
            )
        inner = Block(self.scope, start=len(self.scope.relations))
        merged = len(self.scope.merged)
        self._add(inner, e.this)
        for join in e.args.get("joins") or ():
            self._join(inner, join)
        own = frozenset().union(*(ids(tree) for tree in inner.trees))
        outside = any(not reads(part) <= own for part in inner.conditions)
        if outside or (inner.start and len(self.scope.merged) > merged):
            raise Unsupported(
                "a join in brackets after another table takes ON with its own columns only",
                hint="Write it as a subquery: JOIN (SELECT ... FROM a JOIN b ON ...) AS t ON ...",
                position=position(e),
            )
        node = assemble(self.base.facts, inner.trees, inner.conditions)
        block.trees.append(node)
        found = self.scope.relations[inner.start :]
        return node, Relation("", tuple(column for r in found for column in r.columns))

    def _introduce(self, relation: Relation, e: exp.Expr) -> None:
        if relation.alias and any(r.alias == relation.alias for r in self.scope.relations):
            raise SyntaxError_(
                f'table name "{relation.alias}" specified more than once',
                hint="Give one of them another alias.",
                position=position(e),
            )
        self.scope.relations.append(relation)

    def _where(self, block: Block) -> None:
        where = self.e.args.get("where")
        if where is None:
            return
        for part in _split(where.this):
            if is_subquery_test(part):
                block.tests.append(part)
            else:
                found = Attached(self.base, self.scope, self.ctes).find(part)
                if found:
                    block.attached.append((part, found))
                else:
                    block.conditions += conjuncts(factored(self.plain.boolean(part)))

    def _join(self, block: Block, join: exp.Join) -> None:
        side, kind, method = (
            str(join.args.get(part) or "").upper() for part in ("side", "kind", "method")
        )
        if (side, kind, method) not in _JOINS:
            raise Unsupported("this kind of join is not supported", position=position(join))
        before = self.scope.relations[block.start :]
        if _is_comma(join):
            block.first = len(before)
        node, relation = self._add(block, join.this)
        conditions = self._on(block, join, before, relation, side)
        if side:
            whole = frozenset(c.id for r in before[block.first :] for c in r.columns)
            self._no_correlation(block, conditions, join)
            self._outer(block, node, side, conditions, whole)
        else:
            block.conditions += conditions

    def _on(
        self, block: Block, join: exp.Join, before: list[Relation], new: Relation, side: str
    ) -> list[Expr]:
        using = [fold(c) for c in join.args.get("using") or ()]
        if join.args.get("method"):
            old = {c.name for r in before for c in r.columns}
            using = [c.name for c in new.columns if c.name in old]
        if using:
            return [self._using(name, before, new, side, join) for name in using]
        on = join.args.get("on")
        if on is None:
            return []
        for part in _split(on):
            if is_subquery_test(part):
                raise Unsupported(
                    "a subquery in ON is not supported",
                    hint="Put it in WHERE.",
                    position=position(part),
                )
        return list(conjuncts(factored(self.plain.boolean(on))))

    def _using(
        self, name: str, before: list[Relation], new: Relation, side: str, join: exp.Join
    ) -> Expr:
        column = exp.column(exp.to_identifier(name, quoted=True))
        left = Scope(before, dict(self.scope.merged)).resolve(column)
        right = Scope([new]).resolve(column)
        (a, b), kind = self.plain.together([left, right], join, "JOIN/USING")
        merged = {"RIGHT": right, "FULL": Call("coalesce", (a, b), kind)}.get(side, left)
        self.scope.merged[name] = merged
        return Call("=", (a, b), BOOLEAN)

    def _no_correlation(self, block: Block, on: list[Expr], join: exp.Join) -> None:
        own = frozenset().union(*(ids(tree) for tree in block.trees))
        if not all(reads(part) <= own for part in on):
            raise Unsupported(
                "ON of an outer join takes columns of its own FROM only",
                hint="Correlate in WHERE, or filter in a subquery of FROM.",
                position=position(join),
            )

    def _outer(
        self, block: Block, right: Node, side: str, on: list[Expr], whole: frozenset[str]
    ) -> None:
        """LEFT, RIGHT and FULL JOIN: the left side is what its condition and earlier ones tie together.

        RIGHT and FULL pad every column before them, those of cross joined relations too: their left side
        is the `whole` since the last comma.
        """
        block.trees.remove(right)
        tied = frozenset(id for part in on for id in reads(part)) - ids(right)
        seed = tied if side == "LEFT" else whole
        chosen = (
            linked(block.trees, block.conditions, seed) if seed else list(range(len(block.trees)))
        )
        trees = [block.trees[i] for i in chosen]
        scope = frozenset().union(*(ids(t) for t in trees))
        inner = [part for part in block.conditions if reads(part) <= scope]
        block.conditions = [part for part in block.conditions if part not in inner]
        left = assemble(self.base.facts, trees, inner)
        if side == "RIGHT":
            left, right = right, left
        block.trees = [t for i, t in enumerate(block.trees) if i not in chosen]
        (left, right), on = with_keys((left, right), on, self.base.fresh)
        block.trees.append(outer_join(left, right, "full" if side == "FULL" else "left", on))


def _is_comma(join: exp.Join) -> bool:
    return not any(join.args.get(part) for part in ("kind", "side", "method", "on", "using"))


def factored(expr: Expr) -> Expr:
    """(a AND x) OR (a AND y) as a AND (x OR y): what every branch demands is a condition of its own."""
    if not (isinstance(expr, Call) and expr.op == "or"):
        return expr
    branches = [conjuncts(branch) for branch in expr.args]
    common = tuple(part for part in branches[0] if all(part in branch for branch in branches))
    if not common:
        return expr
    rests = [tuple(part for part in branch if part not in common) for branch in branches]
    if any(not rest for rest in rests):
        return conjunction(common)
    return conjunction((*common, Call("or", tuple(conjunction(rest) for rest in rests), BOOLEAN)))


def _split(e: exp.Expr) -> list[exp.Expr]:
    if isinstance(e, exp.Paren):
        return _split(e.this)
    if isinstance(e, exp.And):
        return [part for side in (e.this, e.expression) for part in _split(side)]
    return [e]
