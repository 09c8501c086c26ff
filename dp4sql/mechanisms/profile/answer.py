"""One release from request to lines: public read, plan, reuse or charge, private read, draw."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from dp4sql.algebra.types import Value
from dp4sql.errors import InvalidParameter
from dp4sql.mechanisms.calls import Arguments, Environment, Loss
from dp4sql.mechanisms.kept.stored import digest
from dp4sql.mechanisms.profile.planning import Fate
from dp4sql.mechanisms.profile.reading import TableRows, aligned, entity_key, read_tables
from dp4sql.mechanisms.profile.release import ReleasePlan, sample
from dp4sql.mechanisms.profile.request import (
    Request,
    agrees,
    as_asked,
    asked,
    check_role,
    plan_of,
)
from dp4sql.noise import choose
from dp4sql.policy.profiles import Category, Profile
from dp4sql.sql.lower.calls import Argument

SUPPRESSED: Final = "[withheld]"
"""The fixed symbol of every suppressed value, present or not (Profile-DP, section 4.1)."""


@dataclass(frozen=True, slots=True)
class Line:
    """One field of one row as it is shown. `category` is the sampled one; `first` marks the field's first
    line."""

    label: str
    fate: Fate
    value: str | None
    category: Category | None
    first: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """A released profile. `release_id` names the draw; None where nothing was drawn."""

    plan: ReleasePlan
    lines: tuple[Line, ...]
    release_id: str | None
    reused: bool


@dataclass(frozen=True, slots=True)
class OpenedAnswer:
    losses: tuple[Loss, ...]
    run: Callable[[], Awaitable[Answer]]
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Draws:
    """Sampled codes by field, row by row, under the id of their draw."""

    release_id: str
    codes: Mapping[str, Sequence[str]]


async def open_answer(
    env: Environment, request: Request, entity: Argument, given: Arguments | None = None
) -> OpenedAnswer:
    """Reads what is public of the entity; nothing is charged before `run`. With `given`, the arguments of the
    call, what it leaves out is as in the entity's newest release, if that is kept."""
    profile = request.profile
    named = entity_key(profile, env.policies.schema, entity)
    shown = [f for f in profile.fields.values() if not f.private and not f.identifier]
    public = await read_tables(env, profile, named, shown)
    found = public[profile.entity].keys
    # As the engine spells it: 17 and 17.0 are one entity, with one account and one role.
    key = found[0][0] if found else named
    check_role(profile, env.role, str(key))
    if not found:
        raise InvalidParameter(
            f"no row of {profile.entity} has the key that entity names",
            hint=f"entity => the value of {profile.entity}.{env.policies.schema.table(profile.entity).key[0]}.",
        )
    counts = {name: len(rows.keys) for name, rows in public.items()}

    def found_or_planned() -> tuple[ReleasePlan, str, Draws | None]:
        if given is not None and (newest := _newest(env, request, str(key), given)) is not None:
            plan = plan_of(newest, counts)
            name = _store_key(env, plan, str(key), public)
            if (draws := _kept(env, name)) is not None:
                return plan, name, draws
        plan = plan_of(request, counts)
        name = _store_key(env, plan, str(key), public)
        return plan, name, None if request.fresh or not plan.blocks else _kept(env, name)

    plan, name, kept = await asyncio.to_thread(found_or_planned)

    async def run() -> Answer:
        draws = kept or await _draw(env, plan, key, public, name)
        if plan.blocks and kept is None:
            env.kept.keep(_newest_key(env, request.profile, str(key)), asked(request))
        if plan.blocks:
            used = partial(env.kept.note, role=env.role, purpose=request.purpose)
            await asyncio.to_thread(used, name, reused=kept is not None)
        return Answer(plan, _lines(plan, public, draws), draws.release_id or None, kept is not None)

    losses = () if kept is not None else _losses(env, plan, str(key))
    return OpenedAnswer(losses, run, _notices(plan, reused=kept is not None))


