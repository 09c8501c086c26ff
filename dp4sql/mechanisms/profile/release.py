"""A planned release: calibrated blocks, what they cost, and the draw.

fates -> blocks -> shares -> calibrated tables      public; `planned` stops here, nothing is charged
      -> draw                                       one category a field and row
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod

from dp4sql.algebra.types import Value
from dp4sql.errors import InvalidParameter
from dp4sql.mechanisms.exponential import exp_lower
from dp4sql.mechanisms.profile import embedding
from dp4sql.mechanisms.profile.calibrate import Calibrated, Calibration, calibrated
from dp4sql.mechanisms.profile.channel import (
    PRECISION,
    Block,
    Choose,
    Levels,
    Slot,
    classified,
    draw,
    flat,
    hardened,
    table,
    tuple_at,
)
from dp4sql.mechanisms.profile.loss import countable
from dp4sql.mechanisms.profile.planning import Fate, Mechanism, blocks, fates, shares
from dp4sql.mechanisms.profile.scores import listed_rows, samples, score
from dp4sql.policy.profiles import Category, Field, Profile


@dataclass(frozen=True, slots=True)
class PlannedBlock:
    """Fields drawn together, `count` times: once for each of the entity's rows in their table.

    `calibrated` is the loss of one draw.
    """

    number: int
    fields: tuple[Field, ...]
    count: int
    block: Block
    calibration: Calibration
    calibrated: Calibrated


@dataclass(frozen=True, slots=True)
class ReleasePlan:
    """All that is decided before a value is read."""

    profile: Profile
    mechanism: Mechanism
    epsilon: Fraction
    fates: tuple[Fate, ...]
    blocks: tuple[PlannedBlock, ...]

    @property
    def loss(self) -> Fraction:
        """What the withheld values lose: the sum over draws (sequential composition). At most epsilon."""
        return sum((b.count * b.calibrated.loss for b in self.blocks), start=Fraction(0))

    @property
    def loss_all(self) -> Fraction:
        """The same with the fields that closure added counted as private, too."""
        return sum((b.count * b.calibrated.loss_all for b in self.blocks), start=Fraction(0))

    def block_of(self, name: str) -> PlannedBlock | None:
        return next((b for b in self.blocks if any(f.name == name for f in b.fields)), None)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sampled category of `field` for the entity's row number `row` (from 0) in the field's table."""

    field: Field
    row: int
    category: Category


# ---------------------------------------------------------------- planning


def planned(
    profile: Profile,
    mechanism: Mechanism,
    epsilon: Fraction,
    calibration: Calibration | None = None,
    rows: Mapping[str, int] | None = None,
    named: frozenset[str] | None = None,
) -> ReleasePlan:
    """Plan a release that loses at most `epsilon`.

    named: the private fields to sample, all when None.
    rows: how many rows the entity has in each table it owns (public; one where nothing is said).
    calibration: None is exact where the private values come from public lists, else universal.
    InvalidParameter when a calibration is asked for that the fields do not allow.
    """
    counts = rows or {}
    decided = fates(profile, mechanism, named)
    sampled = [f.field for f in decided if f.action == "sampled" and counts.get(f.field.table, 1)]
    if any("embedding" in field.scorers for field in sampled):
        embedding.model()  # what it lacks must show before anything is charged
    share = shares(epsilon, sampled, counts)
    groups = blocks(profile, sampled) if mechanism == "block" else [(f,) for f in sampled]
    built = tuple(
        _planned_block(number, profile, group, mechanism, calibration, share, counts)
        for number, group in enumerate(groups, 1)
    )
    return ReleasePlan(profile, mechanism, epsilon, decided, built)


def _planned_block(
    number: int,
    profile: Profile,
    fields: tuple[Field, ...],
    mechanism: Mechanism,
    calibration: Calibration | None,
    share: Mapping[str, Fraction],
    counts: Mapping[str, int],
) -> PlannedBlock:
    slots = tuple(_slot(field, mechanism, share[field.name]) for field in fields)
    moving = frozenset(i for i, field in enumerate(fields) if field.private)
    block = Block(slots, prior(profile, fields), moving)
    chosen = _calibration(block, fields, mechanism, calibration)
    count = counts.get(fields[0].table, 1)
    return PlannedBlock(number, fields, count, block, chosen, calibrated(block, chosen))


