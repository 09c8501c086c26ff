"""What is copied, sampled and suppressed, and which fields are drawn together.

Every decision here reads the policy file and the request alone, never a value: the same profile with other
withheld values gets the same plan, so planning costs nothing (Profile-DP, section 4.3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from dp4sql.policy.profiles import Field, Link, Profile

Mechanism: TypeAlias = Literal["block", "slot", "rr", "suppress"]


@dataclass(frozen=True, slots=True)
class Fate:
    """What happens to a field. `because` says why, where the policy's labels alone do not."""

    field: Field
    policy: Literal["shared", "withheld", "closure", "suppressed"]
    action: Literal["copied", "sampled", "suppressed"]
    because: str | None = None


def fates(
    profile: Profile, mechanism: Mechanism, named: frozenset[str] | None = None
) -> tuple[Fate, ...]:
    """One a field, in the order of the profile. `slot` is the paper's DP-SLOT and has no closure.

    named: the private fields to sample (all when None); the others are suppressed.
    """
    added = {} if mechanism == "slot" else closure(profile)
    return tuple(
        _fate(field, added.get(field.name), mechanism, named) for field in profile.fields.values()
    )


def _fate(
    field: Field, link: Link | None, mechanism: Mechanism, named: frozenset[str] | None
) -> Fate:
    if field.identifier:
        return Fate(field, "suppressed", "suppressed", "identifier")
    if not field.private and link is None:
        return Fate(field, "shared", "copied")
    policy: Literal["withheld", "closure"] = "withheld" if field.private else "closure"
    because = f"{link.source} tells of {link.target} ({float(link.score):g})" if link else None
    if mechanism == "suppress":
        return Fate(field, policy, "suppressed", because)
    if field.domain is None:
        return Fate(field, policy, "suppressed", because or "no domain")
    if field.private and named is not None and field.name not in named:
        return Fate(field, policy, "suppressed", "not asked for")
    return Fate(field, policy, "sampled", because)


def closure(profile: Profile) -> dict[str, Link]:
    """Shared fields that tell too much of a withheld one, directly or through others, and the link why.

    From the withheld fields on, a field joins when its score towards a member reaches the threshold, to a
    fixed point (section 4.3).
    """
    members = {f.name for f in profile.fields.values() if f.private and not f.identifier}
    added: dict[str, Link] = {}
    while True:
        found = [
            link
            for link in profile.closure
            if link.target in members
            and link.source not in members
            and link.score >= profile.closure_threshold
            and not profile.fields[link.source].identifier
        ]
        if not found:
            return added
        best = max(found, key=lambda link: link.score)
        members.add(best.source)
        added[best.source] = best


# ---------------------------------------------------------------- groups


def blocks(profile: Profile, sampled: Sequence[Field]) -> list[tuple[Field, ...]]:
    """Connected components of the sampled fields, split so that no block has more than `block_cap`
    combinations of categories; a field that is larger by itself stays alone."""
    links = [g for g in profile.groups if g.score > profile.group_threshold]
    return [block for group in _components(sampled, links) for block in _split(group, profile)]


def _components(fields: Sequence[Field], links: Sequence[Link]) -> list[list[Field]]:
    leader = {field.name: field.name for field in fields}
    for link in links:
        if link.source in leader and link.target in leader:
            old, new = leader[link.target], leader[link.source]
            leader = {name: new if of == old else of for name, of in leader.items()}
    groups: dict[str, list[Field]] = {}
    for field in fields:
        groups.setdefault(leader[field.name], []).append(field)
    return list(groups.values())


def _split(group: Iterable[Field], profile: Profile) -> list[tuple[Field, ...]]:
    found: list[list[Field]] = []
    size = 0
    for field in group:
        width = _width(field)
        if found and size * width <= profile.block_cap:
            found[-1].append(field)
            size *= width
        else:
            found.append([field])
            size = width
    return [tuple(block) for block in found]


def _width(field: Field) -> int:
    assert field.domain is not None
    return len(field.domain.categories)


def shares(
    epsilon: Fraction, sampled: Sequence[Field], rows: Mapping[str, int]
) -> dict[str, Fraction]:
    """Each field's share of epsilon for one row. `rows` is the public number of rows that the entity has
    in each table: a field with several values divides its share among them, one without needs none."""
    present = [field for field in sampled if rows.get(field.table, 1)]
    return {field.name: epsilon / len(present) / rows.get(field.table, 1) for field in present}
