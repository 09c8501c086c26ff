"""Subqueries that are conditions of their own in WHERE: EXISTS and IN as semi joins."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from dp4sql.algebra.expr import Col, Expr, conjunction, reads
from dp4sql.algebra.nodes import Node, Project, Semi, columns, ids
from dp4sql.errors import SyntaxError_, UndefinedTable, Unsupported
from dp4sql.sql.lower.aggregates import contains_aggregate
from dp4sql.sql.lower.joins import equality, joinable
from dp4sql.sql.lower.lowered import Ctes, Lowered, unwrapped
from dp4sql.sql.lower.lowering import Lowering
from dp4sql.sql.lower.names import Scope
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
        and query_in(test.expression) is not None
    )


def query_in(e: exp.Expr) -> exp.Expr | None:
    inner = unwrapped(bare(e.this))
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
        if isinstance(inner, exp.Exists):
            return self._exists(node, inner, negated)
        if isinstance(inner, exp.In):
            return self._in(node, inner.this, inner.args["query"], negated, inner)
        query = query_in(inner.expression)
        assert query is not None
        return self._in(node, inner.this, query, negated, inner)

    # ------------------------------------------------------------ EXISTS

    def _exists(self, node: Node, e: exp.Exists, negated: bool) -> Node:
        query = unwrapped(bare(e.this))
        if not isinstance(query, exp.Select) or groups(query):
            right = self._closed(query).node
            return Semi(node, right, (), None, negated, at=position(e))
        if not one_row(query):
            no_limit(query)
        right, correlated = self.select(query).block()
        link = self.correlation(node, right, correlated, e)
        return Semi(node, right, link.pairs, link.residual, negated, at=position(e))

    def select(self, query: exp.Select):  # type: ignore[no-untyped-def]
        from dp4sql.sql.lower.select import SelectLowering

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

    def correlation(self, left: Node, right: Node, parts: list[Expr], e: exp.Expr) -> Correlation:
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
        query = unwrapped(bare(query))
        lefts = left.expressions if isinstance(left, exp.Tuple) else [bare(left)]
        right, values, correlated = self.values(query)
        if len(values) != len(lefts):
            raise SyntaxError_("subquery has the wrong number of columns", position=position(at))
        node, pairs = self.keys(node, lefts, values, at)
        link = self.correlation(node, right, correlated, at)
        nulls = negated and self.may_be_null(node, right, pairs)
        return Semi(
            node, right, (*pairs, *link.pairs), link.residual, negated, nulls, position(left)
        )

    def may_be_null(self, left: Node, right: Node, pairs: tuple[tuple[str, str], ...]) -> bool:
        """Where neither side can be NULL, NOT IN is NOT EXISTS, whatever an engine finds in the columns."""
        mine, theirs = self.base.facts.columns(left), self.base.facts.columns(right)
        return any(mine[a].nullable or theirs[b].nullable for a, b in pairs)

    def values(self, query: exp.Expr) -> tuple[Node, list[Col], list[Expr]]:
        """The subquery's rows with its output columns, and its conditions on the outer row."""
        if not isinstance(query, exp.Select) or groups(query):
            inner = self._closed(query)
            return inner.node, [c.col for c in inner.columns], []
        no_limit(query)
        select = self.select(query)
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

    def keys(
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


def one_row(query: exp.Select) -> bool:
    """LIMIT 1, which EXISTS may as well do without."""
    limit = query.args.get("limit")
    one = limit is not None and str(getattr(limit.expression, "this", "")) == "1"
    return one and not query.args.get("offset")


def no_limit(query: exp.Select) -> None:
    limit = query.args.get("limit") or query.args.get("offset")
    if limit is not None:
        raise Unsupported(
            "LIMIT in this subquery picks rows by their order, which no rule bounds",
            hint="Leave it out: EXISTS and IN ask for any row.",
            position=position(limit),
        )


def groups(query: exp.Select) -> bool:
    distinct = query.args.get("distinct")
    picks = distinct is not None and (query.args.get("limit") or distinct.args.get("on"))
    clauses = [
        query.args.get("group"),
        query.args.get("having"),
        distinct if picks else None,
    ]
    return any(c is not None for c in clauses) or any(
        contains_aggregate(item) for item in query.expressions
    )
