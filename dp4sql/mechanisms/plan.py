"""From algebra to a plan: where the query splits into private reads and post-processing.

The release point is the outermost aggregate over private rows. What lies above it works on released rows;
what no policy protects is read exactly; a private scalar subquery is released first and then is a constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Final

from dp4sql.algebra.bounds import Bound, finite
from dp4sql.algebra.expr import Col, Constant, Expr, Scalar, rewrite
from dp4sql.algebra.lengths import check_lengths
from dp4sql.algebra.naming import check_names
from dp4sql.algebra.nodes import (
    Aggregate,
    Distinct,
    Fetched,
    Join,
    Node,
    Project,
    Scan,
    Select,
    Semi,
    Sort,
    Values,
    columns,
    expressions,
    ids,
    inputs,
    needed,
    walk_nodes,
    with_inputs,
)
from dp4sql.algebra.types import Type
from dp4sql.errors import (
    CardinalityViolation,
    Dp4sqlError,
    InternalError,
    Refused,
    Unsupported,
    located,
)
from dp4sql.infer.derivation import Derivation
from dp4sql.infer.derive import Deriver
from dp4sql.infer.facts import Facts, uses
from dp4sql.infer.ranges import Fact
from dp4sql.infer.reasons import unbounded
from dp4sql.infer.release import sensitivity
from dp4sql.infer.squares import rows_together, squared
from dp4sql.infer.terms import seen_through
from dp4sql.mechanisms.bins import BinFinder
from dp4sql.mechanisms.bins.refusals import raw_rows
from dp4sql.mechanisms.measure import Quantity, quantities
from dp4sql.mechanisms.placing import Way, is_quieter, parted, recombined, sums_groups
from dp4sql.mechanisms.ranks import grids
from dp4sql.mechanisms.sharing import Measuring, shared
from dp4sql.mechanisms.single import constant_row, joined_rows, with_constants
from dp4sql.mechanisms.stages import (
    CallStage,
    Measurement,
    Plan,
    PublicRead,
    Release,
    ScalarStage,
    Stage,
)
from dp4sql.noise import LIMIT
from dp4sql.policy.labels import PolicySet
from dp4sql.sql.dialects import DUCKDB
from dp4sql.sql.lower import Statement
from dp4sql.sql.render import Renderer
from dp4sql.sql.render.ties import settled

NONE: Final[frozenset[str]] = frozenset()
MOST_ROWS: Final = 10**8
"""Joins of many rows seldom have as many as their bounds say."""


class Planner:
    """Plans one statement: derives under every policy, splits, and collects stages. `sharing`: SUMs may be put
    together from other measurements."""

    def __init__(self, policies: PolicySet, facts: Facts, *, sharing: bool = True) -> None:
        self.policies, self.facts, self._sharing = policies, facts, sharing
        self.derivers = {p.name: Deriver(policies.schema, p, facts) for p in policies.policies}
        self._epsilons = {p.name: p.epsilon for p in policies.policies}
        self._concentrated = frozenset(p.name for p in policies.policies if p.accountant == "zcdp")
        self.stages: list[Stage] = []
        self._seen: dict[str, int] = {}

    def plan(self, statement: Statement) -> Plan:
        self.stages += [CallStage(call) for call in statement.calls]
        shown = frozenset(column.id for column in statement.query.columns)
        final = self.split(self.resolve(statement.query.node), shown)
        check_lengths(final)
        return Plan(tuple(self.stages), final, statement.query.columns, statement.parameters)

    # ------------------------------------------------------------ scalar subqueries

    def resolve(self, node: Node) -> Node:
        """Scalar subqueries become constants that an earlier stage gives."""
        node = with_inputs(node, tuple(self.resolve(child) for child in inputs(node)))

        def planned(expr: Expr) -> Expr | None:
            return self._scalar(expr) if isinstance(expr, Scalar) else None

        if not any(uses(expr, Scalar) for expr in expressions(node)):
            return node
        return map_expressions(node, lambda expr: rewrite(expr, planned))

    def _scalar(self, expr: Scalar) -> Constant:
        if _listed_rows(expr.query) > 1:
            raise CardinalityViolation(
                "more than one row returned by a subquery used as an expression",
                hint="LIMIT 1 takes the first, MIN or MAX one of them.",
            )
        final = self.split(self.resolve(expr.query), frozenset({expr.column}))
        check_lengths(final)
        self.stages.append(ScalarStage(final, expr.column, expr.type))
        return Constant(len(self.stages) - 1, expr.type)

    # ------------------------------------------------------------ splitting

    def is_public(self, node: Node) -> bool:
        """No policy's neighbours can differ in this view or in its order, and the database has all of it."""
        if _has_fetched(node):
            return False
        derivers = self.derivers.values()
        try:
            if any(deriver.terms(node) for deriver in derivers):
                return False
        except (Refused, Unsupported):
            return False
        sorts = [part for part in walk_nodes(node) if isinstance(part, Sort)]
        return not any(_reorders(deriver, sort) for sort in sorts for deriver in derivers)

    def split(self, node: Node, used: frozenset[str]) -> Node:
        """`node` over released rows, as far as its columns `used` go: its private aggregates become stages."""
        if not any(isinstance(part, Scan) for part in walk_nodes(node)):
            return node
        if self.is_public(node):
            return self._stage(PublicRead(in_order(self.policies, node), columns(node)))
        if isinstance(node, Aggregate):
            return self._release_or_descend(node)
        if _no_aggregate(node) and not _has_fetched(node):
            seen = tuple((id, Col(id, type)) for id, type in columns(node) if id in used)
            public = Project(node, seen)
            if seen and self.is_public(public):
                return self._stage(PublicRead(in_order(self.policies, public), columns(public)))
            if isinstance(node, Distinct):
                return self.split(_grouped(node), used)
            if isinstance(node, Scan | Project | Select):
                raise self._raw(node)
        wanted = needed(node, used)
        return with_inputs(node, tuple(self.split(child, wanted) for child in inputs(node)))

    def _raw(self, node: Node) -> Dp4sqlError:
        for deriver in self.derivers.values():
            deriver.derive(node)
        scans = [s for s in walk_nodes(node) if isinstance(s, Scan) and not self.is_public(s)]
        return raw_rows(self.policies, scans)

    def _release_or_descend(self, node: Aggregate) -> Node:
        """Release here; where no rule bounds this, release further in and aggregate what was released."""
        if _has_fetched(node):
            return self._below(node)
        rows = [row for row in joined_rows(node) if not self.is_public(row)]
        if rows and not any(map(_has_fetched, rows)):
            return self._first([partial(self._after, node, rows), partial(self._ways, node)])
        return self._ways(node)

    def _after(self, node: Aggregate, rows: list[Node]) -> Node:
        """Release joined aggregates of one row first, and `node` with constants in their place."""
        known = {id(row): constant_row(row, partial(self._constant, row)) for row in rows}
        fixed = with_constants(node, lambda row: known.get(id(row)))
        assert isinstance(fixed, Aggregate)
        return self._ways(fixed)

    def _constant(self, row: Node, column: str, type: Type) -> Constant:
        return self._scalar(Scalar(row, column, type))

    def _ways(self, node: Aggregate) -> Node:
        ways: list[Callable[[], Node]] = [partial(self._at, node)]
        if not _no_aggregate(node.child):
            ways.append(partial(self._below, node))
            quieter = self._quieter(node)
            ways = [quieter, *ways] if quieter is not None else ways
        if any(agg.function in ("min", "max") for agg in node.aggs):
            # The least and the largest of released rows need no selection of their own.
            ways.reverse()
        return self._first(ways)

    def _at(self, node: Aggregate) -> Fetched:
        return self._stage(self._located(node))

    def _below(self, node: Aggregate) -> Node:
        return with_inputs(node, (self.split(node.child, needed(node, NONE)),))

    def _parted(self, node: Aggregate) -> Node:
        """Sums over released groups, and counts of the groups that there are."""
        sums, counts = parted(node)
        return recombined(node, self._below(sums), self._at(counts) if counts else None)

    def _quieter(self, node: Aggregate) -> Callable[[], Node] | None:
        """A way with less noise in sums and means than releasing them here, where there is one."""
        if not sums_groups(node):
            return None
        outer = self._tried(partial(self._at, node))
        if outer is None:
            return None
        for way, means in ((self._parted, False), (self._below, True)):
            inner = self._tried(partial(way, node))
            if inner is not None and is_quieter(
                node, outer, inner, self.facts, self._epsilons, means=means
            ):
                return partial(way, node)
        return None

    def _tried(self, way: Callable[[], Node]) -> Way | None:
        """A way with its stages, which are not kept; None where it is refused."""
        mark, seen = len(self.stages), dict(self._seen)
        try:
            return Way(way(), tuple(self.stages), mark)
        except (Refused, Unsupported):
            return None
        finally:
            del self.stages[mark:]
            self._seen = seen

    def _first(self, ways: list[Callable[[], Node]]) -> Node:
        """The first way that is not refused; else the refusal of the first."""
        mark, refusal = len(self.stages), None
        for way in ways:
            try:
                return way()
            except (Refused, Unsupported) as error:
                refusal = refusal or error
                del self.stages[mark:]
                self._seen = {key: i for key, i in self._seen.items() if i < mark}
        assert refusal is not None
        raise refusal

    def _stage(self, stage: Release | PublicRead) -> Fetched:
        """Equal reads are one stage: the same thing is never measured twice."""
        check_names(stage.node)
        check_lengths(stage.node)
        key = f"{type(stage).__name__} {Renderer(DUCKDB).statement(*_identity(stage))}"
        if key not in self._seen:
            self.stages.append(stage)
            self._seen[key] = len(self.stages) - 1
        index = self._seen[key]
        return Fetched(index, stage.columns)

    # ------------------------------------------------------------ the release

    def _located(self, node: Aggregate) -> Release:
        with located(next((agg.at for agg in node.aggs), None)):
            return self.release(node)

    def release(self, node: Aggregate) -> Release:
        below = self.facts.columns(node.child)
        units = {id: unit for id, fact in below.items() if (unit := self._declared_unit(fact))}
        candidates = grids(node, self.facts, self.policies.schema)
        derivations = {name: d.derive(node.child) for name, d in self.derivers.items()}
        known: dict[Quantity, Measurement] = {}
        most = self.facts.freq(node.child, NONE)
        rows = max(1, min(MOST_ROWS, int(most) if finite(most) else MOST_ROWS))

        @cache
        def together(policy: str) -> Bound:
            return rows_together(self.derivers[policy], node.child, frozenset(node.keys))

        def planned(centred: frozenset[str]) -> Measuring:
            measured, built = quantities(node.aggs, below, units, candidates, rows, centred)
            for quantity in measured:
                if quantity not in known:
                    known[quantity] = self._measurement(quantity, node, derivations, together)
            return Measuring(tuple(known[q] for q in measured), tuple(built))

        measuring = shared(planned, node.aggs if self._sharing else (), self._epsilons)
        bins = BinFinder(self.policies, self.facts, node).find() if node.keys else None
        if bins is not None and not self.is_public(bins.tree):
            raise InternalError("bins that are not public")
        return Release(
            node=node,
            bins=bins.tree if bins is not None else None,
            group_by=bins.keys if bins is not None else {},
            columns=columns(node),
            measurements=measuring.measurements,
            built=measuring.built,
            derivations=derivations,
        )

    def _declared_unit(self, fact: Fact) -> Fraction | None:
        source = fact.source
        if source is None:
            return None
        return self.policies.schema.table(source.table).columns[source.column].unit

    def _measurement(
        self,
        quantity: Quantity,
        node: Aggregate,
        derivations: dict[str, Derivation],
        together: Callable[[str], Bound],
    ) -> Measurement:
        bounds: dict[str, Fraction] = {}
        squares: dict[str, Fraction] = {}
        rules: dict[str, str] = {}
        keys = frozenset(node.keys)
        for name, derivation in derivations.items():
            found = sensitivity(derivation.terms, keys, quantity.summand)
            if not finite(found.bound):
                raise unbounded(self.derivers[name], node.child, _shown(node, quantity))
            bounds[name] = Fraction(found.bound) * quantity.loss_factor
            if bounds[name] > LIMIT:
                raise Refused(
                    f"{_shown(node, quantity)} moves by more steps under policy {name} than 64 bits count",
                    hint="Round or divide what it adds up, as in SUM(x / 1000), or filter to fewer rows.",
                )
            l1 = Fraction(found.bound)
            squares[name] = squared(derivation.terms, keys, quantity.summand, l1, together(name))
            rules[name] = found.rule
        rows = self.facts.freq(node.child, keys) if quantity.rank is not None else None
        most = int(rows) if rows is not None and finite(rows) else None
        return Measurement(quantity, bounds, squares, rules, self._concentrated, most)


