"""The benchmark's floats against dp4sql's exact arithmetic, and the figures that it stands for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from benchmarks.certify.mechanisms import budgets
from benchmarks.certify.proxy import THETAS, boundary
from benchmarks.certify.sweep import BETAS, EPSILONS, SEEDS
from benchmarks.certify.synthetic import claims, drawn, emission, per_statement, rates
from dp4sql.mechanisms.certify import margins
from dp4sql.mechanisms.certify.laws import Geometric
from dp4sql.mechanisms.certify.laws import margin as margin_of
from dp4sql.mechanisms.certify.tails import geometric, powers
from dp4sql.policy.certify import MarginKind

BETA = Fraction(1, 20)


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(20), Fraction(7, 3)])
def test_emission_is_that_of_the_margins(scale: Fraction) -> None:
    excess = np.arange(-40, 120, 7)
    exact = [float(margins.emission(geometric(powers(scale)), BETA, int(x)).high) for x in excess]
    assert emission("exact", scale, BETA, excess) == pytest.approx(exact, rel=1e-9)
    tau = margin_of(Geometric(scale, "paper"), BETA)
    tail = [float(geometric(powers(scale))(tau + 1 - int(x)).high) for x in excess]
    assert emission("paper", scale, BETA, excess) == pytest.approx(tail, rel=1e-9)


@pytest.mark.parametrize("kind", ["paper", "sharp", "exact"])
def test_runs_emit_as_often_as_expected(kind: MarginKind) -> None:
    """Within seven standard deviations."""
    excess = np.full(20_000, 40)
    expected = emission(kind, Fraction(20), BETA, excess)[0]
    seen = drawn(kind, Fraction(20), BETA, excess).mean()
    assert abs(seen - expected) < 7 * (expected * (1 - expected) / len(excess)) ** 0.5


def test_the_papers_unsupported_emission() -> None:
    """At most .038 in the paper; the plain margin's largest expectation is in the harshest cell."""
    scale, beta = per_statement(EPSILONS[0], 1000), BETAS[-1]
    every = [
        claims(np.random.default_rng([s, 1000, 7]), 1000, 10_000, Fraction(1, 5))
        for s in range(SEEDS)
    ]
    found = [rates(c, emission("paper", scale, beta, c.excess)).unsupported for c in every]
    assert np.mean(found) < 0.038
    assert np.mean(found) > 0.001
    exact = [rates(c, emission("exact", scale, beta, c.excess)).unsupported for c in every]
    assert np.mean(found) < np.mean(exact) < beta


def test_budgets_stay_in_the_interval_of_theorem_4() -> None:
    for kind in ("paper", "exact"):
        for budget in budgets(kind, EPSILONS):
            assert budget.low <= budget.found.emitted <= budget.high


def test_a_proxy_is_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.certify.proxy.DRAWS", 2)
    certified, read_off, *_ = boundary()
    assert certified.theta == read_off.theta == THETAS[0]
    assert certified.found.unsupported < BETA < read_off.found.unsupported
