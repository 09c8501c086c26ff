"""Trees over released rows, so that many noisy replicas of the rows can be evaluated in one statement.

`identified` adds to a tree what tells its rows apart, `loosened` takes away what merely chooses and orders
them, `Replicator` evaluates it once for each draw: a draw number goes along as one more key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from itertools import count
from typing import Final, TypeAlias, assert_never

from dp4sql.algebra.expr import (
    Call,
    Col,
    Constant,
    Expr,
    Lit,
    Over,
    conjunction,
    conjuncts,
    rewrite,
    walk,
)
from dp4sql.algebra.nodes import (
    Aggregate,
    Distinct,
    Fetched,
    Join,
    Limit,
    Node,
    Project,
    Scan,
    Select,
    Semi,
    Series,
    Sort,
    UnionAll,
    Values,
    columns,
)
from dp4sql.algebra.types import BIGINT, BOOLEAN, Type
from dp4sql.mechanisms.lineage import Lineage

Ids: TypeAlias = tuple[tuple[str, Type], ...]

ROW: Final = "#row"
"""Tables of released rows have a row number after their own columns, and a draw number after that."""


class NotSimulated(Exception):
    """The tree has a form that replicas are not made for."""


# ---------------------------------------------------------------- identity


class Identifier:
    """Adds columns that name each row: row numbers of what was released, or the keys of what is grouped."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def identified(self, node: Node) -> tuple[Node, Ids]:
        match node:
            case Fetched(stage, own):
                row = (self._fresh(ROW), BIGINT)
                return Fetched(stage, (*own, row)), (row,)
            case Select() | Sort() | Limit():
                child, found = self.identified(node.child)
                return replace(node, child=child), found
            case Project(child, outputs):
                below, found = self.identified(child)
                named = tuple((self._fresh(id), Col(id, type)) for id, type in found)
                return Project(below, (*outputs, *named)), tuple((i, c.type) for i, c in named)
            case Join(left, right):
                (a, mine), (b, theirs) = self.identified(left), self.identified(right)
                return replace(node, left=a, right=b), (*mine, *theirs)
            case Semi(left):
                below, found = self.identified(left)
                return replace(node, left=below), found
            case Aggregate(keys=keys):
                types = dict(columns(node))
                return node, tuple((key, types[key]) for key in keys)
            case UnionAll():
                return self._union(node)
            case Distinct() | Values() | Series() | Scan():
                return node, columns(node)
            case _:
                assert_never(node)

    def _fresh(self, name: str) -> str:
        return f"{name}#{next(self._numbers)}"

    def _union(self, node: UnionAll) -> tuple[Node, Ids]:
        """The side, and the identity within it; the other side's columns are NULL."""
        (a, mine), (b, theirs) = self.identified(node.left), self.identified(node.right)
        names: Ids = ((self._fresh("side"), BIGINT), *mine, *theirs)
        left = _side(a, names[0][0], 0, theirs)
        right = _side(b, names[0][0], 1, mine)
        ids = tuple(id for id, _ in names)
        outputs = (*node.outputs, *names)
        return UnionAll(
            left, right, outputs, (*node.left_ids, *ids), (*node.right_ids, *ids)
        ), names


def _side(node: Node, name: str, side: int, absent: Ids) -> Node:
    same = tuple((id, Col(id, type)) for id, type in columns(node))
    none = tuple((id, Lit(None, type)) for id, type in absent)
    return Project(node, (*same, (name, Lit(side, BIGINT)), *none))


def loosened(node: Node, lineage: Lineage) -> Node:
    """Without order, LIMIT and noisy conditions on the way to the output rows: a row that was shown is
    looked at in each draw, whether or not that draw would have shown it."""
    match node:
        case Sort(child) | Limit(child):
            return loosened(child, lineage)
        case Select(child, predicate):
            below = lineage.trace(child)
            kept = tuple(c for c in conjuncts(predicate) if not lineage.of(c, below))
            return Select(loosened(child, lineage), conjunction(kept))
        case Project(child, outputs) if not any(_windows(expr) for _, expr in outputs):
            return replace(node, child=loosened(child, lineage))
        case Join(left, right, "inner"):
            return replace(node, left=loosened(left, lineage), right=loosened(right, lineage))
        case Semi(left):
            return replace(node, left=loosened(left, lineage))
        case _:
            return node


