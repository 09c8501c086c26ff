"""Noise that protects nothing: fresh draws of a known law, to see what it does to a result.

Drawn with floating point and numpy's generator. Never add these to anything that is private.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np

_generator: Final = np.random.default_rng()


def simulated_laplace(scale: Fraction, shape: tuple[int, ...]) -> Any:
    """An array of integer Laplace noise: the difference of two geometric draws, each the floor of an
    exponential one."""
    mean = float(scale)
    return np.floor(_generator.exponential(mean, shape)) - np.floor(
        _generator.exponential(mean, shape)
    )


def simulated_gaussian(scale: Fraction, shape: tuple[int, ...]) -> Any:
    """An array of rounded Gaussian noise, which is as good as the discrete law to look at."""
    return np.rint(_generator.normal(0.0, float(scale), shape))
