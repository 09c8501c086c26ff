"""Subqueries in WHERE: EXISTS and IN as semi joins, correlated scalars as grouped joins."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from dp4sql.algebra.expr import Call, Col, Expr, Lit, conjunction, conjuncts, reads, rewrite
from dp4sql.algebra.nodes import Aggregate, Join, Node, Project, Select, Semi, columns, ids
from dp4sql.algebra.types import Type
from dp4sql.errors import SyntaxError_, UndefinedTable, Unsupported
from dp4sql.infer.facts import strict_columns
from dp4sql.sql.aggregates import Aggregates, contains_aggregate
from dp4sql.sql.joins import equality, joinable
from dp4sql.sql.lower import Lowering
from dp4sql.sql.lowered import Ctes, Lowered
from dp4sql.sql.names import Scope
from dp4sql.sql.parse import position


def bare(e: exp.Expr) -> exp.Expr:
    while isinstance(e, exp.Paren):
        e = e.this
    return e


def _stripped(e: exp.Expr) -> tuple[exp.Expr, bool]:
    """The test under NOTs and brackets, and whether it is negated."""
    negated = False
    e = bare(e)
    while isinstance(e, exp.Not):
        negated = not negated
        e = bare(e.this)
    return e, negated


def is_subquery_test(e: exp.Expr) -> bool:
    """EXISTS (...), x IN (SELECT ...), x = ANY (SELECT ...), and their negations."""
    test, _ = _stripped(e)
    if isinstance(test, exp.Exists):
        return True
    if isinstance(test, exp.In):
        return test.args.get("query") is not None
    return (
        isinstance(test, exp.EQ)
        and isinstance(test.expression, exp.Any)
        and _query_in(test.expression) is not None
    )


def _query_in(e: exp.Expr) -> exp.Expr | None:
    inner = bare(e.this)
    if isinstance(inner, exp.Subquery):
        inner = inner.this
    return inner if isinstance(inner, exp.Query) else None


@dataclass(frozen=True, slots=True)
class Correlation:
    """Conditions between an outer row and a row of the subquery: equalities and the rest."""

    pairs: tuple[tuple[str, str], ...]
    residual: Expr | None


class Subqueries:
    """Applies the subquery tests of one WHERE clause to the tree built so far."""

    def __init__(self, base: Lowering, scope: Scope, ctes: Ctes) -> None:
        self.base, self.scope, self.ctes = base, scope, ctes

    def apply(self, node: Node, test: exp.Expr) -> Node:
        inner, negated = _stripped(test)
        if not is_subquery_test(test):
            return self._compared(node, test)
        if isinstance(inner, exp.Exists):
            return self._exists(node, inner, negated)
        if isinstance(inner, exp.In):
            return self._in(node, inner.this, inner.args["query"], negated, inner)
        query = _query_in(inner.expression)
        assert query is not None
        return self._in(node, inner.this, query, negated, inner)

    # ------------------------------------------------------------ EXISTS

    def _exists(self, node: Node, e: exp.Exists, negated: bool) -> Node:
        query = bare(e.this)
        query = query.this if isinstance(query, exp.Subquery) else query
        if not isinstance(query, exp.Select) or _groups(query):
            right = self._closed(query).node
            return Semi(node, right, (), None, negated, at=position(e))
        if not _one_row(query):
            _no_limit(query)
        right, correlated = self._select(query).block()
        link = self._correlation(node, right, correlated, e)
        return Semi(node, right, link.pairs, link.residual, negated, at=position(e))

    def _select(self, query: exp.Select):  # type: ignore[no-untyped-def]
        from dp4sql.sql.select import SelectLowering

        ctes = self.base.with_ctes(query, self.ctes)
        return SelectLowering(self.base, query, ctes, self.scope)

    def _closed(self, query: exp.Expr) -> Lowered:
        """A subquery that groups, or is no SELECT: as a whole, and so without the outer query's columns."""
        try:
            return self.base.query(query, self.ctes, None)
        except UndefinedTable as error:
            if all(f'"{r.alias}"' not in error.message for r in self.scope.relations):
                raise
            raise Unsupported(
                "a correlated subquery that groups or combines queries has no rule",
                hint="Group in a subquery of FROM and join it, as in "
                "JOIN (SELECT k, COUNT(*) AS n FROM t GROUP BY k) s ON s.k = x.k WHERE s.n > 1.",
                position=position(query),
            ) from error

    def _correlation(self, left: Node, right: Node, parts: list[Expr], e: exp.Expr) -> Correlation:
        mine, theirs = ids(left), ids(right)
        pairs, rest = [], []
        for part in parts:
            if not reads(part) <= mine | theirs:
                raise Unsupported(
                    "a subquery reaches past the SELECT that encloses it",
                    hint="Correlate each subquery with the query directly around it.",
                    position=position(e),
                )
            found = equality(part)
            if found is not None and found[0].id in mine and found[1].id in theirs:
                pairs.append((found[0].id, found[1].id))
            elif found is not None and found[1].id in mine and found[0].id in theirs:
                pairs.append((found[1].id, found[0].id))
            else:
                rest.append(part)
        return Correlation(tuple(pairs), conjunction(tuple(rest)) if rest else None)

    # ------------------------------------------------------------ IN

    def _in(self, node: Node, left: exp.Expr, query: exp.Expr, negated: bool, at: exp.Expr) -> Node:
        query = bare(query)
        query = query.this if isinstance(query, exp.Subquery) else query
        lefts = left.expressions if isinstance(left, exp.Tuple) else [bare(left)]
        right, values, correlated = self._values(query)
        if len(values) != len(lefts):
            raise SyntaxError_("subquery has the wrong number of columns", position=position(at))
        node, pairs = self._keys(node, lefts, values, at)
        link = self._correlation(node, right, correlated, at)
        nulls = negated and self._may_be_null(node, right, pairs)
        return Semi(
            node, right, (*pairs, *link.pairs), link.residual, negated, nulls, position(left)
        )

    def _may_be_null(self, left: Node, right: Node, pairs: tuple[tuple[str, str], ...]) -> bool:
        """Where neither side can be NULL, NOT IN is NOT EXISTS, whatever an engine finds in the columns."""
        mine, theirs = self.base.facts.columns(left), self.base.facts.columns(right)
        return any(mine[a].nullable or theirs[b].nullable for a, b in pairs)

    def _values(self, query: exp.Expr) -> tuple[Node, list[Col], list[Expr]]:
        """The subquery's rows with its output columns, and its conditions on the outer row."""
        if not isinstance(query, exp.Select) or _groups(query):
            inner = self._closed(query)
            return inner.node, [c.col for c in inner.columns], []
        _no_limit(query)
        select = self._select(query)
        node, correlated = select.block()
        outputs = [select.plain.lower(item) for _, item in select.items()]
        extra = {self.base.fresh("in"): expr for expr in outputs if not isinstance(expr, Col)}
        if extra:
            own = tuple((id, Col(id, type)) for id, type in columns(node))
            node = Project(node, (*own, *extra.items()))
        names = {expr: id for id, expr in extra.items()}
        return (
            node,
            [e if isinstance(e, Col) else Col(names[e], e.type) for e in outputs],
            correlated,
        )

    def _keys(
        self, node: Node, lefts: list[exp.Expr], values: list[Col], at: exp.Expr
    ) -> tuple[Node, tuple[tuple[str, str], ...]]:
        plain = self.base.plain(self.scope, self.ctes)
        pairs = []
        for left, value in zip(lefts, values, strict=True):
            expr = plain.coerce(plain.lower(left), value.type)
            if not joinable(expr.type, value.type):
                raise Unsupported(
                    f"IN between {expr.type.kind} and {value.type.kind} is not supported",
                    hint="Cast one side to the type of the other.",
                    position=position(at),
                )
            node, id = self._column(node, expr)
            pairs.append((id, value.id))
        return node, tuple(pairs)

    def _column(self, node: Node, expr: Expr) -> tuple[Node, str]:
        if isinstance(expr, Col):
            return node, expr.id
        id = self.base.fresh("in")
        own = tuple((c, Col(c, type)) for c, type in columns(node))
        return Project(node, (*own, (id, expr))), id

    # ------------------------------------------------------------ correlated scalars

    def correlated_scalars(self, e: exp.Expr) -> list[exp.Subquery]:
        """Scalar subqueries in `e` that read a column of this SELECT."""
        found = []
        for part in e.find_all(exp.Subquery):
            if isinstance(part.this, exp.Select) and not isinstance(
                part.parent, (exp.In, exp.Exists)
            ):
                _, correlated = self._select(part.this).block()
                if correlated:
                    found.append(part)
        return found

    def _compared(self, node: Node, e: exp.Expr) -> Node:
        """x < (SELECT aggregate FROM ... WHERE inner = outer): joined with the subquery grouped by `inner`."""
        values: dict[int, Expr] = {}
        for part in self.correlated_scalars(e):
            node, values[id(part)] = self._grouped(node, part)
        predicate = self.base.replacing(self.scope, self.ctes, values).boolean(e)
        return Select(self._tightened(node, predicate), predicate)

    def _tightened(self, node: Node, predicate: Expr) -> Node:
        """A LEFT JOIN whose padded rows the predicate rejects is an inner join."""
        if not isinstance(node, Join) or node.kind != "left":
            return node
        strict = frozenset(id for part in conjuncts(predicate) for id in strict_columns(part))
        if strict & ids(node.right):
            return replace(node, kind="inner")
        return node

    def _grouped(self, node: Node, e: exp.Subquery) -> tuple[Node, Expr]:
        query = e.this
        _no_limit(query)
        if any(query.args.get(part) for part in ("group", "having")) or not all(
            contains_aggregate(item) for item in query.expressions
        ):
            raise Unsupported(
                "a correlated scalar subquery must be one aggregate without GROUP BY and HAVING",
                hint="For instance (SELECT AVG(x) FROM t WHERE t.k = outer.k).",
                position=position(e),
            )
        select = self._select(query)
        right, correlated = select.block()
        link = self._correlation(node, right, correlated, e)
        if link.residual is not None or not link.pairs:
            raise Unsupported(
                "a correlated scalar subquery is supported on equality only",
                hint="Correlate with inner.column = outer.column.",
                position=position(e),
            )
        aggregates = Aggregates(select.plain, self.base.fresh)
        (item,) = [item for _, item in select.items()]
        value = self.base.expressions(select.scope, self.ctes, aggregates.hook).lower(item)
        types = dict(columns(right))
        keys = tuple(dict.fromkeys(b for _, b in link.pairs))
        projected = {key: Col(key, types[key]) for key in keys} | dict(aggregates.arguments)
        grouped = Aggregate(Project(right, tuple(projected.items())), keys, tuple(aggregates.aggs))
        joined = Join(node, grouped, "left", link.pairs, correlated=True)
        counts = {agg.id for agg in aggregates.aggs if agg.function.startswith("count")}
        return joined, rewrite(
            value, lambda part: _zero(part) if isinstance(part, Col) and part.id in counts else None
        )


def _one_row(query: exp.Select) -> bool:
    """LIMIT 1, which EXISTS may as well do without."""
    limit = query.args.get("limit")
    one = limit is not None and str(getattr(limit.expression, "this", "")) == "1"
    return one and not query.args.get("offset")


def _no_limit(query: exp.Select) -> None:
    limit = query.args.get("limit") or query.args.get("offset")
    if limit is not None:
        raise Unsupported(
            "LIMIT in this subquery picks rows by their order, which no rule bounds",
            hint="Leave it out: EXISTS and IN ask for any row.",
            position=position(limit),
        )


def _zero(count: Expr) -> Expr:
    """COUNT over no rows is 0 where the join gives NULL."""
    return Call("coalesce", (count, Lit(0, Type("bigint"))), count.type)


def _groups(query: exp.Select) -> bool:
    clauses = [
        query.args.get("group"),
        query.args.get("having"),
        query.args.get("distinct") if query.args.get("limit") else None,
    ]
    return any(c is not None for c in clauses) or any(
        contains_aggregate(item) for item in query.expressions
    )
