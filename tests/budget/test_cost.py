"""Amounts as people read them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dp4sql.budget.cost import show


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0", "0"),
        ("20", "20"),
        ("1/3", "~0.3333"),
        ("0.0001", "0.0001"),
        ("0.00005", "0.00005"),
        ("0.000001", "0.000001"),
        ("1/30000", "~0.00003"),
        ("41/10000000", "~0.000004"),
        ("1/10000000000000000", "~0"),
    ],
)
def test_small_amounts_are_told_from_nothing(amount: str, text: str) -> None:
    assert show(Fraction(amount)) == text
