"""Private selection of the best of public candidates: OpenDP's noisy max (permute and flip).

McKenna and Sheldon, "Permute-and-Flip: A new mechanism for differentially private selection". With scores
that move by at most d each, and noise of scale s, a selection loses 2 d / s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import opendp.prelude as dp

from dp4sql.noise.blocks import LIMIT
from dp4sql.noise.laplace import check_loss, float_up


@lru_cache(maxsize=256)
def _selector(scale: float, apart: bool) -> Any:
    distance = dp.linf_distance(T=dp.i64, monotonic=apart)
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), distance
    return dp.m.make_noisy_max(*space, dp.max_divergence(), scale=scale)


def select(
    scores: Sequence[Sequence[int]],
    sensitivity: int,
    scale: Fraction,
    epsilon: Fraction,
    *,
    apart: bool = False,
) -> list[int]:
    """For each list of scores the index of one that is among the best, most likely.

    sensitivity: how far a score moves between neighbours, added up over the lists (the largest score
    change of each list). epsilon: what all selections together may lose.

    With `apart` the sensitivity is how far apart the changes of two scores of one list lie. A choice stays the
    same when all scores rise alike, so they may be raised until none has fallen: then they have moved in one
    direction, for which OpenDP has a bound of its own.
    """
    selector = _selector(float_up(scale), apart)
    loss = sensitivity if apart else 2 * sensitivity
    check_loss(selector.map(sensitivity), loss, scale, epsilon)
    return [int(selector([max(-LIMIT, min(LIMIT, s)) for s in row])) for row in scores]


def selection_shortfall(candidates: int, scale: Fraction) -> Fraction:
    """How far below the best score the chosen one stays in 95 % of selections, or less: noisy max adds
    exponential noise of mean `scale` to each score, so of two candidates that are d apart the worse one is
    ahead in exp(-d / scale) / 2 of them."""
    return scale * Fraction(math.log(candidates / 2 / 0.05)) if candidates > 1 else Fraction(0)
