"""The only place that draws randomness."""

from dp4sql.noise.blocks import LIMIT, Array, Ints
from dp4sql.noise.concentrated import (
    epsilon_of,
    gaussian_half_width,
    gaussian_of_rho,
    rho_within,
    root_up,
)
from dp4sql.noise.draws import bernoulli, choose, randbelow
from dp4sql.noise.gaussian import gaussian, gaussian_scale
from dp4sql.noise.laplace import half_width, laplace
from dp4sql.noise.selection import select, selection_shortfall
from dp4sql.noise.simulation import simulated_gaussian, simulated_laplace

__all__ = [
    "LIMIT",
    "Array",
    "Ints",
    "bernoulli",
    "choose",
    "epsilon_of",
    "gaussian",
    "gaussian_half_width",
    "gaussian_of_rho",
    "gaussian_scale",
    "half_width",
    "laplace",
    "randbelow",
    "rho_within",
    "root_up",
    "select",
    "selection_shortfall",
    "simulated_gaussian",
    "simulated_laplace",
]
