"""The benchmark's floats against the exact tables, and the shape of what it shows."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.profile.population import (
    FIT,
    PROFILE,
    Variant,
    blind,
    by_category,
    channel,
    law,
    outcome,
)
from dp4sql.mechanisms.profile.channel import table
from dp4sql.mechanisms.profile.release import planned
from dp4sql.mechanisms.profile.scores import score

PEOPLE = law()


@pytest.mark.parametrize("epsilon", [2, 512])
def test_channels_are_those_of_the_tables(epsilon):
    plan = planned(PROFILE, "block", Fraction(epsilon), "paper")
    block = next(b for b in plan.blocks if len(b.fields) == 2)
    found = channel(plan, block)
    work, education = block.fields
    for i, j in itertools.product((0, 7, 29), (0, 8)):
        rows = [score(work, work.values[i]), score(education, education.values[j])]
        weights = table(block.block, block.calibrated.multiplier, rows)
        exact = np.array([float(Fraction(w, sum(weights))) for w in weights]).reshape(10, 9)
        assert found[i, j] == pytest.approx(exact, abs=1e-9)


def test_averages_over_titles_are_distributions():
    plan = planned(PROFILE, "slot", Fraction(8), "paper")
    block = plan.block_of("work")
    found = by_category(channel(plan, block), 0, block.fields[0])
    assert found.shape == (10, 10)
    assert found.sum(axis=1) == pytest.approx(np.ones(10))


def at(epsilon, name="block", **parts):
    mechanism = parts.pop("mechanism", "block")
    return outcome(Variant(name, mechanism, "universal", **parts), epsilon, PEOPLE)


@pytest.mark.parametrize("epsilon", [4, 64])
def test_without_closure_disclosure_and_recovery_rise_and_retention_too(epsilon):
    whole, without = at(epsilon), at(epsilon, closure=False)
    assert without.disclosure > whole.disclosure + 0.05
    assert without.recovery > whole.recovery + 0.05
    assert without.retention == 1 > whole.retention


def test_the_prior_makes_plausible_pairs():
    """With and without it at a small epsilon; the pairs of a uniform draw for comparison."""
    fits = np.array(FIT, dtype=float) < 1
    assert at(2, mechanism="slot").implausible == pytest.approx(fits.mean(), abs=0.01)
    assert at(2).implausible == pytest.approx(0.31, abs=0.01)
    assert at(2, prior=False).implausible == pytest.approx(0.65, abs=0.01)


def test_the_attacker_is_at_least_as_good_as_without_the_release():
    floor = np.mean(list(blind(PEOPLE).values()))
    assert outcome(Variant("slot", "slot", "paper"), 2, PEOPLE).recovery >= floor - 1e-12


def test_suppressing_the_occupation_as_well_lowers_recovery_below_the_shared_facts():
    assert at(2).recovery < np.mean(list(blind(PEOPLE).values()))


def test_losses_stay_below_the_nominal_epsilon():
    for epsilon in (2, 64):
        found = at(epsilon)
        assert found.loss <= found.loss_all <= epsilon
