"""The most that any private certifier can do (PrivCert, Theorem 2 and Corollary 1).

A claim that is false by the smallest step is emitted with probability beta at most. One step of the data
multiplies probabilities by e^eps at most, so d steps later emission is at most p_d, where p_0 = beta and
p_(k+1) = min(e^eps p_k, 1 - e^-eps (1 - p_k)).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from dp4sql.mechanisms.certify.intervals import Interval
from dp4sql.mechanisms.certify.tails import Powers


def optimum(beta: Fraction, q: Powers, d: int) -> Interval:
    """p_d in closed form, q = e^-eps: beta e^(eps d) up to k0 = min{k : beta e^(eps k) > 1 / (1 + e^eps)},
    then 1 - e^(-eps (d - k0)) (1 - beta e^(eps k0))."""
    turn = least(lambda k: (beta / q(k)).low > (q(1) / (1 + q(1))).high)
    return beta / q(d) if d <= turn else 1 - q(d - turn) * (1 - beta / q(turn))


def half_emission(beta: Fraction, q: Powers) -> int:
    """k* = ceil(ln(1 / (2 beta)) / eps): the first d with p_d >= 1/2."""
    return least(lambda k: q(k).high <= 2 * beta)


def least(holds: Callable[[int], bool]) -> int:
    """The least k >= 0 from which on `holds` is true."""
    if holds(0):
        return 0
    low, high = 0, 1
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
