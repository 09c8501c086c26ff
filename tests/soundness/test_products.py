"""Sums of products of deviations, as CORR and REGR_SLOPE take them, against the promised bounds."""

from __future__ import annotations

from random import Random

import pytest

from . import queries
from .blocks import Block
from .campaign import campaign
from .expressions import Expressions, numeric
from .queries import Aggregate


def product(rng: Random, expressions: Expressions, block: Block) -> tuple[Aggregate, str]:
    """Of two columns, less a constant each, or of one with itself, where both are known or under a condition."""
    numbers = numeric(block.scope)
    if not numbers:
        return "count_star", "*"
    first, second = (rng.choice(numbers).text for _ in range(2))
    a, b = (f"({x} - {rng.choice((0, 1, 2))})" for x in (first, second))
    found = f"({a} * {rng.choice((a, b, b))})"
    if rng.random() < 0.5:
        found = f"CASE WHEN {second} IS NOT NULL AND {first} IS NOT NULL THEN {found} END"
    elif rng.random() < 0.3:
        found = f"CASE WHEN {expressions.comparison(block.scope)} THEN {found} END"
    return "sum", found


def test_no_product_moves_further_than_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "AGGREGATES", (product,))
    tally = campaign(4417, lambda sofar: sofar.tried < 150 and not sofar.violations)
    assert not tally.violations, "\n".join(tally.violations)
    assert not tally.troubles, "\n".join(tally.troubles)
    assert tally.accepted > 30
    assert tally.attained > 0
