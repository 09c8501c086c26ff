"""Public bins: the rows that the output of a GROUP BY has whether or not data falls into them.

A bin comes from public data (columns that are public under every policy), from declared domains and
ranges, or from what the query itself says (IN lists, CASE with constant results). The answer is an algebra
tree that reads no private column, so its rows can be shown as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dp4sql.algebra.digits import width
from dp4sql.algebra.expr import Col, Constant, Expr, reads, rewrite, walk
from dp4sql.algebra.nodes import (
    Aggregate,
    Distinct,
    Node,
    Project,
    Scan,
    Select,
    Series,
    UnionAll,
    Values,
    columns,
    ids,
)
from dp4sql.algebra.schema import Column, ForeignKey
from dp4sql.algebra.types import Type, Value
from dp4sql.errors import NoBins
from dp4sql.infer.facts import Facts
from dp4sql.infer.moments import Range
from dp4sql.infer.ranges import ANY, Fact
from dp4sql.mechanisms.bins.leaves import Leaves
from dp4sql.mechanisms.bins.refusals import no_bins
from dp4sql.mechanisms.bins.steps import grain, is_stepped, narrowed, stepped
from dp4sql.mechanisms.bins.values import (
    DIGITS,
    MAX_SERIES,
    constants_of,
    is_short,
    or_null,
    or_other,
    rows_of,
    series_of,
    size,
    undone,
)
from dp4sql.mechanisms.origin import Origin, origin
from dp4sql.policy.labels import PolicySet
from dp4sql.sql.lower.joins import assemble


@dataclass(frozen=True, slots=True)
class Bins:
    """`tree` has one column a grouping key, under the key's id, and one row a bin.

    `keys` gives what the data is grouped by for each key, where that is not the column itself: a
    declared `other` takes the values outside a domain.
    """

    tree: Node
    keys: dict[str, Expr]


class BinFinder:
    """Finds the bins of one GROUP BY; raises NoBins naming the key that has none."""

    def __init__(self, policies: PolicySet, facts: Facts, node: Aggregate) -> None:
        self.policies, self.facts, self.node = policies, facts, node
        self.origin = Origin()
        self.names = origin(node.child, self.origin)
        self.leaves = Leaves(policies, self.origin)
        self.trees: list[Node] = []
        self.joint: set[str] = set()
        self.available: set[str] = set()
        self.steps: dict[str, int] = {}
        self.many: dict[str, int] = {}

    def find(self) -> Bins:
        outputs: list[tuple[str, Expr]] = []
        for key in self.node.keys:
            outputs.append((key, self._key(key)))
            self._tell_apart(key, outputs[-1][1])
        public = self._public_tree()
        trees = ([public] if public is not None else []) + self.trees
        seen = frozenset().union(*(ids(tree) for tree in trees)) if trees else frozenset()
        kept = [
            c
            for c in self.origin.conditions
            if reads(c) and reads(c) <= seen and not self._used(c) and self._is_told(c)
        ]
        self._limit()
        tree = assemble(self.facts, trees or [Values((), ((),))], kept)
        return Bins(_distinct(tree, tuple(outputs)), self._other_keys())

    def partitions(self) -> bool:
        """Whether each row falls into exactly one bin: every key is a column whose values are declared."""
        return all(self._declared(key) for key in self.node.keys)

    def _declared(self, key: str) -> bool:
        leaf = self.names[key]
        source = self.leaves.source(leaf.id) if isinstance(leaf, Col) else None
        if source is None or not isinstance(leaf, Col):
            return False
        if self.leaves.is_public(leaf.id) or leaf.id in self.origin.padded:
            return False
        declared = source[1].domain is not None or leaf.type.kind == "boolean"
        return declared or self.leaves.listed(leaf) is not None

    def _limit(self) -> None:
        count = math.prod(size(tree) for tree in self.trees)
        if count > MAX_SERIES:
            raise self._too_many(self.node.keys, count)

    def _too_many(self, keys: Sequence[str], count: int) -> NoBins:
        names = ", ".join(key.split(".")[-1].split("#")[0] for key in keys)
        return NoBins(
            f"{self.node.clause} {names} has {count:,} public bins, more than {MAX_SERIES:,}",
            hint="Group by fewer or coarser values, such as DATE_TRUNC('month', ...), or list the "
            "groups with IN (...).",
            position=self._at(keys[0]),
        )

    # ------------------------------------------------------------ one key

    def _key(self, key: str) -> Expr:
        """The key as an expression over columns of the bin trees."""
        expr = self.names[key]
        leaves = reads(expr)
        if leaves and all(self.leaves.is_public(leaf) for leaf in leaves):
            self.joint |= {self.leaves.alias(leaf) for leaf in leaves}
            return expr
        listed = self.leaves.listed(expr)
        if listed is not None:
            return self._values(key, listed, expr.type)
        if leaves and all(self._enumerate(leaf) for leaf in leaves) and self._is_told(expr):
            return expr
        if not leaves and any(isinstance(part, Constant) for part in walk(expr)):
            # One value, which an earlier stage gives.
            return expr
        finite = self._finite(expr, key)
        if finite is not None:
            return finite
        raise self._none(key, expr)

    def _tell_apart(self, key: str, found: Expr) -> None:
        """Bins are exact numbers. A key in double precision could be equal to two of them."""
        expr = self.names[key]
        stored = isinstance(expr, Col) and self.leaves.source(expr.id) is not None
        if expr.type.kind != "numeric" or stored or width(expr) is not None:
            return
        if not all(is_short(tree) for tree in self.trees if ids(tree) & reads(found)):
            raise NoBins(
                f"{self.node.clause} of numbers of more than {DIGITS} digits in double precision has no bins: "
                "some are equal",
                hint="Cast it, as in x::bigint or x::numeric(18, 2).",
                position=self._at(key),
            )

    def _values(self, key: str, values: tuple[Value, ...], type: Type) -> Expr:
        id = f"bin:{key}"
        self.trees.append(rows_of(id, type, values))
        return Col(id, type)

    # ------------------------------------------------------------ private leaves with declared values

    def _is_told(self, expr: Expr) -> bool:
        """Whether the first moment of a step speaks for all of them."""
        steps = ((self.steps[leaf], grain(expr, leaf)) for leaf in reads(expr) & self.steps.keys())
        return all(found is not None and found % step == 0 for step, found in steps)

    def _stepped(self, leaf: str, type: Type, span: Range, nullable: bool) -> Node | None:
        """Moments, as finely as the keys tell them apart."""
        keys = (self.names[key] for key in self.node.keys)
        grains = [g for g in (grain(key, leaf) for key in keys if leaf in reads(key)) if g]
        if not grains:
            return None
        step = math.gcd(*grains)
        found = stepped(leaf, type, narrowed(span, leaf, self.origin.conditions), step)
        if found is None or size(found) > MAX_SERIES:
            self.many |= {leaf: size(found)} if found is not None else {}
            return None
        self.steps[leaf] = step
        return or_null(found) if nullable else found

    def _padded_public(self, leaf: str, scan: Scan, column: Column) -> Node | None:
        """Public values of a column that an outer join pads, and NULL."""
        if column.name not in self.policies.public_columns(scan.table.name):
            return None
        seen = Distinct(Project(scan, ((leaf, Col(leaf, column.type)),)))
        return or_null(seen)

    def _enumerate(self, leaf: str) -> bool:
        """Make `leaf` available as a bin column from its domain, range, or list; False when it has none."""
        if leaf in self.available:
            return True
        source = self.leaves.source(leaf)
        if source is None:
            return self._enumerate_opaque(leaf)
        scan, column = source
        nullable = column.nullable or leaf in self.origin.padded
        tree = self._padded_public(leaf, scan, column) if leaf in self.origin.padded else None
        tree = tree or self._column_tree(leaf, column, nullable)
        tree = tree or self._referenced(leaf, scan, column, nullable)
        if tree is None:
            return False
        self.trees.append(tree)
        self.available |= ids(tree)
        return True

    def _referenced(self, leaf: str, scan: Scan, column: Column, nullable: bool) -> Node | None:
        """A foreign key has no other values than the keys of the table it refers to, where those are public.

        Columns of one key come together: the pairs that occur, not all pairs of both. Other columns beside
        them are no bins: all their values for every key would be far more than occur.
        """
        options = [
            (self._wanted(scan, fk), fk)
            for fk in scan.table.foreign_keys
            if column.name in fk.columns and self.leaves.public_keys(fk) and self._alone(scan, fk)
        ]
        if not options:
            return None
        names, fk = max(options, key=lambda option: len(option[0]))
        if nullable:
            names = [column.name]
        target = self.policies.schema.table(fk.references)
        other = Scan(target, f"bins of {scan.alias}.{fk.references}")
        key = dict(zip(fk.columns, target.key, strict=True))
        outputs = tuple(
            (f"{scan.alias}.{n}", Col(f"{other.alias}.{key[n]}", target.columns[key[n]].type))
            for n in names
        )
        tree = Distinct(Project(other, outputs))
        return or_null(tree) if nullable else tree

    def _wanted(self, scan: Scan, fk: ForeignKey) -> list[str]:
        """Columns of `fk` that the grouping asks for and no other bins give yet."""
        asked = self._asked()
        return [
            name
            for name in fk.columns
            if (id := f"{scan.alias}.{name}") in asked
            and id not in self.available
            and not self.leaves.is_public(id)
            and self._column_tree(id, scan.table.columns[name], False) is None
        ]

    def _alone(self, scan: Scan, fk: ForeignKey) -> bool:
        return self._asked() <= {f"{scan.alias}.{name}" for name in fk.columns}

    def _asked(self) -> frozenset[str]:
        return frozenset().union(*(reads(self.names[key]) for key in self.node.keys))

    def _column_tree(self, leaf: str, column: Column, nullable: bool) -> Node | None:
        listed = self.leaves.listed(Col(leaf, column.type))
        if listed is not None:
            return rows_of(leaf, column.type, listed)
        if isinstance(column.domain, range) and column.other is None:
            series = Series(leaf, column.type, column.domain[0], column.domain[-1])
            return or_null(series) if nullable else series
        if column.domain is not None:
            values = (*column.domain, *((column.other,) if column.other is not None else ()))
            return rows_of(leaf, column.type, values, nullable)
        if column.type.kind == "boolean":
            return rows_of(leaf, column.type, (False, True), nullable)
        fact = self.facts.columns(self.leaves.scans[self.leaves.alias(leaf)]).get(leaf)
        span = fact.range if fact else ANY
        if is_stepped(column.type):
            return self._stepped(leaf, column.type, span, nullable)
        if column.type.kind == "date":
            span = narrowed(span, leaf, self.origin.conditions)
        return series_of(leaf, column.type, span, nullable)

    def _enumerate_opaque(self, leaf: str) -> bool:
        """Counts with a known maximum, constants, unions, and columns that an outer join pads."""
        node = self.origin.opaque[leaf]
        if isinstance(node, Select | Project):
            return self._windowed(node, leaf in self.origin.padded)
        tree = self._opaque_tree(leaf, node)
        if tree is None:
            return False
        if leaf in self.origin.padded:
            tree = or_null(tree)
        self.trees.append(tree)
        self.available.add(leaf)
        return True

    def _windowed(self, node: Node, padded: bool) -> bool:
        """Columns of public rows that windows were put to: the combinations that occur."""
        asked = self._asked()
        kept = tuple((id, Col(id, type)) for id, type in columns(node) if id in asked)
        tree: Node = Distinct(Project(node, kept))
        if padded:
            tree = or_null(tree)
        self.trees.append(tree)
        self.available |= {id for id, _ in kept}
        return True

    def _opaque_tree(self, leaf: str, node: Node) -> Node | None:
        match node:
            case Values(own, rows):
                index = [id for id, _ in own].index(leaf)
                distinct = tuple(dict.fromkeys((row[index],) for row in rows))
                return Values((own[index],), distinct)
            case UnionAll():
                return self._union_tree(leaf, node)
            case Aggregate() | Series():
                fact = self.facts.columns(node)[leaf]
                return series_of(leaf, fact.type, fact.range, fact.nullable)
            case _:
                inner = Aggregate(node, (leaf,), (), (), self.node.clause)
                return BinFinder(self.policies, self.facts, inner).find().tree

    def _union_tree(self, leaf: str, node: UnionAll) -> Node:
        index = [id for id, _ in node.outputs].index(leaf)
        sides = []
        for side, id in ((node.left, node.left_ids[index]), (node.right, node.right_ids[index])):
            sides.append(
                (BinFinder(self.policies, self.facts, Aggregate(side, (id,), ())).find().tree, id)
            )
        (left, a), (right, b) = sides
        return Distinct(UnionAll(left, right, ((leaf, node.outputs[index][1]),), (a,), (b,)))

    # ------------------------------------------------------------ keys with few values by construction

    def _finite(self, expr: Expr, key: str) -> Expr | None:
        fact = self.facts.columns(self.node.child)[key]
        constants = constants_of(expr)
        if constants is not None:
            values = tuple(dict.fromkeys(constants))
        elif expr.type.kind == "boolean":
            values = (False, True, None) if fact.nullable else (False, True)
        else:
            return self._whole_numbers(expr, f"bin:{key}", fact)
        return self._values(key, values, expr.type)

    def _whole_numbers(self, expr: Expr, id: str, fact: Fact) -> Expr | None:
        """FLOOR(x / 100) * 100 takes a value for each of FLOOR(x / 100), not for each number of its range."""
        options = [
            (inner, tree)
            for inner, span in undone(expr, fact.range)
            if (tree := series_of(id, inner.type, span, fact.nullable)) is not None
        ]
        if not options:
            return None
        inner, tree = options[-1]
        self.trees.append(tree)
        return rewrite(expr, lambda part: Col(id, inner.type) if part == inner else None)

    def _none(self, key: str, expr: Expr) -> NoBins:
        leaf = next((leaf for leaf in sorted(reads(expr)) if not self.leaves.is_public(leaf)), key)
        if leaf in self.many:
            return self._too_many([key], self.many[leaf])
        source, clause = self.leaves.source(leaf), self.node.clause
        return no_bins(self.policies, clause, key, source, self._at(key))

    def _at(self, key: str) -> int | None:
        places = dict(zip(self.node.keys, self.node.at, strict=False))
        return places.get(key)

    # ------------------------------------------------------------ public data

    def _public_tree(self) -> Node | None:
        """Scans that public keys come from, joined with the public tables that conditions tie to them."""
        chosen = set(self.joint)
        if not chosen:
            return None
        while more := self.leaves.tied(chosen):
            chosen |= more
        scans = [scan for scan in self.origin.scans if scan.alias in chosen]
        seen = frozenset(
            leaf for scan in scans for leaf in ids(scan) if self.leaves.is_public(leaf)
        )
        conditions = [c for c in self.origin.conditions if reads(c) and reads(c) <= seen]
        narrow = [
            Project(s, tuple((id, Col(id, t)) for id, t in columns(s) if id in seen)) for s in scans
        ]
        tree = assemble(self.facts, narrow, conditions)
        self.available |= seen
        needed = frozenset().union(*(reads(self.names[key]) for key in self.node.keys)) & seen
        kept = tuple((id, Col(id, t)) for id, t in columns(tree) if id in needed or self._mixed(id))
        return Distinct(Project(tree, kept))

    def _mixed(self, leaf: str) -> bool:
        """Whether a condition ties `leaf` to a column that comes from a declared domain."""
        declared = frozenset(id for tree in self.trees for id in ids(tree))
        return any(leaf in reads(c) and reads(c) & declared for c in self.origin.conditions)

    def _used(self, condition: Expr) -> bool:
        return all(self.leaves.is_public(leaf) for leaf in reads(condition))

    def _other_keys(self) -> dict[str, Expr]:
        """Where a key's bins come from its domain, the values outside of that are one more bin; those that
        public data or the query lists are bins of their own."""
        found = {}
        for key in self.node.keys:
            expr = self.names[key]
            source = self.leaves.source(expr.id) if isinstance(expr, Col) else None
            if source is None or not isinstance(expr, Col) or self.leaves.listed(expr) is not None:
                continue
            scan, column = source
            public = column.name in self.policies.public_columns(scan.table.name)
            if column.other is not None and column.domain is not None and not public:
                found[key] = or_other(Col(key, expr.type), column)
        return found


def _distinct(tree: Node, outputs: tuple[tuple[str, Expr], ...]) -> Node:
    """One row a bin; rows that differ already are only named, which spares engines a second look."""
    found = Project(tree, outputs)
    shown = {expr.id for _, expr in outputs if isinstance(expr, Col)}
    return found if isinstance(tree, Distinct) and shown == ids(tree) else Distinct(found)
