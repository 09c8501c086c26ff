"""Means in integers are the Fractions that they stand for; wide answers come whole."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dp4sql.algebra.types import DOUBLE, NUMERIC
from dp4sql.mechanisms.measure import Quantity
from dp4sql.mechanisms.release import _mean

units = st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(5), Fraction(3, 7)])


@given(
    st.integers(-(10**12), 10**12), st.integers(-5, 10**6), units, st.integers(-1000, 1000),
    st.integers(-(10**4), 0), st.integers(1, 10**4),
)  # fmt: skip
def test_a_mean_is_its_fraction(
    value: int, count: int, unit: Fraction, center: int, low: int, high: int
) -> None:
    total = Quantity("sum", "x", unit, center * unit, low, high, "x")
    exact = total.center + Fraction(value) * unit / max(count, 1)
    exact = min(max(exact, low * unit + total.center), high * unit + total.center)
    scaled = Decimal(round(exact * 10**10)).scaleb(-10)
    assert _mean(total, value, count, NUMERIC, True) == scaled
    assert _mean(total, value, count, DOUBLE, True) == float(exact)
    assert _mean(total, value, 0, NUMERIC, False) is None
