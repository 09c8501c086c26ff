"""One SELECT to algebra: FROM and WHERE, subqueries, grouping, output, order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from sqlglot import exp

from dp4sql.algebra.digits import held
from dp4sql.algebra.expr import Call, Col, Expr, Interval_, Lit, Over, reads, rewrite
from dp4sql.algebra.nodes import Aggregate, Distinct, Node, Project, Select, Sort
from dp4sql.algebra.types import BIGINT, BOOLEAN, TEXT
from dp4sql.errors import GroupingError, SyntaxError_, Unsupported, located
from dp4sql.sql.lower.aggregates import Aggregates, contains_aggregate
from dp4sql.sql.lower.attached import Attached
from dp4sql.sql.lower.block import BlockLowering
from dp4sql.sql.lower.expressions import Expressions
from dp4sql.sql.lower.expressions.types import untyped
from dp4sql.sql.lower.headings import output_name
from dp4sql.sql.lower.lowered import Ctes, Lowered
from dp4sql.sql.lower.lowering import Lowering
from dp4sql.sql.lower.names import Named, Scope, fold
from dp4sql.sql.lower.windows import named_windows, sort_keys
from dp4sql.sql.parse import position

Fix = Callable[[Expr, exp.Expr], Expr]


class SelectLowering:
    """Lowers one SELECT. `lower` is the whole of it; `block` is what EXISTS and IN need of a subquery."""

    def __init__(self, base: Lowering, e: exp.Select, ctes: Ctes, outer: Scope | None) -> None:
        self.base, self.e, self.ctes = base, e, ctes
        self.scope = Scope(outer=outer)
        self.plain = base.plain(self.scope, ctes)
        self.places: dict[str, int | None] = {}
        self.attached: dict[int, Expr] = {}

    def lower(self) -> Lowered:
        node, correlated = self.block()
        if correlated:
            raise Unsupported(
                "a correlated subquery is supported in EXISTS, IN and scalar comparisons on equality only",
                hint="Correlate with inner.column = outer.column.",
                position=position(self.e),
            )
        return self.output(self._attach(node))

    def _attach(self, node: Node) -> Node:
        """`node` with what subqueries in the output and in GROUP BY say of its rows."""
        attached = Attached(self.base, self.scope, self.ctes)
        for e in self._clauses("expressions", "group", "having", "order"):
            node, values = attached.attach(node, e, attached.find(e))
            self.attached |= values
        self.plain = self.base.replacing(self.plain, self.attached)
        return node

    def _clauses(self, *keys: str) -> list[exp.Expr]:
        found = (self.e.args.get(key) for key in keys)
        lists = (part if isinstance(part, list) else [part] for part in found if part is not None)
        return [e for part in lists for e in part]

    def _over(self, aggregates: Aggregates) -> Expressions:
        """Output expressions over `aggregates`."""
        aggregates.windows = named_windows(self.e)
        lowering = self.base.expressions(self.scope, self.ctes, aggregates.hook)
        aggregates.outer = self.base.replacing(lowering, self.attached)
        return aggregates.outer

    def block(self) -> tuple[Node, list[Expr]]:
        """The joined and filtered FROM clause, and the conditions that reach outside."""
        return BlockLowering(self.base, self.e, self.ctes, self.scope, self.plain).block()

    # ------------------------------------------------------------ grouping and output

    def output(self, node: Node) -> Lowered:
        e = self.e
        items = self.items()
        clauses = [*(item for _, item in items), *self._clauses("having", "order")]
        if e.args.get("group") or any(contains_aggregate(part) for part in clauses):
            return self._grouped(node, items)
        if e.args.get("having"):
            raise GroupingError(
                "HAVING needs GROUP BY or an aggregate", position=position(e.args["having"])
            )
        aggregates = Aggregates(self.plain, self.base.fresh, partial(self.base.facts.columns, node))
        return self._finish(node, items, self._over(aggregates), lambda expr, _: expr)

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
                found.append(
                    (output_name(item), item.this if isinstance(item, exp.Alias) else item)
                )
        return found

    def _star(self, item: exp.Expr) -> list[tuple[str, exp.Expr]]:
        table = fold(item.args.get("table")) if isinstance(item, exp.Column) else ""
        schema = fold(item.args.get("db")) if isinstance(item, exp.Column) else ""
        relations = [r for r in self.scope.relations if r.is_called(table, schema)]
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
        aggregates = Aggregates(self.plain, self.base.fresh, partial(self.base.facts.columns, node))
        lowering = self._over(aggregates)
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
            (name, over_groups(self._typed(lowering.lower(item), item), item), item)
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
        first = self._on(outputs, lowering, over_groups)
        return self._project(grouped, [(name, expr) for name, expr, _ in outputs], order, first)

    def _typed(self, expr: Expr, item: exp.Expr) -> Expr:
        """An output that is NULL or a text in quotes has the type of its counterparts in a UNION."""
        if isinstance(expr, Lit) and isinstance(expr.value, Interval_) and expr.value.months:
            raise Unsupported(
                "an interval of months is not shown: engines hand it over as days",
                hint="Add it to a date or a timestamp, or show a number of months.",
                position=position(item),
            )
        with located(position(item)):
            type = self.base.untyped.get(id(item), TEXT)
            return self.plain.coerce(expr, type) if untyped(expr) else expr

    def _keys(self, items: list[tuple[str, exp.Expr]]) -> list[tuple[str, Expr]]:
        group = self.e.args.get("group")
        if group is None:
            return []
        found: list[tuple[str, Expr]] = []
        for item in group.expressions or _without_aggregates(items):
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
        return output_name(item), self.plain.lower(item)

    def _finish(
        self, node: Node, items: list[tuple[str, exp.Expr]], lowering: Expressions, fix: Fix
    ) -> Lowered:
        outputs = [(name, self._typed(lowering.lower(item), item), item) for name, item in items]
        order = self._order_items(items, outputs, lowering, lambda expr, _: expr)
        first = self._on(outputs, lowering, fix)
        return self._project(node, [(name, expr) for name, expr, _ in outputs], order, first)

    def _order_items(
        self,
        items: list[tuple[str, exp.Expr]],
        outputs: list[tuple[str, Expr, exp.Expr]],
        lowering: Expressions,
        fix: Fix,
    ) -> list[tuple[Expr, bool, bool]]:
        order = self.e.args.get("order")
        found = []
        if order is not None and self._is_all(order, outputs):
            (item,) = order.expressions
            how = bool(item.args.get("desc")), bool(item.args.get("nulls_first"))
            return [(expr, *how) for _, expr, _ in outputs]
        for item in order.expressions if order is not None else ():
            expr = self._order_expr(item.this, outputs)
            if expr is None:
                expr = fix(lowering.lower(item.this), item)
            found.append((expr, bool(item.args.get("desc")), bool(item.args.get("nulls_first"))))
        return found

    def _is_all(self, order: exp.Order, outputs: Sequence[tuple[str, Expr, exp.Expr]]) -> bool:
        """ORDER BY ALL, by every output column, where none is called so."""
        first = order.expressions[0].this
        written = isinstance(first, exp.Column) and isinstance(first.this, exp.Identifier)
        if len(order.expressions) > 1 or not written or first.args.get("table"):
            return False
        names = {c.name for r in self.scope.relations for c in r.columns}
        free = "all" not in names | {name for name, _, _ in outputs}
        return free and fold(first.this) == "all" and not first.this.args.get("quoted")

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
        self,
        node: Node,
        outputs: list[tuple[str, Expr]],
        order: list[tuple[Expr, bool, bool]],
        first: tuple[Expr, ...],
    ) -> Lowered:
        """`first`: the keys of DISTINCT ON."""
        projected: dict[str, Expr] = {}
        named = [self._output(name, expr, projected) for name, expr in outputs]
        shown = tuple(projected.items())
        keys = [self._sort_key(expr, projected, desc, nulls) for expr, desc, nulls in order]
        distinct = self.e.args.get("distinct")
        if distinct is not None and distinct.args.get("on"):
            return self._first_of_each(node, outputs, order, first)
        hidden = len(projected) > len(shown)
        if distinct is not None and hidden:
            raise SyntaxError_(
                "for SELECT DISTINCT, ORDER BY expressions must appear in select list"
            )
        result: Node = Project(node, tuple(projected.items()))
        if distinct is not None:
            result = Distinct(result, tuple(position(item) for _, item in self.items()))
        if keys:
            result = Sort(result, tuple(keys))
        result = self.base.limited(result, self.e)
        if hidden:
            result = Project(result, tuple((id, Col(id, held(expr))) for id, expr in shown))
        return Lowered(result, tuple(named))

    def _first_of_each(
        self,
        node: Node,
        outputs: list[tuple[str, Expr]],
        order: list[tuple[Expr, bool, bool]],
        keys: tuple[Expr, ...],
    ) -> Lowered:
        """DISTINCT ON (keys): in the order of the statement the first row of each."""
        projected: dict[str, Expr] = {}
        named = [self._output(name, expr, projected) for name, expr in outputs]
        shown = tuple((id, Col(id, held(expr))) for id, expr in projected.items())
        sort = [self._sort_key(expr, projected, desc, nulls) for expr, desc, nulls in order]
        place = self.base.fresh("place")
        by = tuple(key for item in order for key in sort_keys(*item))
        at = position(self.e.args["distinct"])
        projected[place] = Over("row_number", (), keys, by, None, BIGINT, at)
        first = Call("=", (Col(place, BIGINT), Lit(1, BIGINT)), BOOLEAN)
        result: Node = Select(Project(node, tuple(projected.items())), first)
        if sort:
            result = Sort(result, tuple(sort))
        return Lowered(Project(self.base.limited(result, self.e), shown), tuple(named))

    def _on(
        self, outputs: Sequence[tuple[str, Expr, exp.Expr]], lowering: Expressions, fix: Fix
    ) -> tuple[Expr, ...]:
        """The keys of DISTINCT ON: output names, positions or expressions."""
        distinct = self.e.args.get("distinct")
        on = distinct.args.get("on") if distinct is not None else None
        items = on.expressions if isinstance(on, exp.Tuple) else [on] if on is not None else []
        return tuple(
            self._order_expr(item, outputs) or fix(lowering.lower(item), item) for item in items
        )

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


def _without_aggregates(items: Sequence[tuple[str, exp.Expr]]) -> list[exp.Expr]:
    """What GROUP BY ALL groups by."""
    return [item for _, item in items if not contains_aggregate(item)]