def _windows(expr: Expr) -> bool:
    return any(isinstance(part, Over) for part in walk(expr))


# ---------------------------------------------------------------- draws


class Replicator:
    """Gives each node a column with the number of the draw, None where it is the same in every draw.

    `noisy`: stages whose tables hold draws 0 to `draws`. `scalars`: ScalarStages whose value differs by
    draw, read from tables with the value and the draw.
    """

    def __init__(self, noisy: Collection[int], scalars: Collection[int], draws: int) -> None:
        self._noisy, self._scalars, self._draws = noisy, scalars, draws
        self._numbers = count(1)

    def node(self, node: Node) -> tuple[Node, str | None]:
        match node:
            case Fetched():
                return self._fetched(node)
            case Select(child, predicate):
                below, draw = self._with_scalars(child, (predicate,))
                return Select(below, self._expr(predicate, draw)), draw
            case Project(child, outputs):
                below, draw = self._with_scalars(child, (expr for _, expr in outputs))
                own = tuple((id, self._expr(expr, draw)) for id, expr in outputs)
                passed = ((draw, Col(draw, BIGINT)),) if draw else ()
                return Project(below, (*own, *passed)), draw
            case Join():
                return self._join(node)
            case Semi():
                return self._semi(node)
            case Aggregate(child, keys):
                below, draw = self.node(child)
                return replace(node, child=below, keys=(*keys, draw) if draw else keys), draw
            case Distinct(child):
                below, draw = self.node(child)
                kept = tuple((id, Col(id, type)) for id, type in columns(child))
                passed = ((draw, Col(draw, BIGINT)),) if draw else ()
                return Distinct(Project(below, (*kept, *passed))), draw
            case UnionAll():
                return self._union(node)
            case Sort(child):
                return self.node(child)
            case Limit():
                return self._limit(node)
            case Values() | Series() | Scan():
                return node, None
            case _:
                assert_never(node)

    def _fresh(self) -> str:
        return f"#draw#{next(self._numbers)}"

    def _fetched(self, node: Fetched) -> tuple[Node, str | None]:
        if node.stage not in self._noisy:
            return node, None
        draw, own = self._fresh(), node.columns
        if not own or not own[-1][0].startswith(ROW):
            own = (*own, (f"{ROW}{draw}", BIGINT))
        return Fetched(node.stage, (*own, (draw, BIGINT))), draw

    # ------------------------------------------------------------ scalar subqueries

    def _expr(self, expr: Expr, draw: str | None) -> Expr:
        """Windows stay within a draw, and scalars are read from it."""

        def change(part: Expr) -> Expr | None:
            match part:
                case Constant(stage, type) if stage in self._scalars:
                    return Col(_scalar(stage, draw), type)
                case Over() if draw is not None:
                    inner = replace(
                        part,
                        args=tuple(self._expr(a, draw) for a in part.args),
                        partition=tuple(self._expr(p, draw) for p in part.partition),
                        order=tuple((self._expr(k, draw), down) for k, down in part.order),
                    )
                    return replace(inner, partition=(*inner.partition, Col(draw, BIGINT)))
                case _:
                    return None

        return rewrite(expr, change)

    def _with_scalars(self, child: Node, exprs: Iterable[Expr]) -> tuple[Node, str | None]:
        """`child` with the scalars that `exprs` use as columns."""
        below, draw = self.node(child)
        used = {
            part.stage: part.type
            for expr in exprs
            for part in walk(expr)
            if isinstance(part, Constant) and part.stage in self._scalars
        }
        for stage, type in sorted(used.items()):
            own = self._fresh()
            draw = draw or own
            found = Fetched(stage, ((_scalar(stage, draw), type), (own, BIGINT)))
            paired = () if draw == own else ((draw, own),)
            below = Join(below, found, "left" if paired else "inner", paired)
        return below, draw

    def _no_scalars(self, expr: Expr | None) -> None:
        if expr is not None and any(
            isinstance(part, Constant) and part.stage in self._scalars for part in walk(expr)
        ):
            raise NotSimulated

    # ------------------------------------------------------------ two inputs

    def _every(self, node: Node, draw: str | None) -> tuple[Node, str]:
        """`node` once for each draw."""
        if draw is not None:
            return node, draw
        own = self._fresh()
        return Join(node, Series(own, BIGINT, 0, self._draws), "inner", ()), own

    def _join(self, node: Join) -> tuple[Node, str | None]:
        self._no_scalars(node.residual)
        (left, a), (right, b) = self.node(node.left), self.node(node.right)
        if a is None and b is None:
            return replace(node, left=left, right=right), None
        if (node.kind == "left" and b is not None) or node.kind == "full":
            left, a = self._every(left, a)
        if node.kind == "full":
            right, b = self._every(right, b)
        pairs = (*node.pairs, (a, b)) if a and b else node.pairs
        joined = replace(node, left=left, right=right, pairs=pairs)
        if node.kind != "full" or a is None or b is None:
            return joined, a or b
        return self._coalesced(joined, a, b)

    def _coalesced(self, joined: Join, a: str, b: str) -> tuple[Node, str]:
        draw = self._fresh()
        kept = tuple((id, Col(id, type)) for id, type in columns(joined))
        either = Call("coalesce", (Col(a, BIGINT), Col(b, BIGINT)), BIGINT)
        return Project(joined, (*kept, (draw, either))), draw

    def _semi(self, node: Semi) -> tuple[Node, str | None]:
        self._no_scalars(node.residual)
        (left, a), (right, b) = self.node(node.left), self.node(node.right)
        if b is None:
            return replace(node, left=left, right=right), a
        if node.null_aware:
            raise NotSimulated
        left, a = self._every(left, a)
        return replace(node, left=left, right=right, pairs=(*node.pairs, (a, b))), a

    def _union(self, node: UnionAll) -> tuple[Node, str | None]:
        (left, a), (right, b) = self.node(node.left), self.node(node.right)
        if a is None and b is None:
            return replace(node, left=left, right=right), None
        (left, a), (right, b) = self._every(left, a), self._every(right, b)
        draw = self._fresh()
        return (
            UnionAll(
                left,
                right,
                (*node.outputs, (draw, BIGINT)),
                (*node.left_ids, a),
                (*node.right_ids, b),
            ),
            draw,
        )

    def _limit(self, node: Limit) -> tuple[Node, str | None]:
        """The first rows of each draw."""
        below, draw = self.node(node.child)
        if draw is None:
            # Below a Limit order matters.
            return replace(node, child=node.child), None
        keys = node.child.keys if isinstance(node.child, Sort) else ()
        types = dict(columns(below))
        order = tuple((Col(id, types[id]), down) for id, down, _ in keys)
        place = Over("row_number", (), (Col(draw, BIGINT),), order, None, BIGINT)
        number = f"place{draw}"
        kept = tuple((id, Col(id, type)) for id, type in columns(below))
        placed = Project(below, (*kept, (number, place)))
        wanted: list[Expr] = [_compare(">", number, node.offset)]
        if node.count is not None:
            wanted.append(_compare("<=", number, node.offset + node.count))
        return Select(placed, conjunction(tuple(wanted))), draw


def _scalar(stage: int, draw: str | None) -> str:
    return f"#scalar{stage}{draw}"


def _compare(op: str, id: str, value: int) -> Call:
    return Call(op, (Col(id, BIGINT), Lit(value, BIGINT)), BOOLEAN)
