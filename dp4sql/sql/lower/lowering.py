"""A sqlglot query to relational algebra: names resolved, types checked, joins arranged by foreign keys.

Nothing here reads data or knows a policy. Whatever has no place in the algebra is refused by name.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from sqlglot import exp

from dp4sql.algebra.expr import Col, Constant, Expr, Lit, Scalar
from dp4sql.algebra.naming import check_names
from dp4sql.algebra.nodes import Limit, Node, Project, Sort, columns
from dp4sql.algebra.schema import Schema
from dp4sql.algebra.sizes import check_sizes
from dp4sql.algebra.types import INTEGER, TEXT, UNKNOWN, Type, Value
from dp4sql.errors import SyntaxError_, TooComplex, Unsupported
from dp4sql.infer.facts import Facts
from dp4sql.sql import literals
from dp4sql.sql.lower.calls import Call, Signature
from dp4sql.sql.lower.combined import Combined
from dp4sql.sql.lower.expressions import Expressions
from dp4sql.sql.lower.expressions.arrays import check_whole, refuse
from dp4sql.sql.lower.expressions.moments import moment
from dp4sql.sql.lower.groupings import Absent, has_sets, spread
from dp4sql.sql.lower.guard import check
from dp4sql.sql.lower.headings import remember
from dp4sql.sql.lower.lowered import Cte, Ctes, Lowered, cut_or_sorted, unwrapped
from dp4sql.sql.lower.names import Named, Relation, Scope, fold
from dp4sql.sql.lower.shapes import columns_alone
from dp4sql.sql.parse import parse, position

#: Items of all FROM clauses.
MAX_RELATIONS: Final = 100
_SIGNS: Final = str.maketrans(".:#", "___")

Given: TypeAlias = Value | Constant


@dataclass(frozen=True, slots=True)
class Statement:
    """What `lower` gives: the query, the types of its parameters $1, $2, ... and the functions in its
    FROM clauses; the rows of call i are `Fetched(i)` in the query."""

    query: Lowered
    parameters: tuple[Type, ...]
    calls: tuple[Call, ...] = ()


def lower(
    sql: str,
    schema: Schema,
    covered: frozenset[str],
    facts: Facts,
    parameters: Sequence[tuple[Given, Type]] | None = None,
    signatures: Mapping[str, Signature] | None = None,
    now: datetime.datetime | None = None,
) -> Statement:
    """Parse and lower `sql`. With `parameters` None their values are left open (for Describe); one that is
    a Constant is known only when the SQL is rendered. `now` is what CURRENT_DATE and the like stand for; see
    `moments.fixed`."""
    lowering = Lowering(schema, covered, facts, parameters, signatures or {}, now)
    lowered = sql.lower()
    lowering.nested = lowered.count("select") > 1
    parsed = check(parse(sql))
    remember(parsed, sql)
    query = lowering.query(parsed, {}, None)
    check_names(query.node)
    check_sizes(query.node)
    if not lowering.calls:
        query = replace(query, node=columns_alone(query.node))
    if "ntile" in lowered:
        # PERCENTILE_CONT and QUANTILE may be of an array.
        check_whole(query.node)
    return Statement(query, lowering.parameter_types(), tuple(lowering.calls))


@dataclass
class Lowering:
    """State of one statement: fresh ids, parameters and the facts that join arrangement asks for."""

    schema: Schema
    covered: frozenset[str]
    facts: Facts
    given: Sequence[tuple[Given, Type]] | None = None
    signatures: Mapping[str, Signature] = field(default_factory=dict)
    now: datetime.datetime | None = None
    relations: int = 0
    calls: list[Call] = field(default_factory=list)
    nested: bool = False
    """Whether there can be subqueries."""
    untyped: dict[int, Type] = field(default_factory=dict)
    """What constants in the output of a SELECT are, by their identity, where a UNION says so."""
    call_of: dict[int, int] = field(default_factory=dict)
    _scalars: dict[str, list[tuple[Ctes, Scalar]]] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)
    _types: dict[int, Type] = field(default_factory=dict)
    _open: dict[int, tuple[Lit, int]] = field(default_factory=dict)

    def count_relation(self, e: exp.Expr) -> None:
        """One more item of FROM; a CTE is lowered anew wherever it is named, so few words can make many."""
        self.relations += 1
        if self.relations > MAX_RELATIONS:
            raise TooComplex(
                f"a statement may read at most {MAX_RELATIONS} tables and subqueries",
                hint="A CTE counts each time it is named, with all that is in it.",
                position=position(e),
            )

    # ------------------------------------------------------------ names and parameters

    def fresh(self, name: str) -> str:
        """`name`, or `name#2` and so on when it is taken.

        A column of a table is called `alias.column`, and what is derived from a column `column:what`: no name
        that a client chooses may be one of these.
        """
        name = name.translate(_SIGNS)
        candidate, n = name, 1
        while candidate in self._taken:
            n += 1
            candidate = f"{name}#{n}"
        self._taken.add(candidate)
        return candidate

    def parameter(self, e: exp.Parameter, *, array: bool = False) -> Expr:
        """`array`: it stands in ANY or ALL."""
        index = int(str(e.this.this)) if isinstance(e.this, exp.Literal) else 0
        if index < 1 or (self.given is not None and index > len(self.given)):
            raise SyntaxError_(f"there is no parameter ${index}", position=position(e))
        value, type = self.given[index - 1] if self.given is not None else (None, UNKNOWN)
        if isinstance(value, Constant):
            return value
        literals.writable(value)
        if type.array and not array:
            raise refuse(type, e)
        known = self._types.get(index, UNKNOWN)
        type = type if type.kind != "unknown" else known if not isinstance(value, str) else UNKNOWN
        self._types.setdefault(index, type)
        literal = Lit(value, type)
        self._open[id(literal)] = (literal, index)
        return literal

    def infer_parameter(self, expr: Expr, type: Type) -> None:
        _, index = self._open.get(id(expr), (None, 0))
        if index and self._types.get(index, UNKNOWN).kind == "unknown":
            self._types[index] = type

    def parameter_types(self) -> tuple[Type, ...]:
        count = max(self._types, default=0)
        types = [self._types.get(i + 1, TEXT) for i in range(count)]
        return tuple(TEXT if t.kind == "unknown" else t for t in types)

    def expressions(
        self, scope: Scope, ctes: Ctes, hook: Callable[[exp.Expr], Expr | None]
    ) -> Expressions:
        def first(e: exp.Expr) -> Expr | None:
            match e:
                case exp.Column():
                    return self._column(e, scope)
                case exp.Parameter():
                    return self.parameter(e)
                case Absent():
                    return Lit(None, self.plain(scope, ctes).lower(e.this).type)
                case exp.Any(this=exp.Parameter()):
                    return self.parameter(e.this, array=True)
                case exp.Subquery() if isinstance(e.this, exp.Query):
                    return self._scalar(e, scope, ctes)
                case _:
                    return moment(e, self.now) or hook(e)

        return Expressions(first, self.infer_parameter)

    def _column(self, e: exp.Column, scope: Scope) -> Expr:
        if isinstance(e.this, exp.Star):
            raise SyntaxError_("* is not allowed here", position=position(e))
        return scope.resolve(e)

    def plain(self, scope: Scope, ctes: Ctes) -> Expressions:
        """Expressions in which an aggregate is a mistake."""
        from dp4sql.sql.lower.aggregates import refuse_aggregate

        return self.expressions(scope, ctes, refuse_aggregate)

    def replacing(self, found: Expressions, values: Mapping[int, Expr]) -> Expressions:
        """`found`, where some subqueries (by identity) already have a value."""

        def first(e: exp.Expr) -> Expr | None:
            return values.get(id(e)) if id(e) in values else found.hook(e)

        return Expressions(first, self.infer_parameter) if values else found

    # ------------------------------------------------------------ queries

    def query(self, e: exp.Expr, ctes: Ctes, outer: Scope | None) -> Lowered:
        ctes = self.with_ctes(e, ctes)
        match e:
            case exp.Subquery():
                return self._wrapped(e, ctes, outer)
            case exp.SetOperation():
                return Combined(self).lower(e, ctes, outer)
            case exp.Select():
                from dp4sql.sql.lower.select import SelectLowering

                if has_sets(e):
                    return self.query(spread(e), ctes, outer)
                return SelectLowering(self, e, ctes, outer).lower()
            case _:
                raise Unsupported(f"{type(e).__name__} is not a query", position=position(e))

    def with_ctes(self, e: exp.Expr, ctes: Ctes) -> Ctes:
        clause = e.args.get("with_")
        if clause is None:
            return ctes
        if clause.args.get("recursive"):
            raise Unsupported("WITH RECURSIVE has no rule", position=position(clause))
        if len(clause.expressions) > MAX_RELATIONS:
            raise TooComplex(
                f"WITH may name at most {MAX_RELATIONS} queries", position=position(clause)
            )
        here: set[str] = set()
        for cte in clause.expressions:
            alias = cte.args["alias"]
            name, names = fold(alias.this), tuple(fold(c) for c in alias.args.get("columns") or ())
            if name in here:
                raise SyntaxError_(
                    f'WITH query name "{name}" specified more than once', position=position(cte)
                )
            here.add(name)
            ctes = {**ctes, name: Cte(cte.this, names, ctes)}
        return ctes

    def _wrapped(self, e: exp.Subquery, ctes: Ctes, outer: Scope | None) -> Lowered:
        inner = self.query(e.this, ctes, outer)
        return self.ordered(inner, e, ctes) if cut_or_sorted(e) else inner

    def ordered(self, query: Lowered, e: exp.Expr, ctes: Ctes) -> Lowered:
        """ORDER BY and LIMIT over a finished query: by output name or position."""
        scope = Scope([Relation("", query.columns)])
        node = query.node
        keys = []
        extra: list[tuple[str, Expr]] = []
        for item in e.args["order"].expressions if e.args.get("order") else ():
            expr = self._order_key(item.this, query, scope, ctes)
            if not isinstance(expr, Col):
                extra.append((self.fresh("order"), expr))
                expr = Col(extra[-1][0], expr.type)
            descending = bool(item.args.get("desc"))
            keys.append((expr.id, descending, bool(item.args.get("nulls_first"))))
        own = tuple((id, Col(id, type)) for id, type in columns(node))
        if extra:
            node = Project(node, (*own, *extra))
        if keys:
            node = Sort(node, tuple(keys))
        node = self.limited(node, e)
        return Lowered(Project(node, own) if extra else node, query.columns)

    def _order_key(self, e: exp.Expr, query: Lowered, scope: Scope, ctes: Ctes) -> Expr:
        if isinstance(e, exp.Literal) and not e.is_string:
            return self.by_position(e, query.columns).col
        return self.plain(scope, ctes).lower(e)

    def by_position(self, e: exp.Literal, outputs: Sequence[Named]) -> Named:
        index = int(str(e.this)) if str(e.this).isdigit() else 0
        if not 1 <= index <= len(outputs):
            raise SyntaxError_(f"position {e.this} is not in select list", position=position(e))
        return outputs[index - 1]

    def limited(self, node: Node, e: exp.Expr) -> Node:
        limit, offset = e.args.get("limit"), e.args.get("offset")
        if limit is None and offset is None:
            return node
        count = (
            limit.args.get("expression") or limit.args.get("count") if limit is not None else None
        )
        return Limit(
            node,
            self._count(count, "LIMIT") if count is not None else None,
            self._count(offset.expression, "OFFSET") or 0 if offset is not None else 0,
            position(limit if limit is not None else offset),
        )

    def _count(self, e: exp.Expr, what: str) -> int | None:
        if isinstance(e, exp.Var) and e.name.upper() == "ALL":
            return None
        value = self.plain(Scope(), {}).coerce(self.plain(Scope(), {}).lower(e), INTEGER)
        if isinstance(value, Lit) and value.value is None:
            return None
        if not isinstance(value, Lit) or type(value.value) is not int or value.value < 0:
            raise Unsupported(
                f"{what} needs a constant of 0 or more",
                hint=f"For instance {what} 10.",
                position=position(e),
            )
        return value.value

    # ------------------------------------------------------------ scalar subqueries

    def _scalar(self, e: exp.Subquery, scope: Scope, ctes: Ctes) -> Expr:
        """Written twice, as in SELECT and in GROUP BY, it is one and the same."""
        known = self._scalars.setdefault(repr(e), [])
        for where, scalar in known:
            if where is ctes:
                return scalar
        query = self.query(unwrapped(e), ctes, None)
        if len(query.columns) != 1:
            raise SyntaxError_("subquery must return only one column", position=position(e))
        check_names(query.node)
        check_sizes(query.node)
        found = Scalar(query.node, query.columns[0].id, query.columns[0].type)
        known.append((ctes, found))
        return found
