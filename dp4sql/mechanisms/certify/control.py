"""What beta is spent on: each statement by itself, the whole report, or the false share of what is emitted.

All of it is post-processing of p-values. A control yields one level; a statement is emitted when its p-value
is at most that level.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dp4sql.policy.certify import Control


def level(control: Control, p_values: Sequence[Fraction], beta: Fraction) -> Fraction:
    """The level that every statement is tested at."""
    m = max(1, len(p_values))
    match control:
        case "per_statement":
            return beta
        case "bonferroni":
            return beta / m
        case "report":
            return beta / max(1, m - holm(p_values, beta))
        case "fdr":
            return beta * max(1, benjamini_hochberg(p_values, beta)) / m


def planned_level(control: Control, m: int, beta: Fraction) -> Fraction:
    """The strictest level that may come out, known before any data is read."""
    return beta if control == "per_statement" else beta / max(1, m)


def holm(p_values: Sequence[Fraction], beta: Fraction) -> int:
    """How many are emitted: the i-th smallest (from 0) while it is at most beta / (m - i).

    The probability of any false emission is at most beta, whatever the dependence (Holm, "A simple
    sequentially rejective multiple test procedure").
    """
    m = len(p_values)
    for i, p in enumerate(sorted(p_values)):
        if p > beta / (m - i):
            return i
    return m


def benjamini_hochberg(p_values: Sequence[Fraction], beta: Fraction) -> int:
    """How many are emitted: the largest R whose R-th smallest is at most beta R / m.

    The expected false share of what is emitted is at most beta, as the noise of the statements is
    independent (Benjamini and Hochberg, "Controlling the false discovery rate").
    """
    m = len(p_values)
    passing = [i for i, p in enumerate(sorted(p_values), start=1) if p <= beta * i / m]
    return max(passing, default=0)
