"""Long columns are drawn in blocks: every value keeps its place and gets noise of its own."""

from __future__ import annotations

from fractions import Fraction

from dp4sql.noise.blocks import BLOCK
from dp4sql.noise.laplace import laplace


def test_values_keep_their_places() -> None:
    exact = [1000 * i for i in range(2 * BLOCK + 3)]
    noisy = laplace(exact, 1, Fraction(2), Fraction(1, 2))
    assert len(noisy) == len(exact)
    errors = [n - e for n, e in zip(noisy, exact, strict=True)]
    assert max(map(abs, errors)) < 100
    assert errors[:BLOCK] != errors[BLOCK : 2 * BLOCK]
    assert 1.5 < sum(map(abs, errors)) / len(errors) < 2.5
