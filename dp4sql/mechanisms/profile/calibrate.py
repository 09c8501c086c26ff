"""How steep the weights may be: the multiplier t, each slot being drawn with rate t * its share of epsilon.

    paper      t = 1/2: the bound of Profile-DP's theorem 1, whatever the scores
    universal  the largest t that any scores in [0, 1] allow, found on the exact loss of the worst rows
    exact      the largest t found that the declared public rows allow

Each is checked on the integer table against a rational lower bound of e^epsilon before it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from dp4sql.errors import InternalError
from dp4sql.mechanisms.exponential import exp_lower, log_upper
from dp4sql.mechanisms.profile.channel import Block
from dp4sql.mechanisms.profile.loss import countable, listed, universal

Calibration: TypeAlias = Literal["paper", "universal", "exact"]

HALF: Final = Fraction(1, 2)
STEEPEST: Final = Fraction(64)
FASTEST: Final = Fraction(1000)
"""Rows that hardly differ would allow any t. Beyond these limits of t and of the rate t * share nothing is
gained: at rate 1000 a hundredth more of score is e^10 times as likely."""

STEPS: Final = 12
"""Halvings of the search interval: t is within one part in 4096 of its octave."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """`loss`: what the withheld values lose, which is charged. `loss_all`: the same with the fields that
    closure added counted as private, too. Both are upper bounds within 10^-9 of the table's exact loss."""

    multiplier: Fraction
    loss: Fraction
    loss_all: Fraction


@lru_cache(maxsize=512)
def calibrated(block: Block, calibration: Calibration) -> Calibrated:
    """Raises InternalError when the table loses more than the block's share: never draw from that."""
    multiplier = _multiplier(block, calibration)
    everything = frozenset(range(len(block.slots)))
    worst = _ratio(block)
    return _verified(
        block, multiplier, worst(multiplier, block.moving), worst(multiplier, everything)
    )


def _ratio(block: Block) -> Callable[[Fraction, frozenset[int]], Fraction]:
    """The ratio over what the private values can be: the lists where they can be enumerated."""
    over = listed if countable(block) else universal
    return lambda multiplier, moving: over(block, multiplier, moving)


def _verified(
    block: Block, multiplier: Fraction, ratio: Fraction, ratio_all: Fraction
) -> Calibrated:
    if max(ratio, ratio_all) > exp_lower(block.share):
        raise InternalError("a profile table loses more than its share of epsilon")
    loss, loss_all = (min(log_upper(r), block.share) for r in (ratio, ratio_all))
    return Calibrated(multiplier, loss, loss_all)


def _multiplier(block: Block, calibration: Calibration) -> Fraction:
    limit = exp_lower(block.share)
    everything = frozenset(range(len(block.slots)))
    match calibration:
        case "paper":
            return HALF
        case "universal":
            return _largest(lambda t: universal(block, t, everything) <= limit, HALF, Fraction(1))
        case "exact":
            if not countable(block):
                raise InternalError("an exact calibration needs values that can be enumerated")

            def fits(multiplier: Fraction) -> bool:
                return listed(block, multiplier, everything) <= limit

            return _largest(fits, *_octave(fits, _limit(block)))


def _limit(block: Block) -> Fraction:
    return max(HALF, min(STEEPEST, FASTEST / max(slot.share for slot in block.slots)))


def _octave(fits: Callable[[Fraction], bool], limit: Fraction) -> tuple[Fraction, Fraction]:
    """An interval whose lower end fits and whose upper end does not, or is the limit."""
    low = HALF
    while 2 * low <= limit and fits(2 * low):
        low *= 2
    return low, max(low, min(2 * low, limit))


def _largest(fits: Callable[[Fraction], bool], low: Fraction, high: Fraction) -> Fraction:
    """The largest t found in [low, high] that fits, given that `low` does."""
    if fits(high):
        return high
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
