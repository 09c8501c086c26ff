"""Long columns are drawn in blocks: every value keeps its place and gets noise of its own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dp4sql.noise.blocks import BLOCK, LIMIT, SHARED
from dp4sql.noise.laplace import laplace


@pytest.mark.parametrize("length", [2 * BLOCK + 3, SHARED + 1, SHARED])
def test_values_keep_their_places(length: int) -> None:
    exact = [1000 * i for i in range(length)]
    noisy = laplace(exact, 1, Fraction(2), Fraction(1, 2))
    assert len(noisy) == len(exact)
    errors = [n - e for n, e in zip(noisy, exact, strict=True)]
    assert max(map(abs, errors)) < 100
    half = len(errors) // 2
    assert errors[:half] != errors[half : 2 * half]
    assert 1.5 < sum(map(abs, errors)) / len(errors) < 2.5


def test_arrays_stay_arrays() -> None:
    exact = np.arange(BLOCK + 5) * 1000
    noisy = laplace(exact, 1, Fraction(2), Fraction(1, 2))
    assert isinstance(noisy, np.ndarray)
    assert noisy.dtype == np.int64
    assert 0 < int(np.abs(noisy - exact).max()) < 100


def test_values_beyond_64_bits_are_clamped() -> None:
    assert abs(laplace([2**80], 1, Fraction(2), Fraction(1, 2))[0] - LIMIT) < 100
    far = np.array([-(2**63)] * 2, np.int64)
    assert abs(int(laplace(far, 1, Fraction(2), Fraction(1, 2))[0]) + LIMIT) < 100
