"""A sqlglot query to relational algebra: names resolved, types checked, joins arranged by foreign keys.

Nothing here reads data or knows a policy. Whatever has no place in the algebra is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sqlglot import exp

from dp4sql.algebra.expr import Cast, Col, Constant, Expr, Lit, Scalar
from dp4sql.algebra.nodes import (
    Distinct,
    Fetched,
    Limit,
    Node,
    Project,
    Scan,
    Semi,
    Sort,
    UnionAll,
    Values,
    columns,
)
from dp4sql.algebra.schema import Schema
from dp4sql.algebra.types import INTEGER, TEXT, UNKNOWN, Type, Value
from dp4sql.errors import (
    DatatypeMismatch,
    Refused,
    SyntaxError_,
    UndefinedTable,
    Unsupported,
)
from dp4sql.infer.facts import Facts
from dp4sql.sql.calls import Call, Signature, arguments, find
from dp4sql.sql.expressions import Expressions
from dp4sql.sql.guard import check
from dp4sql.sql.names import Named, Relation, Scope, fold, meant
from dp4sql.sql.parse import nearest, parse, position
from dp4sql.sql.types import widest

Given: TypeAlias = Value | Constant


@dataclass(frozen=True, slots=True)
class Lowered:
    """A query as algebra; `columns` are its output columns in order."""

    node: Node
    columns: tuple[Named, ...]


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
) -> Statement:
    """Parse and lower `sql`. With `parameters` None their values are left open (for Describe); one that is
    a Constant is known only when the SQL is rendered."""
    lowering = Lowering(schema, covered, facts, parameters, signatures or {})
    query = lowering.query(check(parse(sql)), {}, None)
    return Statement(query, lowering.parameter_types(), tuple(lowering.calls))


Ctes = Mapping[str, "Cte"]


@dataclass(frozen=True, slots=True)
class Cte:
    query: exp.Expr
    names: tuple[str, ...]
    visible: Ctes


@dataclass
class Lowering:
    """State of one statement: fresh ids, parameters and the facts that join arrangement asks for."""

    schema: Schema
    covered: frozenset[str]
    facts: Facts
    given: Sequence[tuple[Given, Type]] | None = None
    signatures: Mapping[str, Signature] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    _call_of: dict[int, int] = field(default_factory=dict)
    _taken: set[str] = field(default_factory=set)
    _types: dict[int, Type] = field(default_factory=dict)
    _open: dict[int, tuple[Lit, int]] = field(default_factory=dict)

    # ------------------------------------------------------------ names and parameters

    def fresh(self, name: str) -> str:
        """`name`, or `name#2` and so on when it is taken."""
        candidate, n = name, 1
        while candidate in self._taken:
            n += 1
            candidate = f"{name}#{n}"
        self._taken.add(candidate)
        return candidate

    def parameter(self, e: exp.Parameter) -> Expr:
        index = int(str(e.this.this)) if isinstance(e.this, exp.Literal) else 0
        if index < 1 or (self.given is not None and index > len(self.given)):
            raise SyntaxError_(f"there is no parameter ${index}", position=position(e))
        value, type = self.given[index - 1] if self.given is not None else (None, UNKNOWN)
        if isinstance(value, Constant):
            return value
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
                case exp.Subquery() if isinstance(e.this, exp.Query):
                    return self._scalar(e, scope, ctes)
                case _:
                    return hook(e)

        return Expressions(first, self.infer_parameter)

    def _column(self, e: exp.Column, scope: Scope) -> Expr:
        if isinstance(e.this, exp.Star):
            raise SyntaxError_("* is not allowed here", position=position(e))
        return scope.resolve(e)

    def plain(self, scope: Scope, ctes: Ctes) -> Expressions:
        """Expressions in which an aggregate is a mistake."""
        from dp4sql.sql.aggregates import refuse_aggregate

        return self.expressions(scope, ctes, refuse_aggregate)

    def replacing(self, scope: Scope, ctes: Ctes, values: Mapping[int, Expr]) -> Expressions:
        """Expressions in which some subqueries (by identity) already have a value."""
        plain = self.plain(scope, ctes)

        def first(e: exp.Expr) -> Expr | None:
            return values.get(id(e)) if id(e) in values else plain.hook(e)

        return Expressions(first, self.infer_parameter)

    # ------------------------------------------------------------ queries

    def query(self, e: exp.Expr, ctes: Ctes, outer: Scope | None) -> Lowered:
        ctes = self.with_ctes(e, ctes)
        match e:
            case exp.Subquery():
                return self._wrapped(e, ctes, outer)
            case exp.SetOperation():
                return self._set_operation(e, ctes, outer)
            case exp.Select():
                from dp4sql.sql.select import SelectLowering

                return SelectLowering(self, e, ctes, outer).lower()
            case _:
                raise Unsupported(f"{type(e).__name__} is not a query", position=position(e))

    def with_ctes(self, e: exp.Expr, ctes: Ctes) -> Ctes:
        clause = e.args.get("with_")
        if clause is None:
            return ctes
        if clause.args.get("recursive"):
            raise Unsupported("WITH RECURSIVE has no rule", position=position(clause))
        for cte in clause.expressions:
            alias = cte.args["alias"]
            names = tuple(fold(c) for c in alias.args.get("columns") or ())
            ctes = {**ctes, fold(alias.this): Cte(cte.this, names, ctes)}
        return ctes

    def _wrapped(self, e: exp.Subquery, ctes: Ctes, outer: Scope | None) -> Lowered:
        inner = self.query(e.this, ctes, outer)
        return self.ordered(inner, e, ctes) if e.args.get("order") or e.args.get("limit") else inner

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
        value = self.plain(Scope(), {}).coerce(self.plain(Scope(), {}).lower(e), INTEGER)
        if isinstance(value, Lit) and value.value is None:
            return None
        if not isinstance(value, Lit) or not isinstance(value.value, int) or value.value < 0:
            raise Unsupported(
                f"{what} needs a constant of 0 or more",
                hint=f"For instance {what} 10.",
                position=position(e),
            )
        return value.value

    # ------------------------------------------------------------ UNION, INTERSECT, EXCEPT

    def _set_operation(self, e: exp.SetOperation, ctes: Ctes, outer: Scope | None) -> Lowered:
        left, right = self.query(e.this, ctes, outer), self.query(e.expression, ctes, outer)
        if len(left.columns) != len(right.columns):
            raise SyntaxError_(
                "each part of a UNION must have the same number of columns", position=position(e)
            )
        left, right = self._aligned(left, right, e)
        if isinstance(e, exp.Union):
            found = self._union(left, right)
            node: Node = Distinct(found.node) if e.args.get("distinct") else found.node
        else:
            node, found = self._intersect(left, right, e), left
        done = Lowered(node, found.columns)
        return self.ordered(done, e, ctes) if e.args.get("order") or e.args.get("limit") else done

    def _aligned(self, left: Lowered, right: Lowered, e: exp.Expr) -> tuple[Lowered, Lowered]:
        targets = []
        for a, b in zip(left.columns, right.columns, strict=True):
            target = widest(a.type, b.type)
            if target is None:
                raise DatatypeMismatch(
                    f"UNION types {a.type.kind} and {b.type.kind} cannot be matched",
                    hint="Cast one side.",
                    position=position(e),
                )
            targets.append(TEXT if target.kind == "unknown" else target)
        return self._retyped(left, targets), self._retyped(right, targets)

    def _retyped(self, query: Lowered, targets: list[Type]) -> Lowered:
        outputs, named = [], []
        for column, target in zip(query.columns, targets, strict=True):
            same = column.type.kind == target.kind
            id = self.fresh(column.name)
            outputs.append((id, column.col if same else Cast(column.col, target)))
            named.append(Named(column.name, id, column.type if same else target))
        return Lowered(Project(query.node, tuple(outputs)), tuple(named))

    def _union(self, left: Lowered, right: Lowered) -> Lowered:
        named = tuple(
            Named(a.name, self.fresh(a.name), widest(a.type, b.type) or a.type)
            for a, b in zip(left.columns, right.columns, strict=True)
        )
        node = UnionAll(
            left.node,
            right.node,
            tuple((n.id, n.type) for n in named),
            tuple(c.id for c in left.columns),
            tuple(c.id for c in right.columns),
        )
        return Lowered(node, named)

    def _intersect(self, left: Lowered, right: Lowered, e: exp.SetOperation) -> Node:
        name = type(e).__name__.upper()
        if not e.args.get("distinct"):
            raise Unsupported(f"{name} ALL has no rule", hint=f"Use {name}.", position=position(e))
        facts = (self.facts.columns(left.node), self.facts.columns(right.node))
        if any(facts[i][c.id].nullable for i, q in enumerate((left, right)) for c in q.columns):
            raise Unsupported(
                f"{name} over columns that can be NULL has no rule",
                hint="Exclude NULLs with IS NOT NULL, or use EXISTS.",
                position=position(e),
            )
        pairs = tuple((a.id, b.id) for a, b in zip(left.columns, right.columns, strict=True))
        return Semi(Distinct(left.node), right.node, pairs, None, anti=isinstance(e, exp.Except))

    # ------------------------------------------------------------ FROM

    def relation(self, e: exp.Expr, ctes: Ctes, outer: Scope | None) -> tuple[Node, Relation]:
        """One item of FROM: a table, a CTE, a subquery or VALUES."""
        match e:
            case exp.Table():
                return self._table(e, ctes)
            case exp.Subquery():
                query = self.query(e.this, ctes, None)
                return query.node, self._named_relation(query, e)
            case exp.Values():
                return self._values(e, ctes)
            case exp.Lateral():
                raise Unsupported(
                    "LATERAL has no rule", hint="Use a join or a subquery.", position=position(e)
                )
            case _:
                raise Unsupported(
                    f"{type(e).__name__} in FROM is not supported", position=position(e)
                )

    def _named_relation(self, query: Lowered, e: exp.Expr) -> Relation:
        alias = e.args.get("alias")
        name = fold(alias.this) if alias is not None and alias.this is not None else ""
        names = [fold(c) for c in alias.args.get("columns") or ()] if alias is not None else []
        return Relation(name, _renamed(query.columns, names, e))

    def _table(self, e: exp.Table, ctes: Ctes) -> tuple[Node, Relation]:
        if not isinstance(e.this, exp.Identifier):
            return self._call(e)
        for part in ("sample", "pivots", "version", "ordinality", "only"):
            if e.args.get(part):
                raise Unsupported(
                    f"{part.upper()} on a table is not supported", position=position(e)
                )
        name, db = fold(e.this), fold(e.args.get("db"))
        cte = ctes.get(name) if not db else None
        if cte is not None:
            query = self.query(cte.query, cte.visible, None)
            query = Lowered(query.node, _renamed(query.columns, list(cte.names), e))
            relation = self._named_relation(query, e)
            return query.node, replace_alias(relation, relation.alias or name)
        return self._base_table(e, name, db)

    def _call(self, e: exp.Table) -> tuple[Node, Relation]:
        """A function in FROM. A CTE that is named twice still calls it once."""
        signature = find(self.signatures, e)
        if id(e) not in self._call_of:
            given = arguments(signature, e, self.plain(Scope(), {}))
            self._call_of[id(e)] = len(self.calls)
            self.calls.append(Call(signature.name, given, signature.columns))
        named = tuple(Named(name, self.fresh(name), type) for name, type in signature.columns)
        node = Fetched(self._call_of[id(e)], tuple((n.id, n.type) for n in named))
        relation = self._named_relation(Lowered(node, named), e)
        return node, replace_alias(relation, relation.alias or signature.name)

    def _base_table(self, e: exp.Table, name: str, db: str) -> tuple[Node, Relation]:
        table = next(
            (
                t
                for t in self.schema.tables.values()
                if (t.relname or t.name) == name
                and (t.schema == db if db else t.schema == "public" or t.name == name)
            ),
            None,
        )
        if table is None:
            close = nearest(name, (t.relname or t.name for t in self.schema.tables.values()))
            raise UndefinedTable(
                f'relation "{f"{db}.{name}" if db else name}" does not exist',
                hint=meant(
                    close, "Tables", (t.relname or t.name for t in self.schema.tables.values())
                )
                or "The policy file lists the tables.",
                position=position(e),
            )
        if table.name not in self.covered:
            raise Refused(
                f'table "{table.name}" is covered by no policy, so nothing would protect it',
                hint="The curator can label it pub, rep or del in a policy.",
                position=position(e),
            )
        alias_node = e.args.get("alias")
        shown = (
            fold(alias_node.this)
            if alias_node is not None and alias_node.this is not None
            else name
        )
        alias = self.fresh(shown)
        scan = Scan(table, alias, position(e))
        named = tuple(Named(c.name, f"{alias}.{c.name}", c.type) for c in table.columns.values())
        names = (
            [fold(c) for c in alias_node.args.get("columns") or ()]
            if alias_node is not None
            else []
        )
        return scan, Relation(shown, _renamed(named, names, e))

    def _values(self, e: exp.Values, ctes: Ctes) -> tuple[Node, Relation]:
        lowering = self.plain(Scope(), ctes)
        rows = [[lowering.lower(v) for v in row.expressions] for row in e.expressions]
        width = len(rows[0])
        if any(len(row) != width for row in rows):
            raise SyntaxError_("VALUES lists must all be the same length", position=position(e))
        typed = [lowering.together([row[i] for row in rows], e, "VALUES") for i in range(width)]
        for cells, _ in typed:
            if not all(isinstance(cell, Lit) for cell in cells):
                raise Unsupported("VALUES holds constants only", position=position(e))
        named = tuple(
            Named(f"column{i + 1}", self.fresh(f"column{i + 1}"), t)
            for i, (_, t) in enumerate(typed)
        )
        values = tuple(
            tuple(cells[r].value for cells, _ in typed if isinstance(cells[r], Lit))  # type: ignore[union-attr]
            for r in range(len(rows))
        )
        node = Values(tuple((n.id, n.type) for n in named), values)
        return node, self._named_relation(Lowered(node, named), e)

    # ------------------------------------------------------------ scalar subqueries

    def _scalar(self, e: exp.Subquery, scope: Scope, ctes: Ctes) -> Expr:
        query = self.query(e.this, ctes, None)
        if len(query.columns) != 1:
            raise SyntaxError_("subquery must return only one column", position=position(e))
        return Scalar(query.node, query.columns[0].id, query.columns[0].type)


def replace_alias(relation: Relation, alias: str) -> Relation:
    return Relation(alias, relation.columns)


def _renamed(named: tuple[Named, ...], names: list[str], e: exp.Expr) -> tuple[Named, ...]:
    if len(names) > len(named):
        raise SyntaxError_(
            f"{len(named)} columns available but {len(names)} column names given",
            position=position(e),
        )
    return tuple(replace(c, name=names[i]) if i < len(names) else c for i, c in enumerate(named))
