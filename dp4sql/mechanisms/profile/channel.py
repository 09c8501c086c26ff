"""A release as integer tables: what is drawn from is what is checked.

A slot holds one private value. Its score row (one level a category, 0 to SCALE) turns into integer weights;
the weights of a block are the products of its slots' weights and of the public prior. A category tuple is
drawn with probability weight / sum, so every probability is a ratio of integers and the privacy loss of the
table follows without rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Final, TypeAlias

from dp4sql.mechanisms.exponential import exp_lower

SCALE: Final = 1000
"""Scores are counted in thousandths."""

PRECISION: Final = 10**18
"""The weight of score 0; larger scores weigh more, rounded down."""

WEIGHT_DIGITS: Final = 50
"""Fewer than the digits of the bound they are checked against, so that e^epsilon itself passes."""

Levels: TypeAlias = tuple[int, ...]
Choose: TypeAlias = Callable[[Sequence[int]], int]
"""Draws index i with probability weights[i] / sum(weights): `dp4sql.noise.choose`."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One value to release: its share of epsilon, the number of categories it may become, and every
    score row that the private value can have (None: any row at all, as for free text)."""

    share: Fraction
    width: int
    rows: tuple[Levels, ...] | None


@dataclass(frozen=True, slots=True)
class Block:
    """Slots drawn together. `prior` has a positive integer for each tuple of categories, the last slot
    varying fastest; None is the uniform prior. `moving` are the slots whose values are private under the
    policy; the others were added by closure, and their values are public side information."""

    slots: tuple[Slot, ...]
    prior: tuple[int, ...] | None = None
    moving: frozenset[int] = frozenset()

    @property
    def share(self) -> Fraction:
        return sum((slot.share for slot in self.slots), start=Fraction(0))

    @property
    def size(self) -> int:
        return prod(slot.width for slot in self.slots)


def weight(rate: Fraction, level: int) -> int:
    """PRECISION * e^(rate * score), rounded down."""
    return int(PRECISION * exp_lower(rate * level / SCALE, WEIGHT_DIGITS))


def ladder(rate: Fraction, rows: Iterable[Levels]) -> dict[int, int]:
    """The weight of every level that occurs in `rows`."""
    return {level: weight(rate, level) for level in set().union(*rows)}


def joint(
    ladders: Sequence[Mapping[int, int]], prior: Sequence[int] | None, rows: Sequence[Levels]
) -> list[int]:
    """Weights over the tuples of categories, given the score row of each slot's private value."""
    products = outer(
        [weights[level] for level in levels] for weights, levels in zip(ladders, rows, strict=True)
    )
    return products if prior is None else [w * p for w, p in zip(products, prior, strict=True)]


def outer(factors: Iterable[Sequence[int]]) -> list[int]:
    """All products of one entry of each factor, the last factor varying fastest."""
    products = [1]
    for factor in factors:
        products = [a * b for a in products for b in factor]
    return products


def table(block: Block, multiplier: Fraction, rows: Sequence[Levels]) -> list[int]:
    """The weights that one release is drawn from."""
    ladders = [
        ladder(multiplier * slot.share, [levels])
        for slot, levels in zip(block.slots, rows, strict=True)
    ]
    return joint(ladders, block.prior, rows)


def draw(
    block: Block, multiplier: Fraction, rows: Sequence[Levels], choose: Choose
) -> tuple[int, ...]:
    """One category index a slot."""
    index = choose(table(block, multiplier, rows))
    return tuple_at(index, [slot.width for slot in block.slots])


def tuple_at(index: int, widths: Sequence[int]) -> tuple[int, ...]:
    """The tuple at `index` in the order of `itertools.product(*map(range, widths))`."""
    found = []
    for width in reversed(widths):
        index, position = divmod(index, width)
        found.append(position)
    return tuple(reversed(found))


def flat(width: int) -> Levels:
    """The score row of NULL and of values off the public list: nothing is nearer than anything else."""
    return (0,) * width


def one_hot(width: int, best: int) -> Levels:
    return tuple(SCALE if i == best else 0 for i in range(width))


def hardened(levels: Levels) -> Levels:
    """The row of randomised response: the first best category against all others; flat rows stay flat."""
    top = max(levels)
    return flat(len(levels)) if min(levels) == top else one_hot(len(levels), levels.index(top))


def classified(width: int) -> tuple[Levels, ...]:
    """Every row that `hardened` can give."""
    return (flat(width), *(one_hot(width, best) for best in range(width)))