def in_order(policies: PolicySet, node: Node) -> Node:
    """Public rows, those of a partly private table in an order that nothing private decides."""
    tables = [part.table for part in walk_nodes(node) if isinstance(part, Scan)]
    if all(policies.public_columns(t.name) == frozenset(t.columns) for t in tables):
        return node
    return settled(node, ids(node))


def map_expressions(node: Node, change: Callable[[Expr], Expr]) -> Node:
    match node:
        case Select(predicate=predicate):
            return replace(node, predicate=change(predicate))
        case Project(outputs=outputs):
            return replace(node, outputs=tuple((id, change(expr)) for id, expr in outputs))
        case Join(residual=residual) | Semi(residual=residual) if residual is not None:
            return replace(node, residual=change(residual))
        case _:
            return node


def _listed_rows(node: Node) -> int:
    """How many rows VALUES gives, as they are; 0 for what is not known before the answer."""
    while isinstance(node, Project | Sort):
        node = node.child
    return len(node.rows) if isinstance(node, Values) else 0


def _grouped(node: Distinct) -> Aggregate:
    """SELECT DISTINCT a, b is GROUP BY a, b."""
    keys = tuple(id for id, _ in columns(node))
    return Aggregate(node.child, keys, (), node.at, "DISTINCT")


def _no_aggregate(node: Node) -> bool:
    return not any(isinstance(part, Aggregate) for part in walk_nodes(node))


def _reorders(deriver: Deriver, sort: Sort) -> bool:
    """Whether private values decide the order of rows, which shows however few columns are left of them."""
    keys = frozenset(id for id, *_ in sort.keys)
    return bool(seen_through(deriver.terms(sort.child), keys))


def _has_fetched(node: Node) -> bool:
    """Whether rows of an earlier stage occur in `node`: the database does not have them."""
    return any(isinstance(part, Fetched) for part in walk_nodes(node))


def _identity(stage: Release | PublicRead) -> tuple[Node, tuple[tuple[str, str], ...]]:
    return stage.node, tuple((id, f"c{i}") for i, (id, _) in enumerate(stage.columns))


def _shown(node: Aggregate, quantity: Quantity) -> str:
    """The aggregate as the statement writes it, where one reads the same column."""
    return next((agg.text for agg in node.aggs if agg.arg == quantity.arg), quantity.sql())
