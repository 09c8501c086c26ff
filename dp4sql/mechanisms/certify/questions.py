"""What is read for a template: counts over its population, planned by the engine like every query.

A slot is a Constant: what holds for every value is derived once, and the SQL is rendered for each value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from dp4sql.algebra.bounds import Bound, finite, plus, times
from dp4sql.algebra.expr import Constant
from dp4sql.algebra.nodes import Aggregate, walk_nodes
from dp4sql.algebra.types import Type, Value
from dp4sql.errors import InternalError, InvalidParameter, Unsupported
from dp4sql.infer.derivation import Derivation
from dp4sql.infer.facts import Facts
from dp4sql.infer.terms import Terms
from dp4sql.mechanisms.calls import Environment
from dp4sql.mechanisms.certify import hist
from dp4sql.mechanisms.certify.slots import Binding, named
from dp4sql.mechanisms.plan import Planner
from dp4sql.mechanisms.reading import read_sql
from dp4sql.mechanisms.stages import Plan, PublicRead, Release
from dp4sql.policy.certify import REFERENCE, Template, shown
from dp4sql.policy.labels import PolicySet
from dp4sql.rows import OutputColumn
from dp4sql.sql.dialects import Dialect
from dp4sql.sql.lower import lower
from dp4sql.sql.parse import parse
from dp4sql.sql.render import Renderer

Key: TypeAlias = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """One read: rows of group keys and exact integers. `bounds` is the L1 sensitivity of all of them
    together under each policy.

    `references` says, for each constant of the SQL, which slot and field of which binding it stands for.
    """

    stage: Release | PublicRead
    facts: Facts
    bounds: Mapping[str, int]
    references: tuple[tuple[int, str, str], ...]
    keys: int = 0

    @property
    def public(self) -> bool:
        return not any(self.bounds.values())

    @property
    def derivations(self) -> Mapping[str, Derivation]:
        return self.stage.derivations if isinstance(self.stage, Release) else {}

    def sql(self, dialect: Dialect, bindings: Sequence[Binding]) -> str:
        constants = self._constants(bindings)
        match self.stage:
            case Release():
                return read_sql(self.stage, self.facts, dialect, constants)
            case PublicRead(node, own):
                named = tuple((id, f"c{i}") for i, (id, _) in enumerate(own))
                return Renderer(dialect, constants).statement(node, named)

    def _constants(self, bindings: Sequence[Binding]) -> dict[int, object]:
        return {i: bindings[copy][s][f] for i, (copy, s, f) in enumerate(self.references)}

    async def read(self, env: Environment, bindings: Sequence[Binding]) -> dict[Key, list[int]]:
        """The exact integers of each group (or of the group () where there are none)."""
        names = tuple(OutputColumn(id, type) for id, type in self.stage.columns)
        rows = await env.fetch(self.sql(env.dialect, bindings), names)
        cells = list(zip(*rows.open_columns(), strict=True))
        order = self._order()
        return {
            tuple(row[: self.keys]): [int(row[self.keys + i] or 0) for i in order] for row in cells
        }

    def _order(self) -> list[int]:
        """Equal aggregates are measured once."""
        if isinstance(self.stage, Release):
            return [column.measurements[0] for column in self.stage.built]
        return list(range(len(self.stage.columns) - self.keys))

    async def groups(self, env: Environment, binding: Binding) -> list[Key]:
        """The public groups, in the order of their keys."""
        match self.stage:
            case Release(node=node, bins=bins) if bins is not None:
                outputs = tuple((key, f"k{i}") for i, key in enumerate(node.keys))
                text = Renderer(env.dialect, self._constants([binding])).statement(bins, outputs)
                types = dict(self.stage.columns)
                names = tuple(OutputColumn(key, types[key]) for key in node.keys)
                rows = await env.fetch(text, names)
                return sorted(
                    zip(*rows.open_columns(), strict=True), key=lambda key: tuple(map(str, key))
                )
            case _:
                return list(await self.read(env, [binding]))


@dataclass
class Questions:
    """Plans the reads of one template. `types` are those of the slots' fields."""

    policies: PolicySet
    template: Template
    types: Mapping[tuple[str, str], Type]

    def size(self) -> Target:
        """Rows of the population."""
        return self._sql().count(named_as="population")

    def count(self) -> Target:
        """Rows that support the statement, for each group where the template has groups."""
        sql = self._sql()
        keys = ", ".join(self.template.group_by)
        where = f" WHERE ({sql.predicate()})" if self.template.predicate is not None else ""
        if not keys:
            return sql.planned(f"SELECT COUNT(*) FROM {sql.population}{where}", "predicate")
        text = f"SELECT {keys}, COUNT(*) FROM {sql.population}{where} GROUP BY {keys}"
        return sql.planned(text, "group_by", keys=len(self.template.group_by))

    def weight(self, favour: int, against: int) -> Target:
        """The sum of `favour` for each supporting row and `against` for each other one."""
        sql = self._sql()
        case = f"CASE WHEN ({sql.predicate()}) THEN {favour} ELSE {against} END"
        return sql.planned(f"SELECT SUM({case}) FROM {sql.population}", "predicate")

    def clipped(self, copies: int, cap: int) -> Target:
        """For several bindings the rows that support each, a row counting for the first `cap` alone."""
        sql = self._sql()
        votes = ", ".join(
            f"CASE WHEN ({sql.predicate(i)}) THEN 1 ELSE 0 END AS v{i}" for i in range(copies)
        )
        sums = ", ".join(f"SUM({_first(i, cap)})" for i in range(copies))
        text = f"SELECT {sums} FROM (SELECT {votes} FROM {sql.population}) AS votes"
        target = sql.planned(text, "predicate")
        bounds = {
            p: hist.sensitivity(bound, _votes(target.derivations[p].terms), cap, copies)
            for p, bound in _single_bounds(target).items()
            if bound
        }
        return Target(target.stage, target.facts, bounds, target.references)

    def _sql(self) -> _Sql:
        return _Sql(self.policies, self.template, self.types)


