"""Levels against a direct reading of the procedures."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp4sql.mechanisms.certify.control import level, planned_level

BETA = Fraction(1, 20)
p_values = st.lists(st.fractions(0, 1, max_denominator=400), min_size=1, max_size=12)


def step_down(ps: list[Fraction]) -> set[int]:
    """Holm, as he states it: reject the smallest while it is small enough for what is left."""
    left, rejected = set(range(len(ps))), set()
    while left:
        best = min(left, key=lambda i: ps[i])
        if ps[best] > BETA / len(left):
            break
        left.remove(best)
        rejected.add(best)
    return rejected


def step_up(ps: list[Fraction]) -> set[int]:
    m = len(ps)
    for r in range(m, 0, -1):
        passing = {i for i in range(m) if ps[i] <= BETA * r / m}
        if len(passing) >= r:
            return passing
    return set()


@given(p_values)
def test_holm(ps: list[Fraction]) -> None:
    at = level("report", ps, BETA)
    assert {i for i, p in enumerate(ps) if p <= at} == step_down(ps)


@given(p_values)
def test_benjamini_hochberg(ps: list[Fraction]) -> None:
    at = level("fdr", ps, BETA)
    assert {i for i, p in enumerate(ps) if p <= at} == step_up(ps)


@given(p_values)
def test_planned_level_is_the_strictest(ps: list[Fraction]) -> None:
    for control in ("per_statement", "report", "bonferroni", "fdr"):
        assert planned_level(control, len(ps), BETA) <= level(control, ps, BETA)


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        ("per_statement", Fraction(1, 20)),
        ("bonferroni", Fraction(1, 80)),
        ("report", Fraction(1, 40)),
        ("fdr", Fraction(3, 80)),
    ],
)
def test_levels_of_an_example(control: str, expected: Fraction) -> None:
    ps = [Fraction(1, 100), Fraction(1, 70), Fraction(3, 100), Fraction(1, 2)]
    assert level(control, ps, BETA) == expected  # type: ignore[arg-type]
