"""From terms to L1 sensitivity at the release (paper Figure 7, sensitivity.md section 4 "Release").

One number a measured column, over all output groups together. A measured column is a sum: COUNT(*) sums
1, COUNT(x) sums 0 or 1, SUM(x) sums x - centre with an absent (NULL) value counting as 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dp4sql.algebra.bounds import Bound, most, plus, times
from dp4sql.infer import unary
from dp4sql.infer.rules import Rule
from dp4sql.infer.terms import Attrs, Term, Terms, seen_through


@dataclass(frozen=True, slots=True)
class Summand:
    """What one row adds to a measured column: within [low, high], and changing only where `column` may.

    `apart`: the number of rows up to each of many values is measured, of which any two may move apart. One row
    moves those that it moves by one, and in one direction; two rows may go in different ones.
    """

    low: Fraction
    high: Fraction
    column: str | None = None
    distinct: bool = False
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The bound, the rule that gave it and the terms it was read off."""

    bound: Bound
    rule: Rule


def sensitivity(terms: Terms, keys: Attrs, summand: Summand) -> Sensitivity:
    """S-Cnt and S-Sum, or their X- form without grouping.

    Raises nothing: an infinite bound is returned as INF and refused by the caller, who can say why.
    """
    counts = summand.low == summand.high == 1
    if summand.distinct and summand.column is not None:
        seen = keys | {summand.column}
        terms = unary.distinct(seen_through(terms, seen), seen)
    if keys or summand.apart:
        bound = plus(*(_grouped(term, keys, summand) for term in terms))
        return Sensitivity(bound, "S-Cnt" if counts else "S-Sum")
    return Sensitivity(_ungrouped(terms, summand), "X-Cnt1" if counts else "X-Sum1")


def reach(summand: Summand) -> Fraction:
    return max(abs(summand.low), abs(summand.high))


def swing(summand: Summand) -> Fraction:
    """From nothing to a value and from a value to any other."""
    return max(summand.high, Fraction(0)) - min(summand.low, Fraction(0))


def adds_nothing(term: Term, summand: Summand) -> bool:
    """Whether what is summed is NULL in all rows of the slots: a padded row is not counted by COUNT(x)."""
    return summand.column in term.absent


def _grouped(term: Term, keys: Attrs, summand: Summand) -> Bound:
    if adds_nothing(term, summand):
        return 0
    m = reach(summand)
    if term.kind in ("Del", "Add"):
        return times(term.n, m)
    if not term.fixes(keys):
        return times(term.n, 2 * m)
    varies = summand.column in term.attrs
    if term.kind == "Rep":
        return times(term.n, summand.high - summand.low) if varies else 0
    return times(term.n, swing(summand) if varies else m)


def _ungrouped(terms: Terms, summand: Summand) -> Bound:
    """X-Cnt1, X-Sum1: ups and downs of different slots do not add up in one number."""
    up = plus(*(times(term.n, _shift(term, summand)[1]) for term in terms))
    down = plus(*(times(term.n, _shift(term, summand)[0]) for term in terms))
    return most(up, down)


def _shift(term: Term, summand: Summand) -> tuple[Fraction, Fraction]:
    """How far one slot can move the sum (down, up), both as magnitudes."""
    if adds_nothing(term, summand):
        return Fraction(0), Fraction(0)
    falls = max(summand.high, Fraction(0))
    rises = max(-summand.low, Fraction(0))
    varies = summand.column in term.attrs
    match term.kind:
        case "Del":
            return falls, rises
        case "Add":
            return rises, falls
        case "Rep":
            width = summand.high - summand.low if varies else Fraction(0)
            return width, width
        case "Opt":
            width = swing(summand) if varies else reach(summand)
            return width, width
