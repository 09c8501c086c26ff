"""A statement before it runs: its plan, price and explanation. Pure: no data, no randomness."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain
from typing import Final, TypeAlias

from dp4sql.algebra.types import Type, Value
from dp4sql.budget.cost import Charge
from dp4sql.errors import TooComplex
from dp4sql.infer.facts import Facts
from dp4sql.mechanisms.explain import Explanation, derivation_hash, explanation
from dp4sql.mechanisms.functions import FUNCTIONS, SIGNATURES
from dp4sql.mechanisms.gathered import bin_notices
from dp4sql.mechanisms.kept.derived import View
from dp4sql.mechanisms.kept.stored import Identity, identities
from dp4sql.mechanisms.lineage import Output, outputs
from dp4sql.mechanisms.notices import (
    arguments,
    clamp_notices,
    epsilon_notices,
    listed_notices,
    noise_notices,
)
from dp4sql.mechanisms.plan import Planner
from dp4sql.mechanisms.reading import read_sql
from dp4sql.mechanisms.split import weights
from dp4sql.mechanisms.stages import Plan, Price, PublicRead, Release, ScalarStage, price
from dp4sql.mechanisms.target import reaching
from dp4sql.pipeline import errorbars
from dp4sql.pipeline.errorbars import Form, form_of
from dp4sql.policy.labels import PolicySet
from dp4sql.rows import OutputColumn
from dp4sql.settings import Settings
from dp4sql.sql.dialects import DUCKDB, Dialect
from dp4sql.sql.lower import lower
from dp4sql.sql.lower.expressions.moments import fixed
from dp4sql.sql.render import Renderer

MOST_QUOTES: Final = 8

Parameters: TypeAlias = tuple[tuple[Value, Type], ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """What Describe needs: output columns and parameter types."""

    columns: tuple[OutputColumn, ...]
    parameters: tuple[Type, ...]


@dataclass(slots=True)
class Quote:
    """What a statement costs where nothing of it is kept, and what clients are told of that. `due` is what a
    policy is charged on a day, once it is known that a query may cost that."""

    price: Price
    notices: tuple[str, ...]
    due: tuple[datetime.date, Sequence[Charge]] | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A plan with the facts it rests on, and what its stages are known by when they are kept."""

    plan: Plan
    facts: Facts
    outputs: tuple[Output, ...]
    form: Form
    reads: tuple[str, ...] = ()
    """What each stage asks the engine, as long as no number of an earlier stage stands in it."""
    identities: tuple[Identity, ...] = ()
    """What each stage is known by when its release is kept."""
    derivation: str = ""
    """The hash of the derivations, for ledger and audit log."""
    quotes: dict[tuple[Settings, str], Quote] = field(default_factory=dict)
    """By settings and role, those asked for last."""
    views: dict[int, View | None] = field(default_factory=dict)
    """What releases may be derived by, as far as anybody asked."""

    def columns(self, settings: Settings) -> tuple[OutputColumn, ...]:
        return errorbars.columns(self.plan, self.outputs, settings)


@contextmanager
def _shallow() -> Iterator[None]:
    try:
        yield
    except RecursionError:
        raise TooComplex(
            "the statement is nested too deeply",
            hint="A long chain of AND, + or UNION ALL nests, too: IN (...) and VALUES do not.",
        ) from None


@_shallow()
def prepare(
    policies: PolicySet,
    sql: str,
    parameters: Parameters | None,
    sharing: bool = True,
    now: datetime.datetime | None = None,
) -> Prepared:
    """Parse, lower, infer, plan. `sharing`: as `shares_sums` says of the settings; `now`: what the statement
    may know of the moment."""
    facts = Facts()
    schema, covered = policies.schema, policies.covered
    statement = lower(sql, schema, covered, facts, parameters, SIGNATURES, now)
    plan = Planner(policies, facts, sharing=sharing).plan(statement)
    found = outputs(plan)
    return Prepared(plan, facts, found, form_of(plan, found))


@_shallow()
def rendered(prepared: Prepared, dialect: Dialect) -> Prepared:
    """A plan that is known to render: what an engine has no safe SQL for is refused here, uncharged."""
    plan, facts = prepared.plan, prepared.facts
    reads = tuple(stage_sql(stage, facts, dialect, {}) for stage in plan.stages)
    known_by = identities(plan, facts, dialect)
    columns = tuple((c.id, f"c{i}") for i, c in enumerate(plan.columns))
    Renderer(DUCKDB).statement(plan.final, columns)
    return replace(prepared, reads=reads, identities=known_by, derivation=derivation_hash(plan))


