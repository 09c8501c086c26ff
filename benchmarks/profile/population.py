"""A population with a known law, and what a release tells of one of its people.

Everything is computed from the law and from the product's own integer tables; nothing is drawn. A person
shares occupation, language and hobby, and withholds work, education and country. Occupation nearly always
names the group of the work, which is what closure is for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dp4sql.mechanisms.profile.calibrate import Calibration
from dp4sql.mechanisms.profile.channel import hardened, ladder
from dp4sql.mechanisms.profile.planning import Mechanism
from dp4sql.mechanisms.profile.release import PlannedBlock, ReleasePlan, planned
from dp4sql.mechanisms.profile.scores import score
from dp4sql.policy.profiles import Compatibility, Field, Link, Profile
from dp4sql.policy.profiles.files import (
    SHIPPED,
    find_domain,
    read_codebook,
    read_compatibility,
    read_scores,
)

Array = NDArray[np.float64]

OCCUPATIONS = find_domain(SHIPPED, "isco08")
LEVELS = find_domain(SHIPPED, "isced2011")
REGIONS = find_domain(SHIPPED, "m49_subregions")
FIT = read_compatibility(SHIPPED / "compat" / "isco_isced.csv", OCCUPATIONS, LEVELS)

TITLES_EACH = 3
SAME_GROUP, MAIN_LANGUAGE = 0.9, 0.7
HOW_OFTEN = {Fraction(1): 1.0, Fraction(1, 2): 0.15, Fraction(0): 0.02}
"""How often an education occurs in a group, by how well the two go together."""


@dataclass(frozen=True)
class Variant:
    """A mechanism with some of its parts left out."""

    name: str
    mechanism: Mechanism
    calibration: Calibration | None
    closure: bool = True
    grouping: bool = True
    prior: bool = True


@dataclass(frozen=True)
class Outcome:
    """disclosure: mean over withheld fields of the probability that the release shows the true category, in
    the field or in the shared one that states the same fact. recovery: mean probability that an attacker
    who knows the law and the mechanism and sees the whole release names the true category. retention: share
    of shared facts that the release still tells. implausible: probability that work and education of the
    release do not fit. loss: exact, over the withheld fields."""

    disclosure: float
    recovery: float
    retention: float
    implausible: float
    loss: float
    loss_all: float


# ---------------------------------------------------------------- the profile


def _titles() -> dict[str, int]:
    """A few job titles of each group, evenly spread over the shipped codebook."""
    codebook = read_codebook(SHIPPED / "codebooks" / "isco08.csv", OCCUPATIONS)
    chosen = {}
    for group in range(len(OCCUPATIONS.codes)):
        own = [title for title, code in codebook.items() if code == group]
        step = max(1, len(own) // TITLES_EACH)
        chosen |= dict.fromkeys(own[::step][:TITLES_EACH], group)
    return chosen


TITLES = _titles()


def _job(name: str, *, private: bool) -> Field:
    scores = read_scores(SHIPPED / "scores" / "isco08_minilm.csv", OCCUPATIONS)
    return Field(
        name,
        "person",
        name,
        private,
        domain=OCCUPATIONS,
        scorers=("table",),
        values=tuple(TITLES),
        scores={title: scores[title] for title in TITLES},
    )


def _coded(name: str, domain: str) -> Field:
    """A withheld field whose values are the categories' own titles."""
    found = find_domain(SHIPPED, domain)
    book = {category.title.casefold(): i for i, category in enumerate(found.categories)}
    return Field(
        name,
        "person",
        name,
        True,
        domain=found,
        scorers=("codebook",),
        values=tuple(book),
        codebook=book,
    )


FIELDS = [
    _job("occupation", private=False),
    Field("language", "person", "language", False),
    Field("hobby", "person", "hobby", False),
    _job("work", private=True),
    _coded("education", "isced2011"),
    _coded("country", "m49_subregions"),
]

PROFILE = Profile(
    name="population",
    entity="person",
    policy="person",
    policies=("person",),
    fields={field.name: field for field in FIELDS},
    closure=(
        Link("occupation", "work", Fraction(9, 10)),
        Link("language", "country", Fraction(2, 5)),
    ),
    groups=(Link("work", "education", Fraction(1)),),
    pairs=(Compatibility(("work", "education"), FIT),),
)


def profile_of(variant: Variant) -> Profile:
    profile = PROFILE if variant.closure else replace(PROFILE, closure=())
    profile = profile if variant.grouping else replace(profile, groups=())
    return profile if variant.prior else replace(profile, gamma=Fraction(0))


# ---------------------------------------------------------------- the law


@dataclass(frozen=True)
class Law:
    """P(work group), P(education | work), P(occupation group | work), P(region), P(language | region)."""

    work: Array
    education: Array
    occupation: Array
    region: Array
    language: Array


def law() -> Law:
    groups, regions, languages = len(OCCUPATIONS.codes), len(REGIONS.codes), 8
    work = np.array([9, 20, 15, 10, 17, 4, 10, 7, 7, 1], dtype=np.float64)
    education = np.array([[HOW_OFTEN[fit] for fit in row] for row in FIT])
    occupation = np.full((groups, groups), (1 - SAME_GROUP) / (groups - 1))
    np.fill_diagonal(occupation, SAME_GROUP)
    language = np.full((regions, languages), (1 - MAIN_LANGUAGE) / (languages - 1))
    language[np.arange(regions), np.arange(regions) % languages] = MAIN_LANGUAGE
    region = np.linspace(2, 1, regions)
    return Law(
        work / work.sum(),
        education / education.sum(axis=1, keepdims=True),
        occupation,
        region / region.sum(),
        language,
    )


