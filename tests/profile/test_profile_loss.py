"""Privacy loss of the integer tables, against enumeration of every private value and outcome."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest

from dp4sql.errors import InternalError
from dp4sql.mechanisms.exponential import exp_lower, exp_upper, log_upper
from dp4sql.mechanisms.profile import calibrate
from dp4sql.mechanisms.profile.calibrate import calibrated
from dp4sql.mechanisms.profile.channel import (
    SCALE,
    Block,
    Slot,
    classified,
    draw,
    flat,
    hardened,
    one_hot,
    table,
)
from dp4sql.mechanisms.profile.loss import countable, listed, universal
from tests.profile.enumeration import distribution, worst_ratio

EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(4), Fraction(16)]
UNIFORM = None
SKEWED = (1, 10**6, 3, 1, 10**9, 7)
"""A prior over 2 x 3 tuples that nearly forbids most of them."""


def every_row(width, grid=(0, 500, SCALE)):
    return list(itertools.product(grid, repeat=width))


def laws(block, multiplier, rows_of_slots):
    """The exact law of the drawn tuple for every combination of private rows."""
    return [
        distribution(lambda choose, rows=rows: draw(block, multiplier, rows, choose))
        for rows in itertools.product(*rows_of_slots)
    ]


def pair(epsilon, prior, rows=None):
    first = None if rows is None else rows[0]
    second = None if rows is None else rows[1]
    slots = (Slot(epsilon / 2, 2, first), Slot(epsilon / 2, 3, second))
    return Block(slots, prior, frozenset({0, 1}))


def single(epsilon, width, rows=None):
    return Block((Slot(epsilon, width, rows),), UNIFORM, frozenset({0}))


# ---------------------------------------------------------------- one slot


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("calibration", ["paper", "universal"])
@pytest.mark.parametrize("width", [2, 3, 4])
def test_a_slot_keeps_epsilon_for_any_scores(epsilon, calibration, width):
    block = single(epsilon, width)
    found = calibrated(block, calibration)
    ratio = worst_ratio(laws(block, found.multiplier, [every_row(width)]))
    assert ratio == universal(block, found.multiplier, frozenset({0}))
    assert ratio <= exp_lower(epsilon)
    assert ratio <= exp_upper(found.loss)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("calibration", ["paper", "universal", "exact"])
def test_a_slot_keeps_epsilon_for_listed_values(epsilon, calibration):
    rng = random.Random(7)
    rows = (flat(5), *(tuple(rng.randrange(300, 700) for _ in range(5)) for _ in range(12)))
    block = single(epsilon, 5, rows)
    found = calibrated(block, calibration)
    ratio = worst_ratio(laws(block, found.multiplier, [rows]))
    assert ratio == listed(block, found.multiplier, frozenset({0}))
    assert ratio <= exp_lower(epsilon)
    assert ratio <= exp_upper(found.loss)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_randomised_response_spends_epsilon_and_no_more(epsilon):
    block = single(epsilon, 10, classified(10))
    found = calibrated(block, "exact")
    ratio = worst_ratio(laws(block, found.multiplier, [classified(10)]))
    assert exp_lower(epsilon) * Fraction(10**17 - 1, 10**17) < ratio <= exp_lower(epsilon)
    weights = table(block, found.multiplier, [one_hot(10, 3)])
    truth = math.exp(epsilon) / (math.exp(epsilon) + 9)
    assert Fraction(weights[3], sum(weights)) == pytest.approx(truth, rel=1e-12)


def test_null_is_a_row_of_its_own():
    """Without the flat row the loss would be smaller than what NULL against a value really loses."""
    rows = ((1000, 900), (900, 1000))
    with_null = listed(single(Fraction(4), 2, (flat(2), *rows)), Fraction(1), frozenset({0}))
    lopsided = ((1000, 0), (900, 0))
    without = listed(single(Fraction(4), 2, lopsided), Fraction(1), frozenset({0}))
    with_flat = listed(single(Fraction(4), 2, (flat(2), *lopsided)), Fraction(1), frozenset({0}))
    assert with_null == listed(single(Fraction(4), 2, rows), Fraction(1), frozenset({0}))
    assert with_flat > without


# ---------------------------------------------------------------- blocks


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("calibration", ["paper", "universal"])
@pytest.mark.parametrize("prior", [UNIFORM, SKEWED])
def test_a_block_keeps_epsilon_for_any_scores(epsilon, calibration, prior):
    block = pair(epsilon, prior)
    found = calibrated(block, calibration)
    ends = [every_row(2, (0, SCALE)), every_row(3, (0, SCALE))]
    ratio = worst_ratio(laws(block, found.multiplier, ends))
    assert ratio == universal(block, found.multiplier, frozenset({0, 1}))
    assert ratio <= exp_lower(epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("calibration", ["paper", "universal", "exact"])
@pytest.mark.parametrize("prior", [UNIFORM, SKEWED])
def test_a_block_keeps_epsilon_for_listed_values(epsilon, calibration, prior):
    rows = (
        (flat(2), (600, 400), (450, 700)),
        (flat(3), (500, 550, 400), (1000, 0, 0), (300, 350, 420)),
    )
    block = pair(epsilon, prior, rows)
    found = calibrated(block, calibration)
    ratio = worst_ratio(laws(block, found.multiplier, rows))
    assert ratio == listed(block, found.multiplier, frozenset({0, 1}))
    assert ratio <= exp_lower(epsilon)
    assert ratio <= exp_upper(found.loss)


@pytest.mark.parametrize("prior", [UNIFORM, SKEWED])
@pytest.mark.parametrize("moving", [frozenset({0}), frozenset({1})])
def test_fields_that_closure_added_do_not_count(prior, moving):
    rows = (classified(2), (flat(3), (900, 100, 0), (0, 0, 1000)))
    slots = (Slot(Fraction(1), 2, rows[0]), Slot(Fraction(2), 3, rows[1]))
    block = Block(slots, prior, moving)
    found = calibrated(block, "exact")
    (fixed,) = {0, 1} - moving
    worst = max(
        worst_ratio(laws(block, found.multiplier, [[r] if i == fixed else rows[i] for i in (0, 1)]))
        for r in rows[fixed]
    )
    assert worst == listed(block, found.multiplier, moving)
    assert worst <= exp_upper(found.loss)
    assert found.loss < found.loss_all <= 3


def test_a_skewed_prior_eats_the_gain_of_universal():
    plain = calibrated(pair(Fraction(4), UNIFORM), "universal").multiplier
    skewed = calibrated(pair(Fraction(4), SKEWED), "universal").multiplier
    assert Fraction(1, 2) <= skewed < plain


def test_coupled_tables_beyond_the_limit_are_bounded_for_any_scores():
    rows = tuple((i, 1000 - i) for i in range(300))
    slots = tuple(Slot(Fraction(1), 2, rows) for _ in range(2))
    assert not countable(Block(slots, (1, 2, 3, 4)))
    assert countable(Block(slots, UNIFORM))


# ---------------------------------------------------------------- calibrations


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("width", [2, 3, 10])
def test_universal_finds_the_closed_form(epsilon, width):
    """e^rate = [(E-1) + sqrt((E-1)^2 + 4 (K-1)^2 E)] / (2 (K-1)), E = e^epsilon."""
    e, others = math.exp(epsilon), width - 1
    root = math.sqrt((e - 1) ** 2 + 4 * others**2 * e)
    rate = math.log(((e - 1) + root) / (2 * others))
    found = calibrated(single(epsilon, width), "universal").multiplier
    assert float(found * epsilon) == pytest.approx(rate, rel=1 / 4096 + 1e-9)


def test_exact_is_steeper_than_universal_and_universal_than_paper():
    rows = (flat(4), (520, 480, 500, 510), (490, 530, 470, 500))
    block = single(Fraction(2), 4, rows)
    steps = [calibrated(block, c) for c in ("paper", "universal", "exact")]
    assert steps[0].multiplier < steps[1].multiplier < steps[2].multiplier
    assert steps[0].loss < steps[1].loss < steps[2].loss <= 2


def test_an_unsound_calibration_is_caught(monkeypatch):
    """Dropping the paper's factor 1/2 breaks the guarantee for ten categories: the enumeration sees it,
    and the check before the draw refuses."""
    block = single(Fraction(1), 3)
    assert worst_ratio(laws(block, Fraction(1), [every_row(3)])) > exp_upper(Fraction(1))
    monkeypatch.setattr(calibrate, "HALF", Fraction(1))
    with pytest.raises(InternalError, match="loses more than its share"):
        calibrated.__wrapped__(block, "paper")


def test_a_slightly_unsound_table_is_caught():
    """One percent above randomised response is refused as well."""
    block = single(Fraction(1), 10, classified(10))
    good = listed(block, Fraction(1), frozenset({0}))
    bad = listed(block, Fraction(101, 100), frozenset({0}))
    assert good <= exp_lower(Fraction(1)) < bad


# ---------------------------------------------------------------- numbers and rows


@pytest.mark.parametrize(
    "x", [Fraction(0), Fraction(1, 3), Fraction(-5), Fraction(700), Fraction(8192)]
)
def test_exponential_bounds_hold_the_truth(x):
    """The series of e^|x / 2^k|, raised back, brackets the truth independently of `decimal`."""
    k = 20
    small = abs(x) / 2**k
    series = sum((small**n / math.factorial(n) for n in range(12)), start=Fraction(0))
    low, high = series, series + 2 * small**12 / math.factorial(12)
    for _ in range(k):
        low = Fraction(math.floor(low**2 * 10**4000), 10**4000)
        high = Fraction(math.ceil(high**2 * 10**4000), 10**4000)
    if x < 0:
        low, high = 1 / high, 1 / low
    assert exp_lower(x) <= high
    assert low <= exp_upper(x)
    assert exp_upper(x) - exp_lower(x) <= exp_lower(x) / 10**58


def test_log_upper_is_the_least_step_above():
    assert log_upper(Fraction(1)) == 0
    for x in (Fraction(1, 10**9), Fraction(3, 7), Fraction(50)):
        found = log_upper(exp_upper(x))
        assert exp_lower(found) >= exp_upper(x)
        assert x <= found <= x + Fraction(2, 10**9)


def test_hardened_rows():
    assert hardened((1, 5, 5)) == one_hot(3, 1)
    assert hardened((7, 7)) == flat(2)
    assert set(map(hardened, every_row(3))) == set(classified(3))
