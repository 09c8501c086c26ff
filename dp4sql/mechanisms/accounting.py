"""Conversions of losses, for those who add them up and draw no noise."""

from dp4sql.noise import epsilon_of, rho_within

__all__ = ["epsilon_of", "rho_within"]
