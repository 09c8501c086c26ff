"""The arguments of a profile function as a checked request. Nothing here reads data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal, get_args

from dp4sql.errors import InvalidParameter, Refused
from dp4sql.mechanisms.arguments import EPSILON, meant, number, text, word
from dp4sql.mechanisms.calls import Arguments
from dp4sql.mechanisms.profile.calibrate import Calibration
from dp4sql.mechanisms.profile.planning import Mechanism
from dp4sql.mechanisms.profile.release import ReleasePlan, planned
from dp4sql.policy.labels import PolicySet
from dp4sql.policy.profiles import Profile
from dp4sql.sql.lower.calls import Argument

Style = Literal["structured", "freeform"]


@dataclass(frozen=True, slots=True)
class Request:
    """`named`: the private fields to sample, None for all. `calibration` None lets each block take the
    least noisy one that its values allow."""

    profile: Profile
    named: frozenset[str] | None
    mechanism: Mechanism
    calibration: Calibration | None
    epsilon: Fraction
    fresh: bool
    purpose: str


def read_request(
    policies: PolicySet, epsilons: Mapping[str, Fraction], given: Arguments
) -> Request:
    """InvalidParameter or Refused, with what would work, when the request cannot be met."""
    profile = _profile(policies, text(given, "profile"))
    mechanism: Mechanism = word(given, "mechanism", get_args(Mechanism)) or "block"
    return Request(
        profile,
        _named(profile, given.get("withhold")),
        mechanism,
        word(given, "calibration", get_args(Calibration)),
        number(given, "epsilon", EPSILON) or epsilons[profile.policy],
        fresh=given.get("fresh") is True,
        purpose=text(given, "purpose") or "",
    )


def plan_of(request: Request, rows: Mapping[str, int] | None = None) -> ReleasePlan:
    """The plan of a request for an entity with `rows` rows in each table (one where nothing is said)."""
    return planned(
        request.profile,
        request.mechanism,
        request.epsilon,
        request.calibration,
        rows,
        request.named,
    )


# ---------------------------------------------------------------- a request that was met


ASKED: Final = ("withhold", "mechanism", "calibration", "epsilon")


def asked(request: Request) -> str:
    """What it asked for, as a text to be kept."""
    named = None if request.named is None else sorted(request.named)
    return json.dumps([named, request.mechanism, request.calibration, str(request.epsilon)])


def as_asked(request: Request, text: str) -> Request:
    named, mechanism, calibration, epsilon = json.loads(text)
    return replace(
        request,
        named=None if named is None else frozenset(named),
        mechanism=mechanism,
        calibration=calibration,
        epsilon=Fraction(epsilon),
    )


def agrees(kept: Request, request: Request, given: Arguments) -> bool:
    """Whether `kept` is what `request` says with the arguments that are given."""
    pairs = zip(ASKED, _asked(kept), _asked(request), strict=True)
    return all(given.get(name) is None or mine == other for name, mine, other in pairs)


def _asked(request: Request) -> tuple[object, ...]:
    return (request.named, request.mechanism, request.calibration, request.epsilon)


# ---------------------------------------------------------------- parts of a request


def profiles_of(policies: PolicySet) -> Mapping[str, Profile]:
    found: Mapping[str, Profile] = policies.extras.get("profiles", {})
    return found


def _profile(policies: PolicySet, name: str | None) -> Profile:
    known = profiles_of(policies)
    if not known:
        raise InvalidParameter(
            "the policy has no profiles", hint="The curator can add a profiles: section."
        )
    if name is None and len(known) == 1:
        return next(iter(known.values()))
    if name is None:
        raise InvalidParameter(
            "the policy has several profiles", hint=f"Add profile => one of {', '.join(known)}."
        )
    if name not in known:
        raise InvalidParameter(f'there is no profile "{name}"', hint=meant(name, known))
    return known[name]


def _named(profile: Profile, given: Argument) -> frozenset[str] | None:
    """The private fields that `withhold` asks for. Those it leaves out are suppressed, not shared; a public
    field is not protected by being named."""
    if given is None:
        return None
    names = [str(name) for name in given] if isinstance(given, tuple) else [str(given)]
    for name in names:
        if name not in profile.fields:
            hint = meant(name, profile.fields)
            raise InvalidParameter(f'the profile has no field "{name}"', hint=hint)
        if name not in profile.withheld:
            field = profile.fields[name]
            raise Refused(
                f"{name} cannot be withheld: {field.table}.{field.column} is public under policy {profile.policy}",
                hint="Other queries show it. The curator can label the column rep.",
            )
    return frozenset(names)


def style(given: Arguments) -> Style:
    return word(given, "format", get_args(Style)) or "structured"


def check_role(profile: Profile, role: str, entity: str) -> None:
    """A bound role may ask for its own entity alone. Refused is the same whether the entity exists."""
    match profile.roles:
        case None:
            return
        case str():
            allowed = role == profile.roles.replace("{entity}", entity)
        case _:
            allowed = profile.roles.get(role) == entity
    if not allowed:
        raise Refused(
            f"role {role} may not release this profile",
            hint=f"Profile {profile.name} binds each role to one {profile.entity}.",
        )
