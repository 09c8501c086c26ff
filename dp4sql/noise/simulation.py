"""Noise that protects nothing: fresh draws of a known law, to see what it does to a result.

Drawn with floating point and numpy's generator. Never add these to anything that is private.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np


def simulated_laplace(scale: Fraction, shape: tuple[int, ...]) -> Any:
    """An array of integer Laplace noise: the difference of two geometric draws, each the floor of an
    exponential one."""
    generator, mean = np.random.default_rng(), float(scale)
    return np.floor(generator.exponential(mean, shape)) - np.floor(
        generator.exponential(mean, shape)
    )


def simulated_gaussian(scale: Fraction, shape: tuple[int, ...]) -> Any:
    """An array of rounded Gaussian noise, which is as good as the discrete law to look at."""
    return np.rint(np.random.default_rng().normal(0.0, float(scale), shape))
