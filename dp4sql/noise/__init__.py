"""The only place that draws randomness."""

from dp4sql.noise.draws import bernoulli, choose, randbelow
from dp4sql.noise.gaussian import gaussian, gaussian_scale
from dp4sql.noise.laplace import half_width, laplace
from dp4sql.noise.selection import select, selection_shortfall
from dp4sql.noise.simulation import simulated_laplace

__all__ = [
    "bernoulli",
    "choose",
    "gaussian",
    "gaussian_scale",
    "half_width",
    "laplace",
    "randbelow",
    "select",
    "selection_shortfall",
    "simulated_laplace",
]
