"""dp4sql.certify and dp4sql.certify_plan as functions in FROM."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import partial
from typing import Final

from dp4sql.algebra.jsonb import jsonb
from dp4sql.algebra.types import BIGINT, DOUBLE, INTEGER, JSONB, NUMERIC, TEXT, Type, Value
from dp4sql.mechanisms.calls import Arguments, Environment, Loss, Opened, Rows, TableFunction
from dp4sql.mechanisms.certify import laws
from dp4sql.mechanisms.certify.certificate import adjacency, certificate, rendered, slots_json
from dp4sql.mechanisms.certify.control import planned_level
from dp4sql.mechanisms.certify.forms import Count, Private, Steps
from dp4sql.mechanisms.certify.laws import Exact, Gap, Gaussian, Geometric, Law
from dp4sql.mechanisms.certify.price import (
    Price,
    Priced,
    half_emission_of,
    optimum_of,
    price,
)
from dp4sql.mechanisms.certify.release import Outcome, release
from dp4sql.mechanisms.certify.report import Plan, Statement, batches, plan
from dp4sql.mechanisms.certify.request import Request, read_request
from dp4sql.mechanisms.kept.stored import digest
from dp4sql.policy.labels import PolicySet
from dp4sql.sql.lower.calls import Parameter, Signature

_TEXT, _NUMBER = Parameter(TEXT), Parameter(NUMERIC)

PARAMETERS: Final = {
    "template": _TEXT,
    "bind": _TEXT,
    "statement": _TEXT,
    "population": _TEXT,
    "predicate": _TEXT,
    "theta": _NUMBER,
    "epsilon": _NUMBER,
    "beta": _NUMBER,
    "mechanism": _TEXT,
    "control": _TEXT,
    "margin": _TEXT,
    "max_statements": Parameter(INTEGER),
    "cap": Parameter(INTEGER),
    "select_share": _NUMBER,
    "delta": _NUMBER,
}
COLUMNS: Final[tuple[tuple[str, Type], ...]] = (
    ("ordinal", INTEGER),
    ("statement", TEXT),
    ("slots", JSONB),
    ("decision", TEXT),
    ("support_lower", NUMERIC),
    ("count_lower", BIGINT),
    ("theta", NUMERIC),
    ("population", BIGINT),
    ("estimate", NUMERIC),
    ("margin", NUMERIC),
    ("sensitivity", BIGINT),
    ("half_emission", BIGINT),
    ("optimum", BIGINT),
    ("beta", NUMERIC),
    ("epsilon", NUMERIC),
    ("p_value", DOUBLE),
    ("mechanism", TEXT),
    ("adjacency", TEXT),
    ("certificate", TEXT),
)
PLAN_COLUMNS: Final = tuple(
    column
    for column in COLUMNS
    if column[0]
    not in ("decision", "support_lower", "count_lower", "estimate", "p_value", "certificate")
)


# ---------------------------------------------------------------- certify


async def _open_certify(env: Environment, given: Arguments) -> Opened:
    request, cost = await _priced(env, given)
    key = _store_key(env, request, cost)
    delta = request.delta if request.mechanism == "gaussian" else Fraction(0)
    losses = tuple(
        Loss(p, loss, delta=delta, most_delta=request.most_delta)
        for p, loss in cost.losses.items()
        if loss
    )
    kept = await asyncio.to_thread(env.kept.find, key) if losses else None

    async def run() -> Rows:
        if losses:
            used = partial(env.kept.note, role=env.role, purpose="certify")
            await asyncio.to_thread(used, key, reused=kept is not None)
        if kept is not None:
            return _restored(kept)
        found = await release(env, request, cost)
        rows = await asyncio.to_thread(_rows, env.policies, request, found)
        if losses:
            env.kept.keep(key, json.dumps(rows, default=str))
        return rows

    if kept is not None:
        return Opened(
            (), run, ("the same request was answered before: its rows are shown again, free",)
        )
    return Opened(losses, run)


async def _priced(env: Environment, given: Arguments) -> tuple[Request, Price]:
    request = read_request(env.policies, given)
    made = await batches(env, plan(env.policies, request))
    return request, await asyncio.to_thread(price, env.policies, env.epsilons, request, made)


def _rows(policies: PolicySet, request: Request, found: Sequence[Outcome]) -> Rows:
    return [_row(policies, request, i, outcome) for i, outcome in enumerate(found, 1)]


def _row(policies: PolicySet, request: Request, ordinal: int, found: Outcome) -> tuple[Value, ...]:
    s, verdict = found.statement, found.verdict
    bound = verdict.bound
    cells = _planned_cells(policies, request, found.part, s, verdict.level, verdict.margin)
    cells |= {
        "ordinal": ordinal,
        "decision": "emit" if verdict.emitted else "abstain",
        "support_lower": _rounded(bound.fraction, ROUND_FLOOR) if bound else None,
        "count_lower": bound.count if bound else None,
        "estimate": _estimate(found),
        "p_value": float(verdict.p_value),
        "certificate": certificate(policies, request, found),
    }
    return tuple(cells[name] for name, _ in COLUMNS)


def _estimate(found: Outcome) -> Value:
    """The noisy fraction, as it came out: it may lie below 0 or above 1."""
    form = found.statement.form
    if not isinstance(form, Count) or found.noisy is None or not form.n:
        return None
    return _rounded(Fraction(found.noisy, form.n), ROUND_HALF_EVEN)


def _store_key(env: Environment, request: Request, cost: Price) -> str:
    """Equal for equal requests under the same policy file, at the same price, on equal public data."""
    statements = [
        (s.binding, s.group, s.form) for part in cost.parts for s in part.batch.statements
    ]
    asked = (repr(request), repr(cost.losses), repr(statements))
    return digest(env.data, env.policies.fingerprint, *asked)


def _restored(content: str) -> Rows:
    """Rows as they were kept; numbers that JSON has no type for came as text."""
    numeric = [i for i, (_, type) in enumerate(COLUMNS) if type == NUMERIC]
    rows: Rows = []
    for row in json.loads(content):
        for i in numeric:
            row[i] = None if row[i] is None else Decimal(row[i])
        rows.append(tuple(row))
    return rows


# ---------------------------------------------------------------- certify_plan


async def _open_plan(env: Environment, given: Arguments) -> Opened:
    """Reads no private row and costs nothing."""
    request, cost = await _priced(env, given)
    listed = [(part, s) for part in cost.parts for s in part.batch.statements]
    level = planned_level(request.control, len(listed), request.beta)

    async def run() -> Rows:
        rows = []
        for i, (part, s) in enumerate(listed, 1):
            margin = laws.margin(part.law, level)
            cells = _planned_cells(env.policies, request, part, s, level, margin)
            rows.append(tuple(({"ordinal": i} | cells)[name] for name, _ in PLAN_COLUMNS))
        return rows

    return Opened((), run)


def _planned_cells(
    policies: PolicySet,
    request: Request,
    part: Priced,
    s: Statement,
    level: Fraction,
    margin: int,
) -> dict[str, Value]:
    """What does not depend on data."""
    return {
        "statement": rendered(request, s),
        "slots": jsonb(slots_json(s, request.template.group_by)),
        "theta": _rounded(s.form.theta, ROUND_HALF_EVEN),
        "population": s.population,
        "margin": _rounded(_in_rows(s, margin), ROUND_CEILING),
        "sensitivity": part.batch.support.get(part.policy, 0),
        "half_emission": half_emission_of(part, s.form, level),
        "optimum": optimum_of(part, s.form, level),
        "beta": _rounded(request.beta, ROUND_CEILING),
        "epsilon": _rounded(part.epsilon, ROUND_CEILING),
        "mechanism": request.mechanism,
        "adjacency": adjacency(policies, part.policy),
    }


def _in_rows(s: Statement, margin: int) -> Fraction:
    """How far the noisy count must be above what the bound says."""
    match s.form:
        case Count():
            return Fraction(margin)
        case Steps(unit=unit):
            return Fraction(unit * margin)
        case Private(theta, unit):
            return Fraction(unit * margin, theta.denominator)


_WIDE: Final = Context(prec=60)


def _rounded(value: Fraction, rounding: str) -> Decimal:
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    short = exact.quantize(Decimal("0.000001"), rounding=rounding, context=_WIDE)
    return short.normalize() if short != short.to_integral() else short.quantize(Decimal(1))


# ---------------------------------------------------------------- EXPLAIN


def _explain(
    policies: PolicySet, epsilons: Mapping[str, Fraction], given: Arguments
) -> Sequence[str]:
    """Sensitivity with its derivation, margin, half emission and price, from the policy file alone."""
    request = read_request(policies, given)
    planned = plan(policies, request)
    count = planned.count
    lines = [
        f"certify: mechanism {request.mechanism}, margin {request.margin}, control {request.control}, "
        f"beta {float(request.beta):g}",
        f"population: {'private size, not released' if planned.private_population else 'known size'}",
    ]
    lines += [f"support count: {bound} under policy {p}" for p, bound in count.bounds.items()]
    lines += _explained_price(policies, epsilons, planned)
    for policy, derivation in count.derivations.items():
        lines += [f"derivation under policy {policy}:", *derivation.lines(1)]
    return lines


def _explained_price(
    policies: PolicySet, epsilons: Mapping[str, Fraction], planned: Plan
) -> Sequence[str]:
    """For one measurement: how many there are may take a read of public data."""
    if planned.count.public and planned.size.public:
        return ("exact: nothing private is behind these statements; they cost nothing",)
    (part, *_) = price(policies, epsilons, planned.request, planned.example()).parts
    form = part.batch.statements[0].form
    half = half_emission_of(part, form, planned.request.beta)
    shared = "" if planned.request.epsilon else ", shared by all measurements of the call"
    return (
        f"one measurement: {_shown(part.law)}, epsilon {float(part.epsilon):.4g} "
        f"under policy {part.policy}{shared}",
        f"half emission at {half} rows, best possible {optimum_of(part, form, planned.request.beta)}",
        "dp4sql.certify_plan with the same arguments lists every statement, free of charge",
    )


def _shown(law: Law) -> str:
    match law:
        case Exact():
            return "no noise"
        case Geometric(scale):
            return f"noise scale {float(scale):.4g}"
        case Gaussian(sigma):
            return f"Gaussian noise, standard deviation {float(sigma):.4g}"
        case Gap(threshold, statement):
            return f"noise scales {float(threshold):.4g} (threshold) and {float(statement):.4g} (statement)"


FUNCTIONS: Final = (
    TableFunction(Signature("certify", PARAMETERS, COLUMNS), _open_certify, _explain),
    TableFunction(Signature("certify_plan", PARAMETERS, PLAN_COLUMNS), _open_plan, _explain),
)
