"""The functions of Profile-DP in FROM: release_profile, compose_profile, profile_plan, public_domain."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Final

from dp4sql.algebra.types import BOOLEAN, INTEGER, NUMERIC, TEXT, UNKNOWN, Type, Value
from dp4sql.errors import InvalidParameter, PolicyError
from dp4sql.mechanisms.calls import Arguments, Environment, Opened, Rows, TableFunction
from dp4sql.mechanisms.profile.answer import Answer, Line, open_answer
from dp4sql.mechanisms.profile.compose import check_template, compose
from dp4sql.mechanisms.profile.planning import Fate
from dp4sql.mechanisms.profile.release import PlannedBlock, ReleasePlan, p_best
from dp4sql.mechanisms.profile.request import plan_of, read_request, style
from dp4sql.policy.labels import PolicySet
from dp4sql.policy.profiles import Domain
from dp4sql.policy.profiles.files import find_domain
from dp4sql.sql.lower.calls import Parameter, Signature

_TEXT, _NUMBER = Parameter(TEXT), Parameter(NUMERIC)

PLAN: Final = {
    "profile": _TEXT,
    "withhold": Parameter(TEXT, many=True),
    "epsilon": _NUMBER,
    "mechanism": _TEXT,
    "calibration": _TEXT,
}
RELEASE: Final = {
    "entity": Parameter(UNKNOWN),
    **PLAN,
    "purpose": _TEXT,
    "fresh": Parameter(BOOLEAN),
}
FATE_COLUMNS: Final[tuple[tuple[str, Type], ...]] = (
    ("block", INTEGER),
    ("epsilon", NUMERIC),
    ("loss_exact", NUMERIC),
    ("loss_bound", NUMERIC),
    ("p_best", NUMERIC),
    ("because", TEXT),
)


# ---------------------------------------------------------------- release_profile

RELEASE_COLUMNS: Final[tuple[tuple[str, Type], ...]] = (
    ("ordinal", INTEGER),
    ("entity_label", TEXT),
    ("field", TEXT),
    ("policy", TEXT),
    ("action", TEXT),
    ("value", TEXT),
    ("code", TEXT),
    ("domain", TEXT),
    *FATE_COLUMNS,
    ("release_id", TEXT),
    ("reused", BOOLEAN),
)


async def _open_release(env: Environment, given: Arguments) -> Opened:
    request = read_request(env.policies, env.epsilons, given)
    opened = await open_answer(env, request, given.get("entity"))

    async def run() -> Rows:
        answer = await opened.run()
        return [_release_row(i, line, answer) for i, line in enumerate(answer.lines, 1)]

    return Opened(opened.losses, run, opened.notices)


def _release_row(ordinal: int, line: Line, answer: Answer) -> tuple[Value, ...]:
    fate, category = line.fate, line.category
    return (
        ordinal,
        line.label,
        fate.field.name,
        fate.policy,
        fate.action,
        line.value,
        category.code if category else None,
        fate.field.domain.name if category and fate.field.domain else None,
        *_fate_cells(answer.plan, fate, first=line.first),
        answer.release_id,
        answer.reused,
    )


# ---------------------------------------------------------------- profile_plan

PLAN_COLUMNS: Final[tuple[tuple[str, Type], ...]] = (
    ("ordinal", INTEGER),
    ("field", TEXT),
    ("source", TEXT),
    ("policy", TEXT),
    ("action", TEXT),
    ("domain", TEXT),
    ("categories", INTEGER),
    ("calibration", TEXT),
    ("multiplier", NUMERIC),
    *FATE_COLUMNS,
)


async def _open_plan(env: Environment, given: Arguments) -> Opened:
    request = read_request(env.policies, env.epsilons, given)
    plan = await asyncio.to_thread(plan_of, request)

    async def run() -> Rows:
        return [_plan_row(i, fate, plan) for i, fate in enumerate(plan.fates, 1)]

    return Opened((), run)


def _plan_row(ordinal: int, fate: Fate, plan: ReleasePlan) -> tuple[Value, ...]:
    field, block = fate.field, plan.block_of(fate.field.name)
    return (
        ordinal,
        field.name,
        f"{field.table}.{field.column}",
        fate.policy,
        fate.action,
        field.domain.name if field.domain else None,
        len(field.domain.categories) if field.domain else None,
        block.calibration if block else None,
        _number(block.calibrated.multiplier) if block else None,
        *_fate_cells(plan, fate, first=True),
    )


def _fate_cells(plan: ReleasePlan, fate: Fate, *, first: bool) -> tuple[Value, ...]:
    """The cells of FATE_COLUMNS. A block's loss stands on its first line alone, so that the column adds up
    to what is charged."""
    block = plan.block_of(fate.field.name) if fate.action == "sampled" else None
    if block is None:
        return (None, None, None, None, None, fate.because)
    index = block.fields.index(fate.field)
    leads = first and index == 0
    return (
        block.number,
        _number(block.block.slots[index].share),
        _loss(block.count * block.calibrated.loss) if leads else None,
        _loss(block.count * block.calibrated.loss_all) if leads else None,
        _chance(block, index, plan),
        fate.because,
    )


def _chance(block: PlannedBlock, index: int, plan: ReleasePlan) -> Value:
    found = p_best(block, index, plan.mechanism)
    return None if found is None else _number(found)


def _number(value: Fraction) -> Decimal:
    return _rounded(value, ROUND_HALF_EVEN)


def _loss(value: Fraction) -> Decimal:
    """Losses are shown rounded up."""
    return _rounded(value, ROUND_CEILING)


def _rounded(value: Fraction, rounding: str) -> Decimal:
    exact = Decimal(value.numerator) / Decimal(value.denominator)
    return exact.quantize(Decimal("0.0001"), rounding=rounding)


# ---------------------------------------------------------------- compose_profile

COMPOSE_COLUMNS: Final[tuple[tuple[str, Type], ...]] = (
    ("prompt", TEXT),
    ("release_id", TEXT),
    ("reused", BOOLEAN),
)


async def _open_compose(env: Environment, given: Arguments) -> Opened:
    request = read_request(env.policies, env.epsilons, given)
    template, form = str(given.get("template") or "{profile}"), style(given)
    check_template(template, request.profile)
    opened = await open_answer(env, request, given.get("entity"), given)

    async def run() -> Rows:
        answer = await opened.run()
        return [(compose(template, form, answer), answer.release_id, answer.reused)]

    return Opened(opened.losses, run, opened.notices)


# ---------------------------------------------------------------- public_domain

DOMAIN_COLUMNS: Final[tuple[tuple[str, Type], ...]] = (
    ("ordinal", INTEGER),
    ("code", TEXT),
    ("title", TEXT),
    ("parent", TEXT),
    ("texts", TEXT),
    ("domain", TEXT),
    ("source", TEXT),
    ("verified", BOOLEAN),
)


async def _open_domain(env: Environment, given: Arguments) -> Opened:
    domain = _domain(env.policies, given)

    async def run() -> Rows:
        return [
            (
                i,
                c.code,
                c.title,
                c.parent,
                "; ".join(c.texts),
                domain.title,
                domain.source,
                domain.verified,
            )
            for i, c in enumerate(domain.categories, 1)
        ]

    return Opened((), run)


def _domain(policies: PolicySet, given: Arguments) -> Domain:
    name = given.get("name")
    if name is None:
        raise InvalidParameter("argument name is missing", hint="public_domain('isco08')")
    try:
        return find_domain(Path(policies.source).parent, str(name))
    except PolicyError as error:
        first = error.problems[0]
        raise InvalidParameter(
            first.found, hint=f"{first.hint[:1].upper()}{first.hint[1:]}."
        ) from None


# ---------------------------------------------------------------- EXPLAIN


def _explain_release(
    policies: PolicySet, epsilons: Mapping[str, Fraction], given: Arguments
) -> Sequence[str]:
    """One line a field and the price, for an entity with one row in each table."""
    plan = plan_of(read_request(policies, epsilons, given))
    fields = [_explained(fate, plan) for fate in plan.fates]
    charged = ", ".join(f"{name} {_loss(plan.loss)}" for name in plan.profile.policies)
    return (
        f"profile {plan.profile.name}, mechanism {plan.mechanism}, epsilon {float(plan.epsilon):g}",
        *fields,
        f"price at most (epsilon): {charged}; nothing where a stored release is reused",
        f"with the fields that closure added counted as private: {_loss(plan.loss_all)}",
    )


def _explained(fate: Fate, plan: ReleasePlan) -> str:
    block = plan.block_of(fate.field.name)
    how = f" in block {block.number}, {block.calibration}" if block else ""
    why = f" ({fate.because})" if fate.because else ""
    return f"  {fate.field.name}: {fate.policy}, {fate.action}{how}{why}"


def _explain_public(
    policies: PolicySet, epsilons: Mapping[str, Fraction], given: Arguments
) -> Sequence[str]:
    return ("reads the policy file alone; it costs nothing",)


FUNCTIONS: Final = (
    TableFunction(
        Signature("release_profile", RELEASE, RELEASE_COLUMNS), _open_release, _explain_release
    ),
    TableFunction(
        Signature(
            "compose_profile", {**RELEASE, "template": _TEXT, "format": _TEXT}, COMPOSE_COLUMNS
        ),
        _open_compose,
        _explain_release,
    ),
    TableFunction(Signature("profile_plan", PLAN, PLAN_COLUMNS), _open_plan, _explain_public),
    TableFunction(
        Signature("public_domain", {"name": _TEXT}, DOMAIN_COLUMNS), _open_domain, _explain_public
    ),
)