def _losses(env: Environment, plan: ReleasePlan, key: str) -> tuple[Loss, ...]:
    """Under policies of the profile's entity only this entity loses; an entity that owns many of them
    loses under its own policy, too."""
    if not plan.loss:
        return ()
    profile, policies = plan.profile, {p.name: p for p in env.policies.policies}
    return tuple(
        Loss(name, plan.loss, key, profile.budget)
        if policies[name].entity == profile.entity
        else Loss(name, plan.loss)
        for name in profile.policies
    )


def _notices(plan: ReleasePlan, *, reused: bool) -> tuple[str, ...]:
    if reused:
        return (
            f"a stored release (epsilon {float(plan.epsilon):g}) is shown again; "
            "fresh => true draws and charges another",
        )
    if plan.loss_all > plan.loss:
        return (
            f"with the fields that closure added counted as private, too, the loss is at most "
            f"{float(plan.loss_all):.4f}",
        )
    return ()


# ---------------------------------------------------------------- drawing and keeping


async def _draw(
    env: Environment, plan: ReleasePlan, key: Value, public: Mapping[str, TableRows], name: str
) -> Draws:
    if not plan.blocks:
        return Draws("", {})
    private = [f for block in plan.blocks for f in block.fields if f.private]
    withheld = await read_tables(env, plan.profile, key, private) if private else {}
    values: dict[str, Sequence[Value]] = {}
    for block in plan.blocks:
        for f in block.fields:
            own = public[f.table]
            values[f.name] = (
                aligned(own, withheld[f.table], f.name) if f.private else own.values[f.name]
            )
    codes: dict[str, list[str]] = {}
    for drawn in await asyncio.to_thread(sample, plan, values, choose):
        codes.setdefault(drawn.field.name, []).append(drawn.category.code)
    content = json.dumps(codes)
    env.kept.keep(name, content)
    return Draws(_release_id(name, content), codes)


def _kept(env: Environment, name: str) -> Draws | None:
    content = env.kept.find(name)
    return None if content is None else Draws(_release_id(name, content), json.loads(content))


def _newest_key(env: Environment, profile: Profile, key: str) -> str:
    return digest(env.data, digest(repr(profile)), key, "newest")


def _newest(env: Environment, request: Request, key: str, given: Arguments) -> Request | None:
    """What the entity's newest release was asked for, unless `given` asks for something else or anew."""
    text = None if request.fresh else env.kept.find(_newest_key(env, request.profile, key))
    found = None if text is None else as_asked(request, text)
    return found if found is not None and agrees(found, request, given) else None


def _release_id(name: str, content: str) -> str:
    """A name for the draw, made of what is released anyway."""
    return digest(name, content)[:16]


def _store_key(
    env: Environment, plan: ReleasePlan, key: str, public: Mapping[str, TableRows]
) -> str:
    """Equal for equal requests on equal public data: the profile with all its tables, the entity, what
    was asked for, and the keys of the rows that are drawn for."""
    profile = digest(repr(plan.profile))
    tables = sorted({f.table for block in plan.blocks for f in block.fields})
    rows = repr([(t, public[t].keys) for t in tables])
    calibrations = repr([b.calibration for b in plan.blocks])
    fields = repr([f.name for block in plan.blocks for f in block.fields])
    wanted = (plan.mechanism, str(plan.epsilon), calibrations, fields)
    return digest(env.data, profile, key, *wanted, rows)


# ---------------------------------------------------------------- lines


def _lines(plan: ReleasePlan, public: Mapping[str, TableRows], draws: Draws) -> tuple[Line, ...]:
    return tuple(
        _line(plan, fate, row, public, draws)
        for fate in plan.fates
        for row in range(len(public[fate.field.table].keys))
    )


def _line(
    plan: ReleasePlan, fate: Fate, row: int, public: Mapping[str, TableRows], draws: Draws
) -> Line:
    field = fate.field
    label = field.table if field.table == plan.profile.entity else f"{field.table} {row + 1}"
    match fate.action:
        case "copied":
            value = public[field.table].values[field.name][row]
            return Line(label, fate, None if value is None else str(value), None, row == 0)
        case "suppressed":
            return Line(label, fate, SUPPRESSED, None, row == 0)
        case "sampled":
            assert field.domain is not None
            category = field.domain.categories[
                field.domain.codes.index(draws.codes[field.name][row])
            ]
            return Line(label, fate, category.title, category, row == 0)
