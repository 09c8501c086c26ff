"""MIN and MAX: what a choice loses by the exact law of permute and flip, over all small histograms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product

import pytest

from dp4sql.infer.release import Summand, sensitivity
from dp4sql.infer.terms import Term
from dp4sql.mechanisms.ranks import Grid, Rank, scores
from dp4sql.noise import select

CANDIDATES = 4
SCALE = Fraction(2)


def rank(target: str) -> Rank:
    grid = Grid("number", Fraction(0), Fraction(1), CANDIDATES)
    return Rank(grid, 1, 2, target)  # type: ignore[arg-type]


def law(found: Sequence[int]) -> list[float]:
    """Permute and flip (McKenna and Sheldon, Proposition 3): P(r) = p_r sum over S of (-1)^|S| / (|S| + 1) times
    the product of p_s, S without r, p = exp((score - best) / scale)."""
    p = [math.exp((score - max(found)) / float(SCALE)) for score in found]
    return [
        p[r]
        * sum(
            (-1) ** size / (size + 1) * math.prod(p[s] for s in chosen)
            for size in range(CANDIDATES)
            for chosen in combinations([i for i in range(CANDIDATES) if i != r], size)
        )
        for r in range(CANDIDATES)
    ]


def moved(rows: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Histograms in which one row is gone, has come, or lies elsewhere."""
    for i in range(CANDIDATES):
        up = tuple(n + (i == j) for j, n in enumerate(rows))
        yield up
        for j in range(CANDIDATES):
            if up[j]:
                yield tuple(n - (j == k) for k, n in enumerate(up))


def worst(target: str, shift: int) -> float:
    """The largest log ratio of a probability, between histograms that differ in one row; `shift` is what is
    asked beyond the end."""
    asked, log = rank(target), 0.0
    for rows in product(range(3), repeat=CANDIDATES):
        padded = _padded(rows, target, shift)
        before = law(scores(asked, padded, SCALE))
        for other in moved(rows):
            after = law(scores(asked, _padded(other, target, shift), SCALE))
            log = max(log, *(abs(math.log(a / b)) for a, b in zip(before, after, strict=True)))
    return log


def _padded(rows: tuple[int, ...], target: str, more: int) -> list[int]:
    """With so many rows at the end asked for: ranks are asked for among them and the others."""
    end = 0 if target == "min" else CANDIDATES - 1
    return [n + more * (i == end) for i, n in enumerate(rows)]


@pytest.mark.parametrize("target", ["min", "max"])
@pytest.mark.parametrize("more", [0, 1, 2, 3, 4])
def test_one_row_loses_three_units_of_the_scale_at_most(target: str, more: int) -> None:
    assert worst(target, more) <= 3 / float(SCALE) + 1e-9


def test_and_more_than_two_units() -> None:
    """Nothing less would do: with the larger of both changes alone, 2, the loss would be stated too small."""
    assert max(worst("min", more) for more in range(5)) > 2 / float(SCALE)


def test_opendp_draws_by_that_law() -> None:
    draws = 20_000
    found = scores(rank("min"), [2, 1, 0, 4], SCALE)
    seen = select([found] * draws, 3, SCALE, Fraction(3) / SCALE, apart=True)
    for place, p in enumerate(law(found)):
        slack = 6 * math.sqrt(p * (1 - p) / draws)
        assert abs(seen.count(place) / draws - p) < slack


@pytest.mark.parametrize(("apart", "bound"), [(False, 3), (True, 5)])
def test_comings_and_goings_add_up_in_ranks(apart: bool, bound: int) -> None:
    """In one number they may not; of two values one may be passed by those that go, and one by those that come."""
    terms = (Term("Del", 2), Term("Add", 3))
    summand = Summand(Fraction(0), Fraction(1), "x", apart=apart)
    assert sensitivity(terms, frozenset(), summand).bound == bound
