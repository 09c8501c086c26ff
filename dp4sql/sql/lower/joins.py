"""From a list of relations and conditions to a join tree that the rules can say most about.

A comma join, JOIN ... ON and WHERE say the same thing: relations and conjuncts. The tree follows foreign keys
where the conditions equate them with the key they refer to (those are the key joins of the paper), and
joins what is left on all equalities at once. Conditions that no join has used become a selection on top.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from dp4sql.algebra.digits import held, together
from dp4sql.algebra.expr import (
    Call,
    Cast,
    Col,
    Constant,
    Expr,
    Over,
    Scalar,
    conjunction,
    reads,
    walk,
)
from dp4sql.algebra.nodes import (
    Join,
    JoinKind,
    Node,
    Project,
    Scan,
    Select,
    columns,
    ids,
    walk_nodes,
)
from dp4sql.algebra.types import DATE, FLOATS, INTEGER, INTEGERS, TEXTS, TIMES, Type
from dp4sql.infer.facts import Facts

Pairs = tuple[tuple[str, str], ...]


def joinable(a: Type, b: Type) -> bool:
    """Equality is one-to-one between these types, so that frequencies carry over."""
    if a.kind in INTEGERS and b.kind in INTEGERS:
        return True
    if {a.kind, b.kind} <= INTEGERS | {"numeric"}:
        # Numbers of unknown size are compared in double precision, where several are equal to one.
        return together((Col("", a), Col("", b))) is not None
    if a.kind in TEXTS and b.kind in TEXTS:
        return (a.kind == "character") == (b.kind == "character")
    return a.kind == b.kind and a.kind not in FLOATS


def equality(part: Expr) -> tuple[Col, Col] | None:
    match part:
        case Call("=", (Col() as a, Col() as b)) if a.id != b.id and joinable(a.type, b.type):
            return a, b
        case _:
            return None


class Classes:
    """Union-find over columns that are equal in every result row."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def find(self, id: str) -> str:
        while self._parent.get(id, id) != id:
            id = self._parent[id]
        return id

    def merge(self, a: str, b: str) -> None:
        self._parent[self.find(a)] = self.find(b)

    def same(self, a: str, b: str) -> bool:
        return self.find(a) == self.find(b)


@dataclass(slots=True)
class _Forest:
    facts: Facts
    trees: list[Node]
    equal: Classes
    used: Classes

    def key_merges(self) -> bool:
        """Join one parent to one child; False when no foreign key is left to follow."""
        for i, child in enumerate(self.trees):
            for j, parent in enumerate(self.trees):
                pairs = self._foreign_key(child, parent) if i != j else None
                if pairs is not None:
                    self._join(i, j, pairs)
                    return True
        return False

    def _foreign_key(self, child: Node, parent: Node) -> Pairs | None:
        anchor = self.facts.anchor(parent)
        if anchor is None or self.facts.anchor(child) is None:
            return None
        above = {
            f.source.column: id
            for id, f in self.facts.columns(parent).items()
            if f.source and f.source.alias == anchor.alias
        }
        if not set(anchor.table.key) <= set(above):
            return None
        keys = [above[k] for k in anchor.table.key]
        for fk_ids in self._references(child, anchor.table.name):
            if all(self.equal.same(a, b) for a, b in zip(fk_ids, keys, strict=True)):
                return tuple(zip(fk_ids, keys, strict=True))
        return None

    def _references(self, child: Node, target: str) -> Iterator[list[str]]:
        """Column ids of each visible foreign key to `target`."""
        visible = {
            (f.source.alias, f.source.column): id
            for id, f in self.facts.columns(child).items()
            if f.source is not None
        }
        for scan in walk_nodes(child):
            if isinstance(scan, Scan):
                for fk in scan.table.foreign_keys:
                    names = [(scan.alias, c) for c in fk.columns]
                    if fk.references == target and all(n in visible for n in names):
                        yield [visible[n] for n in names]

    def general_merge(self) -> bool:
        """Join two trees on every equality between them; False when none are linked."""
        for i, left in enumerate(self.trees):
            for j in range(i + 1, len(self.trees)):
                pairs = self._shared(left, self.trees[j])
                if pairs:
                    self._join(i, j, pairs)
                    return True
        return False

    def _shared(self, left: Node, right: Node) -> Pairs:
        theirs: dict[str, str] = {}
        types = dict((*columns(left), *columns(right)))
        for id, _ in columns(right):
            theirs.setdefault(self.equal.find(id), id)
        found: dict[str, tuple[str, str]] = {}
        for id, type in columns(left):
            root = self.equal.find(id)
            if root in theirs and root not in found and joinable(type, types[theirs[root]]):
                found[root] = (id, theirs[root])
        return tuple(found.values())

    def _join(self, i: int, j: int, pairs: Pairs) -> None:
        for a, b in pairs:
            self.used.merge(a, b)
        joined = Join(self.trees[i], self.trees[j], "inner", pairs)
        self.trees = [t for k, t in enumerate(self.trees) if k not in (i, j)] + [joined]

    def cross(self) -> None:
        while len(self.trees) > 1:
            self._join(0, 1, ())
            self.trees = [self.trees[-1], *self.trees[:-1]]


