"""One SELECT to algebra: FROM and WHERE, subqueries, grouping, output, order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from dp4sql.algebra.digits import held
from dp4sql.algebra.expr import (
    Call,
    Col,
    Expr,
    conjunction,
    conjuncts,
    reads,
    rewrite,
)
from dp4sql.algebra.nodes import Aggregate, Distinct, Node, Project, Select, Sort, Values, ids
from dp4sql.algebra.types import BOOLEAN, TEXT
from dp4sql.errors import GroupingError, SyntaxError_, Unsupported
from dp4sql.sql.aggregates import Aggregates, contains_aggregate
from dp4sql.sql.expressions import Expressions
from dp4sql.sql.joins import assemble, linked, outer_join
from dp4sql.sql.lower import Ctes, Lowered, Lowering
from dp4sql.sql.names import Named, Relation, Scope, fold
from dp4sql.sql.parse import position
from dp4sql.sql.subqueries import Subqueries, is_subquery_test
from dp4sql.sql.types import untyped


@dataclass
class Block:
    """FROM and WHERE of a SELECT, joined: what its other clauses stand on.

    `correlated` are conditions that read columns of the enclosing SELECT. `first` is where the relations
    after the last comma begin in the scope.
    """

    scope: Scope
    first: int = 0
    trees: list[Node] = field(default_factory=list)
    conditions: list[Expr] = field(default_factory=list)
    correlated: list[Expr] = field(default_factory=list)
    tests: list[exp.Expr] = field(default_factory=list)


Fix = Callable[[Expr, exp.Expr], Expr]


class SelectLowering:
    """Lowers one SELECT. `lower` is the whole of it; `block` is what EXISTS and IN need of a subquery."""

    def __init__(self, base: Lowering, e: exp.Select, ctes: Ctes, outer: Scope | None) -> None:
        self.base, self.e, self.ctes = base, e, ctes
        self.scope = Scope(outer=outer)
        self.plain = base.plain(self.scope, ctes)
        self.places: dict[str, int | None] = {}

    def lower(self) -> Lowered:
        node, correlated = self.block()
        if correlated:
            raise Unsupported(
                "a correlated subquery is supported in EXISTS, IN and scalar comparisons on equality only",
                hint="Correlate with inner.column = outer.column.",
                position=position(self.e),
            )
        return self.output(node)

    # ------------------------------------------------------------ FROM and WHERE

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
        node = assemble(self.base.facts, block.trees, local)
        for test in block.tests:
            node = Subqueries(self.base, self.scope, self.ctes).apply(node, test)
        return node, correlated

    def _add(self, block: Block, e: exp.Expr) -> tuple[Node, Relation]:
        if isinstance(e, exp.Paren) or (
            isinstance(e, exp.Subquery) and not isinstance(e.this, exp.Query)
        ):
            return self._nested(block, e)
        node, relation = self.base.relation(e, self.ctes, self.scope)
        self._introduce(relation, e)
        block.trees.append(node)
        for join in e.args.get("joins") or ():
            self._join(block, join)
        return node, relation

    def _nested(self, block: Block, e: exp.Expr) -> tuple[Node, Relation]:
        raise Unsupported(
            "a parenthesised join is not supported",
            hint="Write it as a subquery.",
            position=position(e),
        )

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
                found = Subqueries(self.base, self.scope, self.ctes).correlated_scalars(part)
                if found:
                    block.tests.append(part)
                else:
                    block.conditions += conjuncts(factored(self.plain.boolean(part)))

    def _join(self, block: Block, join: exp.Join) -> None:
        side = str(join.args.get("side") or "").upper()
        if str(join.args.get("kind") or "").upper() in ("SEMI", "ANTI", "ASOF") or join.args.get(
            "global"
        ):
            raise Unsupported("this kind of join is not supported", position=position(join))
        before = list(self.scope.relations)
        if _is_comma(join):
            block.first = len(before)
        node, relation = self._add(block, join.this)
        conditions = self._on(block, join, before, relation, side)
        if side:
            whole = frozenset(c.id for r in before[block.first :] for c in r.columns)
            self._outer(block, node, side, conditions, whole)
        else:
            block.conditions += conditions

    def _on(
        self, block: Block, join: exp.Join, before: list[Relation], new: Relation, side: str
    ) -> list[Expr]:
        using = [fold(c) for c in join.args.get("using") or ()]
        if str(join.args.get("method") or "").upper() == "NATURAL":
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
        block.trees.append(outer_join(left, right, "full" if side == "FULL" else "left", on))

    # ------------------------------------------------------------ grouping and output

    def output(self, node: Node) -> Lowered:
        e = self.e
        items = self.items()
        clauses = [item for _, item in items] + [
            part
            for key in ("having", "order")
            if e.args.get(key) is not None
            for part in (e.args[key].expressions if key == "order" else [e.args[key]])
        ]
        if e.args.get("group") or any(contains_aggregate(part) for part in clauses):
            return self._grouped(node, items)
        if e.args.get("having"):
            raise GroupingError(
                "HAVING needs GROUP BY or an aggregate", position=position(e.args["having"])
            )
        aggregates = Aggregates(self.plain, self.base.fresh)
        lowering = self.base.expressions(self.scope, self.ctes, aggregates.hook)
        aggregates.outer = lowering
        return self._finish(node, items, lowering, lambda expr, _: expr)

    def items(self) -> list[tuple[str, exp.Expr]]:
        """Output columns as (name, expression); stars are expanded into column references."""
        found: list[tuple[str, exp.Expr]] = []
        for item in self.e.expressions:
            star = isinstance(item, exp.Star) or (
                isinstance(item, exp.Column) and isinstance(item.this, exp.Star)
            )
            if star:
                if any(item.args.get(key) for key in ("except_", "except", "replace", "rename")):
                    raise Unsupported(
                        "* with EXCEPT, REPLACE or RENAME is not supported", position=position(item)
                    )
                found += self._star(item)
            else:
                found.append((_name(item), item.this if isinstance(item, exp.Alias) else item))
        return found

    def _star(self, item: exp.Expr) -> list[tuple[str, exp.Expr]]:
        table = fold(item.args.get("table")) if isinstance(item, exp.Column) else ""
        relations = [r for r in self.scope.relations if not table or r.alias == table]
        if not relations:
            raise SyntaxError_(
                f'missing FROM-clause entry for table "{table}"', position=position(item)
            )
        seen: set[str] = set()
        found: list[tuple[str, exp.Expr]] = []
        for relation in relations:
            for column in relation.columns:
                merged = not table and column.name in self.scope.merged
                if merged and column.name in seen:
                    continue
                seen.add(column.name)
                qualifier = None if merged else exp.to_identifier(relation.alias, quoted=True)
                found.append(
                    (
                        column.name,
                        exp.Column(
                            this=exp.to_identifier(column.name, quoted=True), table=qualifier
                        ),
                    )
                )
        return found

    def _grouped(self, node: Node, items: list[tuple[str, exp.Expr]]) -> Lowered:
        keys = self._keys(items)
        aggregates = Aggregates(self.plain, self.base.fresh)
        lowering = self.base.expressions(self.scope, self.ctes, aggregates.hook)
        aggregates.outer = lowering
        names = {key: id for id, key in keys}

        def over_groups(expr: Expr, at: exp.Expr) -> Expr:
            replaced = rewrite(
                expr, lambda part: Col(names[part], held(part)) if part in names else None
            )
            known = set(names.values()) | {agg.id for agg in aggregates.aggs}
            if not reads(replaced) <= known:
                name = f'column "{at.name}"' if isinstance(at, exp.Column) else "a column"
                raise GroupingError(
                    f"{name} must appear in the GROUP BY clause or be used in an aggregate function",
                    hint="Add it to GROUP BY, or aggregate it, as in COUNT(x) or MIN(x).",
                    position=position(at),
                )
            return replaced

        having = self.e.args.get("having")
        condition = (
            over_groups(lowering.boolean(having.this), having) if having is not None else None
        )
        outputs = [
            (name, over_groups(self._typed(lowering.lower(item)), item), item)
            for name, item in items
        ]
        order = self._order_items(items, outputs, lowering, over_groups)
        projected = dict(keys) | dict(aggregates.arguments)
        grouped: Node = Aggregate(
            Project(node, tuple(projected.items())),
            tuple(id for id, _ in keys),
            tuple(aggregates.aggs),
            tuple(self.places[id] for id, _ in keys),
        )
        if condition is not None:
            grouped = Select(grouped, condition)
        return self._project(grouped, [(name, expr) for name, expr, _ in outputs], order)

    def _typed(self, expr: Expr) -> Expr:
        return self.plain.coerce(expr, TEXT) if untyped(expr) else expr

    def _keys(self, items: list[tuple[str, exp.Expr]]) -> list[tuple[str, Expr]]:
        group = self.e.args.get("group")
        if group is None:
            return []
        for clause in ("grouping_sets", "cube", "rollup", "totals", "all"):
            if group.args.get(clause):
                raise Unsupported(
                    f"{clause.upper().replace('_', ' ')} is not supported",
                    hint="Ask for each grouping in a query of its own.",
                    position=position(group),
                )
        found: list[tuple[str, Expr]] = []
        for item in group.expressions:
            name, expr = self._key(item, items)
            if any(expr == known for _, known in found):
                continue
            id = expr.id if isinstance(expr, Col) else self.base.fresh(name)
            found.append((id, expr))
            self.places[id] = position(item)
        return found

    def _key(self, item: exp.Expr, items: list[tuple[str, exp.Expr]]) -> tuple[str, Expr]:
        """A GROUP BY item: a position, an output name that is no input column, or an expression."""
        if isinstance(item, exp.Literal) and not item.is_string:
            index = int(str(item.this)) if str(item.this).isdigit() else 0
            if not 1 <= index <= len(items):
                raise SyntaxError_(
                    f"GROUP BY position {item.this} is not in select list", position=position(item)
                )
            name, chosen = items[index - 1]
            return name, self.plain.lower(chosen)
        if isinstance(item, exp.Column) and not item.args.get("table"):
            name = fold(item.this)
            inputs = {c.name for r in self.scope.relations for c in r.columns}
            match = next((e for n, e in items if n == name), None)
            if match is not None and name not in inputs:
                return name, self.plain.lower(match)
        return _name(item), self.plain.lower(item)

    def _finish(
        self, node: Node, items: list[tuple[str, exp.Expr]], lowering: Expressions, fix: Fix
    ) -> Lowered:
        outputs = [(name, self._typed(lowering.lower(item)), item) for name, item in items]
        order = self._order_items(items, outputs, lowering, lambda expr, _: expr)
        return self._project(node, [(name, expr) for name, expr, _ in outputs], order)

    def _order_items(
        self,
        items: list[tuple[str, exp.Expr]],
        outputs: list[tuple[str, Expr, exp.Expr]],
        lowering: Expressions,
        fix: Fix,
    ) -> list[tuple[Expr, bool, bool]]:
        order = self.e.args.get("order")
        found = []
        for item in order.expressions if order is not None else ():
            expr = self._order_expr(item.this, outputs)
            if expr is None:
                expr = fix(lowering.lower(item.this), item)
            found.append((expr, bool(item.args.get("desc")), bool(item.args.get("nulls_first"))))
        return found

    def _order_expr(
        self, e: exp.Expr, outputs: Sequence[tuple[str, Expr, exp.Expr]]
    ) -> Expr | None:
        """Output names come first in ORDER BY, as in Postgres."""
        if isinstance(e, exp.Literal) and not e.is_string:
            index = int(str(e.this)) if str(e.this).isdigit() else 0
            if not 1 <= index <= len(outputs):
                raise SyntaxError_(
                    f"ORDER BY position {e.this} is not in select list", position=position(e)
                )
            return outputs[index - 1][1]
        if isinstance(e, exp.Column) and not e.args.get("table"):
            return next((expr for name, expr, _ in outputs if name == fold(e.this)), None)
        return None

    def _project(
        self, node: Node, outputs: list[tuple[str, Expr]], order: list[tuple[Expr, bool, bool]]
    ) -> Lowered:
        projected: dict[str, Expr] = {}
        named = [self._output(name, expr, projected) for name, expr in outputs]
        shown = tuple(projected.items())
        keys = [self._sort_key(expr, projected, desc, nulls) for expr, desc, nulls in order]
        distinct = self.e.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            raise Unsupported(
                "DISTINCT ON is not supported", hint="Use GROUP BY.", position=position(distinct)
            )
        hidden = len(projected) > len(shown)
        if distinct is not None and hidden:
            raise SyntaxError_(
                "for SELECT DISTINCT, ORDER BY expressions must appear in select list"
            )
        result: Node = Project(node, tuple(projected.items()))
        if distinct is not None:
            result = Distinct(result)
        if keys:
            result = Sort(result, tuple(keys))
        result = self.base.limited(result, self.e)
        if hidden:
            result = Project(result, tuple((id, Col(id, held(expr))) for id, expr in shown))
        return Lowered(result, tuple(named))

    def _output(self, name: str, expr: Expr, projected: dict[str, Expr]) -> Named:
        id = (
            expr.id if isinstance(expr, Col) and expr.id not in projected else self.base.fresh(name)
        )
        projected[id] = expr
        return Named(name, id, held(expr))

    def _sort_key(
        self, expr: Expr, projected: dict[str, Expr], desc: bool, nulls_first: bool
    ) -> tuple[str, bool, bool]:
        for id, known in projected.items():
            if known == expr:
                return id, desc, nulls_first
        id = self.base.fresh("order")
        projected[id] = expr
        return id, desc, nulls_first


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


def _name(e: exp.Expr) -> str:
    """The column name Postgres would give."""
    match e:
        case exp.Alias():
            return fold(e.args["alias"])
        case exp.Column():
            return fold(e.this)
        case exp.Cast():
            return (
                _name(e.this)
                if isinstance(e.this, exp.Column)
                else str(e.to.sql("postgres")).lower()
            )
        case exp.Paren() | exp.Filter() | exp.Window() | exp.WithinGroup():
            return _name(e.this)
        case exp.Case():
            return "case"
        case exp.TimestampTrunc():
            return "date_trunc"
        case exp.Binary() | exp.Literal() | exp.Neg() | exp.Subquery() | exp.Parameter():
            return "?column?"
        case exp.Func():
            names = {"logical_or": "bool_or", "logical_and": "bool_and", "ceil": "ceil"}
            own = str(e.sql_name()).lower()
            return names.get(own, own)
        case _:
            return "?column?"