# ---------------------------------------------------------------- channels


def channel(plan: ReleasePlan, block: PlannedBlock) -> Array:
    """Pr[tuple of categories | tuple of listed values], an axis a slot for values, then for categories."""
    rows = len(block.fields)
    joint: Array = np.ones((1,) * (2 * rows))
    for i, field in enumerate(block.fields):
        shape = [1] * (2 * rows)
        own = _weights(plan, block, i, field)
        shape[i], shape[rows + i] = own.shape
        joint = joint * own.reshape(shape)
    if block.block.prior is not None:
        largest = max(block.block.prior)
        prior = np.array([p / largest for p in block.block.prior])
        joint = joint * prior.reshape([1] * rows + [slot.width for slot in block.block.slots])
    return np.asarray(joint / joint.sum(axis=tuple(range(rows, 2 * rows)), keepdims=True))


def _weights(plan: ReleasePlan, block: PlannedBlock, index: int, field: Field) -> Array:
    levels = [score(field, value) for value in field.values or ()]
    if plan.mechanism == "rr":
        levels = [hardened(row) for row in levels]
    steps = ladder(block.calibrated.multiplier * block.block.slots[index].share, levels)
    return np.array([[steps[x] / max(map(steps.__getitem__, row)) for x in row] for row in levels])


def by_category(found: Array, axis: int, field: Field) -> Array:
    """Average over the values of each true category (job titles of a group are equally likely)."""
    if field.values != tuple(TITLES):
        return found
    groups = np.array(list(TITLES.values()))
    parts = [found.take(np.flatnonzero(groups == g), axis).mean(axis) for g in range(10)]
    return np.stack(parts, axis)


@dataclass(frozen=True)
class Channels:
    """Category to category: occupation [o, y], work and education [w, e, y_w, y_e], country [r, y]."""

    occupation: Array
    career: Array
    country: Array


def channels(plan: ReleasePlan) -> Channels:
    found: dict[str, Array] = {}
    for block in plan.blocks:
        matrix = channel(plan, block)
        for axis, field in enumerate(block.fields):
            matrix = by_category(matrix, axis, field)
        found["+".join(field.name for field in block.fields)] = matrix
    if "work+education" not in found:
        found["work+education"] = np.einsum("wy,ez->weyz", found["work"], found["education"])
    copied = np.eye(len(OCCUPATIONS.codes))
    return Channels(found.get("occupation", copied), found["work+education"], found["country"])


# ---------------------------------------------------------------- what it tells


def outcome(variant: Variant, epsilon: int, people: Law) -> Outcome:
    plan = planned(profile_of(variant), variant.mechanism, Fraction(epsilon), variant.calibration)
    c = channels(plan)
    career = people.work[:, None] * people.education
    occupation = people.occupation @ c.occupation
    released = np.einsum("we,weyz->yz", career, c.career)
    return Outcome(
        disclosure=float(np.mean(_disclosed(c, people, career, occupation))),
        recovery=float(np.mean(_recovered(c, people, career, occupation))),
        retention=_retained(c, people),
        implausible=float(released[np.array(FIT, dtype=np.float64) < 1].sum()),
        loss=float(plan.loss),
        loss_all=float(plan.loss_all),
    )


def _disclosed(c: Channels, people: Law, career: Array, occupation: Array) -> list[float]:
    work_shown = np.einsum("wewz->w", c.career * people.education[:, :, None, None])
    missed = (1 - work_shown) * (1 - np.diagonal(occupation))
    education_shown = np.einsum("we,weye->", career, c.career)
    country_shown = people.region @ np.diagonal(c.country)
    return [float(1 - people.work @ missed), float(education_shown), float(country_shown)]


def _recovered(c: Channels, people: Law, career: Array, occupation: Array) -> list[float]:
    """The best guess given all that is released: occupation, work, education; language, country."""
    seen = (
        career[:, :, None, None, None] * occupation[:, None, :, None, None] * c.career[:, :, None]
    )
    work, education = seen.sum(axis=1).max(axis=0).sum(), seen.sum(axis=0).max(axis=0).sum()
    told = people.region[:, None, None] * people.language[:, :, None] * c.country[:, None, :]
    return [float(work), float(education), float(told.max(axis=0).sum())]


def _retained(c: Channels, people: Law) -> float:
    """Language and hobby are copied; an occupation that is sampled may still name the right group."""
    groups = people.work @ people.occupation
    return float((groups @ np.diagonal(c.occupation) + 2) / 3)


def blind(people: Law) -> Mapping[str, float]:
    """What the shared facts alone tell, with every withheld field suppressed."""
    work = (people.work[:, None] * people.occupation).max(axis=0).sum()
    career = people.work[:, None] * people.education
    education = np.einsum("we,wo->eo", career, people.occupation).max(axis=0).sum()
    country = (people.region[:, None] * people.language).max(axis=0).sum()
    return {"work": float(work), "education": float(education), "country": float(country)}
