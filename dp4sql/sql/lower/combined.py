"""UNION, INTERSECT and EXCEPT to algebra: columns matched by place, types widened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from dp4sql.algebra.digits import together
from dp4sql.algebra.expr import Cast, Col
from dp4sql.algebra.nodes import Distinct, Node, Project, Semi, UnionAll
from dp4sql.algebra.types import INTEGERS, TEXT, Type
from dp4sql.errors import DatatypeMismatch, SyntaxError_, Unsupported
from dp4sql.sql.lower.expressions.types import widest
from dp4sql.sql.lower.lowered import Ctes, Lowered, cut_or_sorted, unwrapped
from dp4sql.sql.lower.names import Named, Scope
from dp4sql.sql.parse import position

if TYPE_CHECKING:
    from dp4sql.sql.lower.lowering import Lowering


class Combined:
    """Lowers one set operation."""

    def __init__(self, base: Lowering) -> None:
        self.base = base

    def lower(self, e: exp.SetOperation, ctes: Ctes, outer: Scope | None) -> Lowered:
        left, right = (self.base.query(part, ctes, outer) for part in (e.this, e.expression))
        if self._told(e.this, right):
            left = self.base.query(e.this, ctes, outer)
        if self._told(e.expression, left):
            right = self.base.query(e.expression, ctes, outer)
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
        return self.base.ordered(done, e, ctes) if cut_or_sorted(e) else done

    def _told(self, e: exp.Expr, other: Lowered) -> bool:
        """Whether `e` has NULL or texts in quotes where `other` has columns of another type: they take it."""
        found = False
        for items, column in zip(_outputs(e), other.columns, strict=False):
            if column.type.kind not in ("text", "unknown") and all(map(_is_untyped, items)):
                self.base.untyped |= {id(item): column.type for item in items}
                found = True
        return found

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
            id = self.base.fresh(column.name)
            outputs.append((id, column.col if same else Cast(column.col, target)))
            named.append(Named(column.name, id, column.type if same else target))
        return Lowered(Project(query.node, tuple(outputs)), tuple(named))

    def _union(self, left: Lowered, right: Lowered) -> Lowered:
        named = tuple(
            Named(a.name, self.base.fresh(a.name), widest(a.type, b.type) or a.type)
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
        facts = (self.base.facts.columns(left.node), self.base.facts.columns(right.node))
        if any(facts[i][c.id].nullable for i, q in enumerate((left, right)) for c in q.columns):
            raise Unsupported(
                f"{name} over columns that can be NULL has no rule",
                hint="Exclude NULLs with IS NOT NULL, or use EXISTS.",
                position=position(e),
            )
        columns = tuple(zip(left.columns, right.columns, strict=True))
        if not all(_comparable(a.col, b.col) for a, b in columns):
            raise Unsupported(
                f"{name} over numbers that no exact type holds together is not supported",
                hint="Cast both sides to one type, such as numeric(18, 2).",
                position=position(e),
            )
        pairs = tuple((a.id, b.id) for a, b in columns)
        return Semi(Distinct(left.node), right.node, pairs, None, anti=isinstance(e, exp.Except))


def _comparable(a: Col, b: Col) -> bool:
    """Whether engines compare the two as they are: where exact numbers have no type in common DuckDB fails on
    those that are too large for the one it takes, and a double may equal several of them."""
    exact = {a.type.kind, b.type.kind} <= INTEGERS | {"numeric"}
    return not exact or together((a, b)) is not None


def _outputs(e: exp.Expr) -> list[tuple[exp.Expr, ...]]:
    """The expressions of each column in all parts of `e`; none where a * hides them."""
    match unwrapped(e):
        case exp.SetOperation(this=left, expression=right):
            return [a + b for a, b in zip(_outputs(left), _outputs(right), strict=False)]
        case exp.Select(expressions=items) if not any(item.is_star for item in items):
            return [(item.this if isinstance(item, exp.Alias) else item,) for item in items]
        case _:
            return []


def _is_untyped(e: exp.Expr) -> bool:
    return isinstance(e, exp.Null) or (isinstance(e, exp.Literal) and bool(e.is_string))
