"""The privacy loss of a block's integer table, as the exact likelihood ratio e^loss.

Two questions. `listed`: over the score rows that the slots declare. `universal`: over any rows at all, which
covers free text; the worst rows for a tuple y score 1 where they favour y and 0 elsewhere, and the reverse.
Both answer for neighbours that differ in the slots of `moving`; slots outside it are fixed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import prod
from typing import Final

from dp4sql.mechanisms.profile.channel import SCALE, Block, Slot, joint, ladder, weight

CELLS: Final = 50_000
"""Largest table of (private values x category tuples) that is enumerated for a coupled block."""


def countable(block: Block) -> bool:
    """Whether `listed` can answer: every slot has a list, and a coupled table is not too large."""
    if any(slot.rows is None for slot in block.slots):
        return False
    cells = block.size * prod(len(slot.rows or ()) for slot in block.slots)
    return block.prior is None or cells <= CELLS


# ---------------------------------------------------------------- over declared rows


def listed(block: Block, multiplier: Fraction, moving: frozenset[int]) -> Fraction:
    """max over tuples y and neighbouring rows r, r' of Pr[y | r] / Pr[y | r']."""
    rows = [slot.rows or () for slot in block.slots]
    ladders = [
        ladder(multiplier * slot.share, own) for slot, own in zip(block.slots, rows, strict=True)
    ]
    if block.prior is None:
        alone = (spread(joint([ladders[i]], None, [row]) for row in rows[i]) for i in moving)
        return prod(alone, start=Fraction(1))
    fixed = [[(row,) for row in own] if i not in moving else [own] for i, own in enumerate(rows)]
    return max(
        spread(joint(ladders, block.prior, chosen) for chosen in itertools.product(*choices))
        for choices in itertools.product(*fixed)
    )


def spread(tables: Iterable[Sequence[int]]) -> Fraction:
    """Largest ratio that the probability of one outcome takes between two of the weight tables."""
    ranges: list[tuple[int, int, int, int]] = []
    for table in tables:
        total = sum(table)
        if not ranges:
            ranges = [(w, total, w, total) for w in table]
        ranges = [_widened(r, w, total) for r, w in zip(ranges, table, strict=True)]
    return max((Fraction(a * d, b * c) for a, b, c, d in ranges), default=Fraction(1))


def _widened(seen: tuple[int, int, int, int], w: int, total: int) -> tuple[int, int, int, int]:
    """`seen` is the highest probability a/b and the lowest c/d so far."""
    a, b, c, d = seen
    if w * b > a * total:
        return w, total, c, d
    if w * d < c * total:
        return a, b, w, total
    return seen


# ---------------------------------------------------------------- over any rows


def universal(block: Block, multiplier: Fraction, moving: frozenset[int]) -> Fraction:
    """The worst ratio over any scores. Under a prior, fixed slots could hold any row as well, so the
    bound for all slots moving is given there: it holds for fewer, too."""
    if not moving:
        return Fraction(1)
    if block.prior is None:
        return prod((_any_slot(block.slots[i], multiplier) for i in moving), start=Fraction(1))
    return _any_coupled(block, block.prior, multiplier)


def _ends(slot: Slot, multiplier: Fraction) -> tuple[int, int]:
    rate = multiplier * slot.share
    return weight(rate, 0), weight(rate, SCALE)


def _any_slot(slot: Slot, multiplier: Fraction) -> Fraction:
    low, high = _ends(slot, multiplier)
    others = slot.width - 1
    return Fraction(high, high + others * low) / Fraction(low, low + others * high)


def _any_coupled(block: Block, prior: Sequence[int], multiplier: Fraction) -> Fraction:
    """Pr[y] is largest at score 1 for y's categories and 0 for all others, smallest the other way round.

    The prior cancels in y's own weight, so the ratio is prod(high) / prod(low) times the totals' ratio.
    """
    ends = [_ends(slot, multiplier) for slot in block.slots]
    widths = [slot.width for slot in block.slots]
    for_y = _mixed(prior, widths, [(high, low) for low, high in ends])
    against_y = _mixed(prior, widths, ends)
    own = Fraction(prod(high for _, high in ends), prod(low for low, _ in ends))
    return own * max(Fraction(b, a) for a, b in zip(for_y, against_y, strict=True))


def _mixed(
    prior: Sequence[int], widths: Sequence[int], factors: Sequence[tuple[int, int]]
) -> list[int]:
    """For each tuple y: sum over z of prior(z) * prod(factor: same where z agrees with y, else other).

    One axis at a time: y's entry becomes other * (sum along the axis) + (same - other) * (itself).
    """
    table = list(prior)
    stride = len(table)
    for width, (same, other) in zip(widths, factors, strict=True):
        block, stride = stride, stride // width
        sums: dict[int, int] = {}
        for i, value in enumerate(table):
            fibre = i - (i % block) // stride * stride
            sums[fibre] = sums.get(fibre, 0) + value
        table = [
            other * sums[i - (i % block) // stride * stride] + (same - other) * value
            for i, value in enumerate(table)
        ]
    return table
