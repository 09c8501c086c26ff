"""Subqueries within expressions: what they say of each row is joined to it.

A correlated scalar subquery is joined with its groups. EXISTS and IN beside OR, in CASE or in an aggregate become
a LEFT JOIN with the distinct keys of the subquery, and ask whether a row was met.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from sqlglot import exp

from dp4sql.algebra.expr import Call, Col, Expr, Lit, conjunction, conjuncts, rewrite
from dp4sql.algebra.nodes import Aggregate, Distinct, Join, Node, Project, Select, columns, ids
from dp4sql.algebra.types import BOOLEAN, Type
from dp4sql.errors import Unsupported
from dp4sql.infer.facts import strict_columns
from dp4sql.sql.lower.aggregates import Aggregates, contains_aggregate
from dp4sql.sql.lower.expressions.operators import APART
from dp4sql.sql.lower.lowered import Ctes, unwrapped
from dp4sql.sql.lower.lowering import Lowering
from dp4sql.sql.lower.names import Scope
from dp4sql.sql.lower.subqueries import (
    Subqueries,
    bare,
    groups,
    is_subquery_test,
    no_limit,
    query_in,
)
from dp4sql.sql.parse import position

Pairs = tuple[tuple[str, str], ...]


class Attached:
    """Joins to a tree what the subqueries in some expressions of one SELECT say of its rows."""

    def __init__(self, base: Lowering, scope: Scope, ctes: Ctes) -> None:
        self.base, self.scope, self.ctes = base, scope, ctes
        self.tests = Subqueries(base, scope, ctes)
        self._known: dict[tuple[str, bool], Expr] = {}

    def find(self, e: exp.Expr) -> list[exp.Expr]:
        """The subqueries in `e` that are about each row: tests, and scalars that read a column of this SELECT."""
        if not self.base.nested:
            return []
        return [
            part for part in _subqueries(e) if is_subquery_test(part) or self._is_correlated(part)
        ]

    def _is_correlated(self, e: exp.Expr) -> bool:
        query = unwrapped(e)
        return isinstance(query, exp.Select) and bool(self.tests.select(query).block()[1])

    def attach(
        self, node: Node, e: exp.Expr, parts: list[exp.Expr]
    ) -> tuple[Node, dict[int, Expr]]:
        """`node` with the columns that `parts` of `e` need, and the value of each part by its identity.

        What is written twice, as in SELECT and in GROUP BY, is joined once.
        """
        values: dict[int, Expr] = {}
        for part in parts:
            filters = is_subquery_test(part) and _is_filter(_deciding(e, part), part)
            key = (repr(part), filters)
            if key not in self._known:
                node, self._known[key] = self._attached(node, part, filters)
            values[id(part)] = self._known[key]
        return node, values

    def _attached(self, node: Node, part: exp.Expr, filters: bool) -> tuple[Node, Expr]:
        if is_subquery_test(part):
            return self._flag(node, part, filters)
        return self._grouped(node, part)

    def selected(self, node: Node, e: exp.Expr, parts: list[exp.Expr]) -> Node:
        """The rows of `node` that meet the condition `e`."""
        node, values = self.attach(node, e, parts)
        predicate = self.base.replacing(self.base.plain(self.scope, self.ctes), values).boolean(e)
        return Select(self._tightened(node, predicate), predicate)

    def _tightened(self, node: Node, predicate: Expr) -> Node:
        """A LEFT JOIN whose padded rows the predicate rejects is an inner join."""
        if not isinstance(node, Join) or node.kind != "left":
            return node
        strict = frozenset(id for part in conjuncts(predicate) for id in strict_columns(part))
        if strict & ids(node.right):
            return replace(node, kind="inner")
        return node

    # ------------------------------------------------------------ EXISTS and IN

    def _flag(self, node: Node, e: exp.Expr, filters: bool) -> tuple[Node, Expr]:
        """`filters`: the row is kept where this is true, so that it may be false where SQL says NULL."""
        if isinstance(e, exp.Exists):
            return self._exists(node, e)
        given = e.args["query"] if isinstance(e, exp.In) else query_in(e.expression)
        query = unwrapped(bare(given))
        right, values, correlated = self.tests.values(query)
        lefts = e.this.expressions if isinstance(e.this, exp.Tuple) else [bare(e.this)]
        node, pairs = self.tests.keys(node, lefts, values, e)
        if not filters and self.tests.may_be_null(node, right, pairs):
            raise Unsupported(
                "IN (SELECT ...) that may be NULL is supported beside AND and OR of a condition only",
                hint="EXISTS (SELECT ... WHERE inner.column = outer.column) is never NULL.",
                position=position(e),
            )
        return self._met(node, right, (*pairs, *self._pairs(node, right, correlated, e)))

    def _exists(self, node: Node, e: exp.Exists) -> tuple[Node, Expr]:
        query = unwrapped(bare(e.this))
        if not isinstance(query, exp.Select) or groups(query):
            raise _apart(e)
        no_limit(query)
        right, correlated = self.tests.select(query).block()
        pairs = self._pairs(node, right, correlated, e)
        if not pairs:
            raise _apart(e)
        return self._met(node, right, pairs)

    def _pairs(self, node: Node, right: Node, correlated: list[Expr], e: exp.Expr) -> Pairs:
        link = self.tests.correlation(node, right, correlated, e)
        if link.residual is not None:
            raise _apart(e)
        return link.pairs

    def _met(self, node: Node, right: Node, pairs: Pairs) -> tuple[Node, Expr]:
        """Joined with at most one row, whose key is not NULL where there is one."""
        keys = frozenset(b for _, b in pairs)
        tests: tuple[Expr, ...] = ()
        while isinstance(right, Select) and self.base.facts.freq(right.child, keys) == 1:
            # The row itself is there once: whether it qualifies is asked after the join, by a key that
            # the rules know.
            tests += tuple(Call("is true", (part,), BOOLEAN) for part in conjuncts(right.predicate))
            right = right.child
        types = dict(columns(right))
        if self.base.facts.freq(right, keys) != 1:
            right = Distinct(Project(right, tuple((key, Col(key, types[key])) for key in keys)))
        key = pairs[0][1]
        absent = Call("is null", (Col(key, types[key]),), BOOLEAN)
        met = Call("not", (absent,), BOOLEAN)
        return Join(node, right, "left", pairs), conjunction((met, *tests))

    # ------------------------------------------------------------ correlated scalars

    def _grouped(self, node: Node, e: exp.Subquery) -> tuple[Node, Expr]:
        query = e.this
        no_limit(query)
        if any(query.args.get(part) for part in ("group", "having")) or not all(
            contains_aggregate(item) for item in query.expressions
        ):
            raise Unsupported(
                "a correlated scalar subquery must be one aggregate without GROUP BY and HAVING",
                hint="For instance (SELECT AVG(x) FROM t WHERE t.k = outer.k).",
                position=position(e),
            )
        select = self.tests.select(query)
        right, correlated = select.block()
        link = self.tests.correlation(node, right, correlated, e)
        if link.residual is not None or not link.pairs:
            raise Unsupported(
                "a correlated scalar subquery is supported on equality only",
                hint="Correlate with inner.column = outer.column.",
                position=position(e),
            )
        columns_of = partial(self.base.facts.columns, right)
        aggregates = Aggregates(select.plain, self.base.fresh, columns_of)
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


def _subqueries(e: exp.Expr) -> Iterator[exp.Expr]:
    """The outermost subqueries and tests of them."""
    test = isinstance(e, (exp.Exists, exp.In, exp.EQ)) and is_subquery_test(e)
    if test or isinstance(e, exp.Subquery):
        yield e
    elif not isinstance(e, exp.Query):
        for part in e.iter_expressions():
            yield from _subqueries(part)


def _deciding(e: exp.Expr, part: exp.Expr) -> exp.Expr:
    """The condition that `part` stands in: that of a CASE or a FILTER, where NULL is as good as false, or `e`."""
    inner, outer = part, part.parent
    while outer is not None and inner is not e:
        tested = isinstance(outer, exp.If) and outer.this is inner
        searched = tested and not (isinstance(outer.parent, exp.Case) and outer.parent.this)
        if searched or (isinstance(outer, exp.Where) and isinstance(outer.parent, exp.Filter)):
            return inner
        inner, outer = outer, outer.parent
    return e


def _is_filter(e: exp.Expr, part: exp.Expr) -> bool:
    """Whether AND and OR alone lead from the condition `e` to its `part`."""
    if e is part:
        return True
    if isinstance(e, (exp.And, exp.Or, exp.Paren)):
        return any(_is_filter(inner, part) for inner in e.iter_expressions())
    return False


def _apart(e: exp.Expr) -> Unsupported:
    word = "EXISTS" if isinstance(e, exp.Exists) else "IN (SELECT ...)"
    return Unsupported(
        f"{word} within an expression is supported where it is correlated on equality alone",
        hint=APART,
        position=position(e),
    )


def _zero(count: Expr) -> Expr:
    """COUNT over no rows is 0 where the join gives NULL."""
    return Call("coalesce", (count, Lit(0, Type("bigint"))), count.type)
