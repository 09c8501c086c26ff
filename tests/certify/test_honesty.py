"""Honesty and validity on tiny populations, by summing over all noise and coins.

Noise beyond the reach is put on the ends; the reach is such that every decision is the same from there on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from dp4sql.mechanisms.certify.forms import Count, Form, Private, Steps
from dp4sql.mechanisms.certify.judge import Evidence, Verdict, judge
from dp4sql.mechanisms.certify.margins import margin, p_value, plain
from dp4sql.mechanisms.certify.tails import geometric
from dp4sql.policy.certify import Control, MarginKind
from tests.certify.laws import coin_law, geometric_law, rational

BETAS = [Fraction(1, 20), Fraction(1, 5), Fraction(2, 5)]
KINDS: list[MarginKind] = ["exact", "sharp", "paper"]
COINS = coin_law(4)
Q = Fraction(1, 3)
REACH = 9


@cache
def verdict(form: Form, kind: MarginKind, beta: Fraction, excess: int, coin: Fraction) -> Verdict:
    evidence = Evidence(form, excess, p_value(kind, rational(Q), coin))
    return judge([evidence], "per_statement", beta)[0]


def verdicts(
    form: Form, kind: MarginKind, beta: Fraction, exact: int
) -> Iterator[tuple[Fraction, Verdict]]:
    """Every verdict on a statement whose exact count (or weight) is `exact`, with its probability."""
    for noise, p in geometric_law(Q, REACH).items():
        for coin, c in COINS.items():
            yield p * c, verdict(form, kind, beta, form.excess(exact) + noise, coin)


def probability(
    form: Form, kind: MarginKind, beta: Fraction, exact: int, event: Callable[[Verdict], bool]
) -> Fraction:
    return sum(
        (p for p, found in verdicts(form, kind, beta, exact) if event(found)), start=Fraction(0)
    )


def overstates(found: Verdict, support: Fraction) -> bool:
    return found.bound is not None and found.bound.fraction > support


def sizes(low: int, high: int) -> Iterator[tuple[int, int]]:
    """Populations and how many of their rows are in favour."""
    return ((n, count) for n in range(low, high + 1) for count in range(n + 1))


def known_forms() -> Iterator[Count | Steps]:
    for n in range(1, 4):
        for theta in (Fraction(1, 10), Fraction(1, 2), Fraction(2, 3), Fraction(1)):
            yield Count(n, theta)
            yield Steps(n, theta, 2)


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("kind", KINDS)
def test_known_population(kind: MarginKind, beta: Fraction) -> None:
    for form in known_forms():
        for count in range(form.n + 1):
            support = Fraction(count, form.n)
            emitted = probability(form, kind, beta, count, lambda v: v.emitted)
            assert emitted <= beta or support >= form.theta
            assert probability(form, kind, beta, count, lambda v: overstates(v, support)) <= beta  # noqa: B023


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("unit", [1, 2, 3, 6])
def test_private_population_of_every_size(beta: Fraction, unit: int) -> None:
    for theta in (Fraction(1, 10), Fraction(1, 2), Fraction(2, 3)):
        form = Private(theta, unit)
        for n, count in sizes(0, 3):
            weight = theta.denominator * count - theta.numerator * n
            emitted = probability(form, "exact", beta, weight, lambda v: v.emitted)
            assert emitted <= beta or count > theta * n
            assert (form.excess(weight) >= 1) == (count > theta * n)


def test_a_margin_one_step_too_small_is_caught() -> None:
    """The tests above can fail: without the last step of the margin honesty is gone."""
    form, beta = Count(4, Fraction(1, 2)), Fraction(1, 20)
    tau = margin(plain(geometric(rational(Q))), beta) - 1
    emitted = sum(p for g, p in geometric_law(Q, REACH).items() if form.excess(1) + g - tau >= 1)
    assert emitted > beta


# ---------------------------------------------------------------- several statements

REPORT_Q, REPORT_REACH, REPORT_COINS = Fraction(1, 10), 6, coin_law(2)
FORM = Count(3, Fraction(1, 2))


@cache
def report(
    control: Control, beta: Fraction, excesses: tuple[int, ...], coins: tuple[Fraction, ...]
) -> tuple[Verdict, ...]:
    evidence = [
        Evidence(FORM, x, p_value("exact", rational(REPORT_Q), coin))
        for x, coin in zip(excesses, coins, strict=True)
    ]
    return tuple(judge(evidence, control, beta))


def reports(
    control: Control, beta: Fraction, counts: tuple[int, ...]
) -> Iterator[tuple[Fraction, tuple[Verdict, ...]]]:
    noise = geometric_law(REPORT_Q, REPORT_REACH).items()
    coins = REPORT_COINS.items()
    for (g1, p1), (g2, p2), (c1, r1), (c2, r2) in product(noise, noise, coins, coins):
        excesses = tuple(FORM.excess(n) + g for n, g in zip(counts, (g1, g2), strict=True))
        yield p1 * p2 * r1 * r2, report(control, beta, excesses, (c1, c2))


def false(found: Verdict, count: int) -> bool:
    return found.emitted and count < FORM.t


def wrong(found: Verdict, count: int) -> bool:
    return overstates(found, Fraction(count, FORM.n))


@pytest.mark.parametrize("control", ["report", "bonferroni"])
def test_no_false_statement_in_the_whole_report(control: Control) -> None:
    beta = Fraction(1, 5)
    for counts in product(range(4), repeat=2):
        any_false = any_wrong = Fraction(0)
        for p, found in reports(control, beta, counts):
            any_false += p * any(map(false, found, counts))
            any_wrong += p * any(map(wrong, found, counts))
        assert any_false <= beta
        assert any_wrong <= beta


def test_false_share_of_what_is_emitted() -> None:
    beta = Fraction(1, 5)
    for counts in product(range(4), repeat=2):
        false_share = wrong_share = Fraction(0)
        for p, found in reports("fdr", beta, counts):
            emitted = max(1, sum(v.emitted for v in found))
            false_share += p * sum(map(false, found, counts)) / emitted
            wrong_share += p * sum(map(wrong, found, counts)) / emitted
        assert false_share <= beta
        assert wrong_share <= beta


def test_per_statement_control_does_not_cover_the_report() -> None:
    beta = Fraction(1, 11)
    found = sum(p for p, v in reports("per_statement", beta, (1, 1)) if any(map(false, v, (1, 1))))
    assert found > beta


def test_holm_emits_what_bonferroni_emits_and_more() -> None:
    beta, more = Fraction(1, 8), 0
    for excesses in product(range(-4, 5), repeat=2):
        coins = (Fraction(1), Fraction(1))
        holm = report("report", beta, excesses, coins)
        plain_ = report("bonferroni", beta, excesses, coins)
        assert all(h.emitted or not b.emitted for h, b in zip(holm, plain_, strict=True))
        more += sum(h.emitted for h in holm) - sum(b.emitted for b in plain_)
    assert more > 0