def shares_sums(settings: Settings) -> bool:
    """Whether SUMs may be put together from other measurements; where an error is asked for, that costs more."""
    return settings.target_error is None


def priced(prepared: Prepared, policies: PolicySet, settings: Settings, role: str) -> Price:
    """Scales and charges; InvalidParameter where dp4sql.split names what the query does not have, or
    dp4sql.target_error cannot say what is meant."""
    if settings.target_error is not None:
        names = (policy.name for policy in policies.policies)
        return reaching(prepared.plan, settings.target_error, names)
    allowed = epsilons(policies, settings, role)
    shares = weights(prepared.plan, prepared.outputs, settings.split, allowed)
    return price(prepared.plan, allowed, shares)


def quoted(prepared: Prepared, policies: PolicySet, settings: Settings, role: str) -> Quote:
    """What `priced` says, and its notices; remembered."""
    found = prepared.quotes.get((settings, role))
    if found is None:
        price = priced(prepared, policies, settings, role)
        found = Quote(price, told(prepared, policies, price, settings, role))
        if len(prepared.quotes) >= MOST_QUOTES:
            prepared.quotes.clear()
        prepared.quotes[settings, role] = found
    return found


def told(
    prepared: Prepared, policies: PolicySet, cost: Price, settings: Settings, role: str
) -> tuple[str, ...]:
    """The noise in each column, and what was done to what was asked for."""
    return (
        *noise_notices(prepared.plan, cost),
        *bin_notices(prepared.plan, cost),
        *listed_notices(prepared.plan),
        *clamp_notices(prepared.plan, settings),
        *epsilon_notices(policies, cost, settings, role),
    )


def epsilons(policies: PolicySet, settings: Settings, role: str) -> dict[str, Fraction]:
    """What a query of `role` may lose under each policy, by default or as the session asks."""
    return {p.name: p.epsilon_of(settings.epsilon, role) for p in policies.policies}


def explain(
    policies: PolicySet, sql: str, settings: Settings | None = None, *, dialect: Dialect = DUCKDB
) -> Explanation:
    """Bounds, derivations, noise and price of `sql`, from the policy file alone."""
    settings = settings or Settings()
    prepared = prepare(policies, sql, (), shares_sums(settings), fixed(sql))
    return explained(prepared, policies, settings, "", dialect)


@_shallow()
def explained(
    prepared: Prepared, policies: PolicySet, settings: Settings, role: str, dialect: Dialect
) -> Explanation:
    allowed, plan = epsilons(policies, settings, role), prepared.plan
    reads = (stage_sql(stage, prepared.facts, dialect, {}) for stage in plan.stages)
    calls = (
        FUNCTIONS[call.function].explain(policies, allowed, call.arguments)
        for _, call in plan.calls()
    )
    cost = priced(prepared, policies, settings, role)
    found = explanation(plan, cost, tuple(filter(None, reads)), tuple(chain(*calls)))
    bars = errorbars.described(plan, prepared.outputs, settings)
    rho = frozenset(p.name for p in policies.policies if p.accountant == "zcdp")
    remarks = (*dict.fromkeys(arguments(plan)), *bin_notices(plan, cost))
    return replace(found, error_columns=bars, concentrated=rho, remarks=remarks)


def stage_sql(
    stage: object, facts: Facts, dialect: Dialect, constants: Mapping[int, object]
) -> str:
    match stage:
        case Release():
            return read_sql(stage, facts, dialect, constants)
        case PublicRead(node, columns):
            named = tuple((id, f"c{i}") for i, (id, _) in enumerate(columns))
            return Renderer(dialect, constants).statement(node, named)
        case ScalarStage(node, column):
            Renderer(DUCKDB, constants).statement(node, ((column, "c0"),))
            return ""
        case _:
            return ""


def typed(parameters: Sequence[Value], types: Sequence[Type | None]) -> Parameters:
    known = [*types, *([None] * len(parameters))]
    return tuple(
        (tuple(value) if isinstance(value, list) else value, known[i] or Type("unknown"))
        for i, value in enumerate(parameters)
    )


def weight(
    sql: str, parameters: Parameters | None, sharing: bool, now: datetime.datetime | None
) -> int:
    """Characters, in the text and among the parameters; a plan itself is worth some hundred."""
    long = (value for value, _ in parameters or () if isinstance(value, str | tuple))
    return 500 + len(sql) + sum(map(len, long))