def _first(i: int, cap: int) -> str:
    """The vote of a row for statement i, 0 where it has used its votes up."""
    if i < cap:
        return f"v{i}"
    earlier = " + ".join(f"v{j}" for j in range(i))
    return f"CASE WHEN {earlier} < {cap} THEN v{i} ELSE 0 END"


def _votes(terms: Terms) -> int:
    """How many votes move when each row has one: a row that comes or goes is one, another one two."""
    found = plus(*(times(t.n, 1 if t.kind in ("Del", "Add") else 2) for t in terms))
    return _whole(found)


def _single_bounds(target: Target) -> Mapping[str, int]:
    if not isinstance(target.stage, Release):
        return {}
    of_each = [m.bounds for m in target.stage.measurements]
    return {p: max(int(bounds[p]) for bounds in of_each) for p in of_each[0]}


def _whole(bound: Bound) -> int:
    if not finite(bound) or bound.denominator != 1:
        raise InternalError("a sensitivity that is no whole number")
    return int(bound)


@dataclass
class _Sql:
    """The text of one statement: slots become parameters whose values come when it is rendered."""

    policies: PolicySet
    template: Template
    types: Mapping[tuple[str, str], Type]
    references: list[tuple[int, str, str]] = field(default_factory=list)
    population: str = ""

    def __post_init__(self) -> None:
        text = self.template.population.strip().rstrip(";")
        with named("population"):
            parse(REFERENCE.sub("NULL", text))
            self.population = f"({self._filled(text, 0)}) AS population"
        self.count(named_as="population")

    def predicate(self, copy: int = 0) -> str:
        text = self.template.predicate or "TRUE"
        with named("predicate"):
            parse(f"SELECT {REFERENCE.sub('NULL', text)}")
            return self._filled(text, copy)

    def count(self, named_as: str) -> Target:
        return self.planned(f"SELECT COUNT(*) FROM {self.population}", named_as)

    def _filled(self, text: str, copy: int) -> str:
        def parameter(match: re.Match[str]) -> str:
            reference = (copy, match[1], match[2] or "")
            if reference[1:] not in self.types:
                raise InvalidParameter(
                    f"{shown(*reference[1:])} is no field of a slot",
                    hint=f"Known: {', '.join(shown(*known) for known in self.types)}.",
                )
            if reference not in self.references:
                self.references.append(reference)
            return f"${self.references.index(reference) + 1}"

        return REFERENCE.sub(parameter, text)

    def planned(self, text: str, part: str, keys: int = 0) -> Target:
        facts = Facts()
        given = [
            (Constant(i, self.types[r[1:]]), self.types[r[1:]])
            for i, r in enumerate(self.references)
        ]
        with named(part):
            statement = lower(text, self.policies.schema, self.policies.covered, facts, given)
            stage = _only(Planner(self.policies, facts).plan(statement))
        bounds = {p.name: 0 for p in self.policies.policies}
        if isinstance(stage, Release):
            for p in bounds:
                bounds[p] = sum(_whole(m.bounds[p]) for m in stage.measurements)
        return Target(stage, facts, bounds, tuple(self.references), keys)


def _only(plan: Plan) -> Release | PublicRead:
    """The one read that gives the count itself, not numbers that it would be computed from."""
    stage, *others = plan.stages or (None,)
    computed = any(isinstance(node, Aggregate) for node in walk_nodes(plan.final))
    if isinstance(stage, Release | PublicRead) and not others and not computed:
        return stage
    raise Unsupported(
        "a statement is certified by one count over stored rows",
        hint="Scalar subqueries, functions in FROM, and what the engine can only aggregate again after its release "
        "(STDDEV or LIMIT below the count) cannot be part of it; EXISTS, IN and joins can.",
    )