def assemble(facts: Facts, relations: Iterable[Node], conditions: Iterable[Expr]) -> Node:
    """One tree for the inner join of `relations` under `conditions`."""
    equal, rest, pairs = Classes(), [], []
    trees = list(relations)
    for part in conditions:
        found = equality(part)
        if found is None:
            rest.append(part)
        else:
            pairs.append((part, found))
            equal.merge(found[0].id, found[1].id)
    forest = _Forest(facts, trees, equal, Classes())
    while forest.key_merges():
        pass
    while forest.general_merge():
        pass
    forest.cross()
    rest += [part for part, (a, b) in pairs if not forest.used.same(a.id, b.id)]
    (tree,) = forest.trees
    return Select(tree, conjunction(tuple(rest))) if rest else tree


def with_keys(
    trees: Sequence[Node], conditions: Iterable[Expr], fresh: Callable[[str], str]
) -> tuple[list[Node], list[Expr]]:
    """Equalities between what two relations compute, such as DATE_TRUNC('month', a.day) = b.month, as ones
    between columns: only those are join keys, of which it is known how many rows share one."""
    kept, found = list(trees), []

    def column(place: int, expr: Expr) -> Col:
        if isinstance(expr, Col):
            return expr
        key = Col(fresh("key"), held(expr))
        every = tuple((id, Col(id, type)) for id, type in columns(kept[place]))
        kept[place] = Project(kept[place], (*every, (key.id, expr)))
        return key

    for part in conditions:
        match part:
            case Call("=", (left, right)) if equality(part) is None:
                a, b = _alike(left, right)
                i, j = _home(a, trees), _home(b, trees)
                if i is not None and j is not None and i != j and joinable(held(a), held(b)):
                    part = replace(part, args=(column(i, a), column(j, b)))
        found.append(part)
    return kept, found


def _alike(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Both sides of an equality in one type: dates as the timestamps that they are compared with, and parts of
    dates, which are whole, as integers."""
    if {a.type.kind, b.type.kind} < TIMES and DATE in (a.type, b.type):
        type = b.type if a.type == DATE else a.type
        return _cast(a, type), _cast(b, type)
    x, y = _integer(a), _integer(b)
    return (a, b) if x is None or y is None else (x, y)


def _cast(expr: Expr, type: Type) -> Expr:
    return expr if expr.type == type else Cast(expr, type)


def _integer(expr: Expr) -> Expr | None:
    match expr:
        case Cast(arg, Type("numeric", None)):
            return _integer(arg)
        case Call(op) if op.startswith("extract_") and expr.type == Type("numeric", None, 0):
            return Cast(expr, INTEGER)
        case _:
            return expr if expr.type.kind in INTEGERS else None


def _home(expr: Expr, trees: Sequence[Node]) -> int | None:
    """The one relation whose columns `expr` reads, and nothing else."""
    if not reads(expr) or any(isinstance(part, Scalar | Constant | Over) for part in walk(expr)):
        return None
    return next((i for i, tree in enumerate(trees) if reads(expr) <= ids(tree)), None)


def outer_join(left: Node, right: Node, kind: JoinKind, on: list[Expr]) -> Node:
    """LEFT or FULL join: equalities become pairs, conditions on the right alone filter it first."""
    mine, theirs = ids(left), ids(right)
    pairs, rest, early = [], [], []
    for part in on:
        found = equality(part)
        if found is not None and found[0].id in mine and found[1].id in theirs:
            pairs.append((found[0].id, found[1].id))
        elif found is not None and found[1].id in mine and found[0].id in theirs:
            pairs.append((found[1].id, found[0].id))
        elif kind == "left" and reads(part) and reads(part) <= theirs:
            early.append(part)
        else:
            rest.append(part)
    if early:
        right = Select(right, conjunction(tuple(early)))
    residual = conjunction(tuple(rest)) if rest else None
    return Join(left, right, kind, tuple(pairs), residual)


def linked(trees: list[Node], conditions: Iterable[Expr], seed: frozenset[str]) -> list[int]:
    """Indices of the trees that conditions connect with the columns `seed`."""
    chosen = {i for i, tree in enumerate(trees) if ids(tree) & seed}
    parts = [reads(part) for part in conditions]
    while True:
        reach = frozenset().union(*(ids(trees[i]) for i in chosen))
        more = {
            i for i, tree in enumerate(trees) for part in parts if part & reach and part & ids(tree)
        } - chosen
        if not more:
            return sorted(chosen)
        chosen |= more