def _slot(field: Field, mechanism: Mechanism, share: Fraction) -> Slot:
    assert field.domain is not None
    width = len(field.domain.categories)
    return Slot(share, width, classified(width) if mechanism == "rr" else listed_rows(field))


def _calibration(
    block: Block, fields: Sequence[Field], mechanism: Mechanism, asked: Calibration | None
) -> Calibration:
    if mechanism == "rr" and asked not in (None, "exact"):
        raise InvalidParameter(
            f"calibration {asked} with mechanism rr",
            hint="Randomised response is exact by itself; leave calibration out.",
        )
    if asked == "exact" and not countable(block):
        raise InvalidParameter(
            f"calibration exact cannot enumerate the values of {', '.join(f.name for f in fields)}",
            hint="They are free text, or too many together; calibration => 'universal' covers them.",
        )
    return asked or ("exact" if countable(block) else "universal")


def prior(profile: Profile, fields: Sequence[Field]) -> tuple[int, ...] | None:
    """PRECISION * e^(gamma J) for each tuple of categories, J the mean of the declared pairs' scores; None
    where no pair is declared. Positive by construction, so that no outcome is impossible (section 4.3)."""
    pairs = [
        (i, j, oriented)
        for (i, a), (j, b) in combinations(enumerate(fields), 2)
        if (oriented := _compatibility(profile, a.name, b.name)) is not None
    ]
    if not pairs or profile.gamma == 0:
        return None
    widths = [len(f.domain.categories) for f in fields if f.domain is not None]
    found = []
    for index in range(prod(widths)):
        y = tuple_at(index, widths)
        mean = sum((oriented[y[i]][y[j]] for i, j, oriented in pairs), start=Fraction(0)) / len(
            pairs
        )
        found.append(int(PRECISION * exp_lower(profile.gamma * mean)))
    return tuple(found)


def _compatibility(profile: Profile, a: str, b: str) -> Sequence[Sequence[Fraction]] | None:
    for pair in profile.pairs:
        if pair.fields == (a, b):
            return pair.table
        if pair.fields == (b, a):
            return tuple(zip(*pair.table, strict=True))
    return None


# ---------------------------------------------------------------- figures shown beforehand


def p_best(block: PlannedBlock, index: int, mechanism: Mechanism) -> Fraction | None:
    """Mean probability that field `index` of the block comes out as its best category, over known public
    values, nothing being known of the block's other fields. None where no value has a best category."""
    rows = [_hard(row, mechanism) for row in samples(block.fields[index])]
    peaked = [row for row in rows if min(row) < max(row)]
    if not peaked:
        return None
    found = (_hit(block, index, row) for row in peaked)
    return sum(found, start=Fraction(0)) / len(peaked)


def _hit(planned: PlannedBlock, index: int, row: Levels) -> Fraction:
    widths = [slot.width for slot in planned.block.slots]
    rows = [row if i == index else flat(width) for i, width in enumerate(widths)]
    weights = table(planned.block, planned.calibrated.multiplier, rows)
    best = row.index(max(row))
    hits = sum(w for i, w in enumerate(weights) if tuple_at(i, widths)[index] == best)
    return Fraction(hits, sum(weights))


def _hard(row: Levels, mechanism: Mechanism) -> Levels:
    return hardened(row) if mechanism == "rr" else row


# ---------------------------------------------------------------- the draw


def sample(plan: ReleasePlan, values: Mapping[str, Sequence[Value]], choose: Choose) -> list[Drawn]:
    """Draw every block. values: field name to its private values, one for each of the entity's rows."""
    return [
        drawn
        for block in plan.blocks
        for row in range(block.count)
        for drawn in _drawn(block, row, values, plan.mechanism, choose)
    ]


def _drawn(
    planned: PlannedBlock,
    row: int,
    values: Mapping[str, Sequence[Value]],
    mechanism: Mechanism,
    choose: Choose,
) -> list[Drawn]:
    rows = [_hard(score(field, values[field.name][row]), mechanism) for field in planned.fields]
    found = draw(planned.block, planned.calibrated.multiplier, rows, choose)
    return [
        Drawn(field, row, field.domain.categories[i])
        for field, i in zip(planned.fields, found, strict=True)
        if field.domain is not None
    ]
