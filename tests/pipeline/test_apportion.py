"""The measurements of one mean or deviation share its epsilon so that its noise is least."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import dp4sql

POLICY = Path(__file__).parents[2] / "policies" / "university.yaml"


def shares(items: str, source: str = "enrollment") -> list[float]:
    """What each measurement loses of the epsilon of policy student."""
    found = dp4sql.explain(POLICY, f"SELECT {items} FROM {source}")
    losses = {m.sql: m.losses["student"] for a in found.aggregates for m in a.measurements}
    assert sum(losses.values()) == Fraction(1)
    return [float(loss) for loss in losses.values()]


def error(parts: list[float], pull: list[float]) -> float:
    """The standard deviation of a mean or a variance, but for a factor."""
    return sum((c / share) ** 2 for c, share in zip(pull, parts, strict=True)) ** 0.5


def test_a_mean_gives_its_sum_more() -> None:
    """A grade that is replaced moves the sum by 100, the count by 1 where it becomes NULL."""
    found = shares("AVG(grade)")
    assert found[0] > 2 * found[1]
    for middle in (0, 10, 25, 40):
        pull = [600, 6 * middle]
        assert error(found, pull) < 0.98 * error([0.5, 0.5], pull)


def test_a_deviation_does_too() -> None:
    """Grades lie around 76 with a deviation of 13: 26 from the middle of their range."""
    found = shares("STDDEV(grade)")
    pull = [2 * 26 * 600, 6 * 2500, 6 * abs(26**2 - 13**2)]
    assert error(found, pull) < 0.8 * error([1 / 3] * 3, pull)


def test_several_of_the_same_values_share_as_one_does() -> None:
    assert shares("STDDEV(grade), VAR_POP(grade), VARIANCE(grade)") == shares("STDDEV(grade)")


@pytest.mark.parametrize(
    "items",
    ["AVG(grade), COUNT(grade)", "AVG(grade), SUM(grade)", "AVG(grade), STDDEV(grade)"],
)
def test_what_several_columns_are_made_of_weighs_as_ever(items: str) -> None:
    found = shares(items)
    assert found == [1 / len(found)] * len(found)


def test_noise_that_another_policy_asks_for_is_no_reason() -> None:
    """The stronger policy sets the noise of the sum: a larger share of the weaker one would not lessen it."""
    found = dp4sql.explain(POLICY, "SELECT age / 10, AVG(salary) FROM faculty GROUP BY 1")
    count = found.aggregates[0].measurements[1]
    assert (count.kind, count.losses["faculty"]) == ("count", Fraction(1, 2))
