"""Asking by error or by price: dp4sql.target_error, dp4sql.max_charge, and EXPLAIN before either."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction

import pytest

from dp4sql.errors import BudgetExceeded, InvalidParameter
from dp4sql.mechanisms.target import reaching
from dp4sql.noise import half_width
from dp4sql.pipeline import Pipeline
from dp4sql.pipeline.preparation import prepare
from dp4sql.settings import Settings
from tests.pipeline.test_repeats import MAJORS, ask, said, spent

SUM = "SELECT SUM(amount) FROM scholarship"


@pytest.mark.parametrize("target", [0, 1, 3, 17, 1000, 10**6])
def test_the_scale_reaches_the_target_and_hardly_more(pipeline: Pipeline, target: int) -> None:
    plan = prepare(pipeline.policy, MAJORS, ()).plan
    names = [p.name for p in pipeline.policy.policies]
    found = reaching(plan, Fraction(target), names)
    (scale,) = found.scales.values()
    assert half_width(scale) <= target
    assert half_width(scale * Fraction(102, 100) + Fraction(1, 100)) >= target
    assert found.charges["student"] == 1 / scale


def test_the_unit_of_a_column_counts(pipeline: Pipeline) -> None:
    """Half-widths are in dollars, whatever the grid is."""
    notice = said(ask(pipeline, SUM, target_error="400000"))
    width = re.search(r"95 % within \+-(\d+)", notice)
    assert width
    assert 390000 < int(width[1]) <= 400000


def test_a_small_error_is_refused_with_its_price(pipeline: Pipeline) -> None:
    with pytest.raises(BudgetExceeded) as caught:
        ask(pipeline, MAJORS, target_error="1")
    assert caught.value.message == (
        "an error of at most 1 costs 1.766 under policy student, where one query may cost 1"
    )
    assert "A larger dp4sql.target_error" in str(caught.value.hint)
    with pytest.raises(BudgetExceeded, match=r"more than dp4sql\.max_charge allows"):
        ask(pipeline, MAJORS, target_error="4", max_charge="0.5")
    assert spent(pipeline)["student"] == 0


def test_a_policy_that_lets_one_query_cost_more_reaches_it(pipeline: Pipeline) -> None:
    more = tuple(replace(p, max_charge=Fraction(5)) for p in pipeline.policy.policies)
    pipeline = pipeline.renewed(replace(pipeline.policy, policies=more))
    assert "95 % within +-1\n" in said(ask(pipeline, MAJORS, target_error="1"))
    assert spent(pipeline)["student"] == Fraction("1.766")


def test_a_target_that_was_reached_before_is_free(pipeline: Pipeline) -> None:
    ask(pipeline, MAJORS)
    assert "nothing is charged" in said(ask(pipeline, MAJORS, target_error="3"))
    assert "nothing is charged" in said(ask(pipeline, MAJORS, target_error="200"))
    assert spent(pipeline)["student"] == 1


def test_public_answers_reach_every_target(pipeline: Pipeline) -> None:
    assert ask(pipeline, "SELECT COUNT(*) FROM section", target_error="0.5").rows == [(250,)]


def test_means_have_no_target(pipeline: Pipeline) -> None:
    with pytest.raises(
        InvalidParameter, match="is for counts and sums, and the query asks for AVG"
    ):
        ask(pipeline, "SELECT AVG(grade) FROM enrollment", target_error="5")


# ---------------------------------------------------------------- EXPLAIN


def explain(pipeline: Pipeline, sql: str, **settings: str) -> str:
    asked = Settings()
    for name, text in settings.items():
        asked = asked.with_setting(name, text)
    return pipeline.explain(sql, settings=asked)


def test_explain_tells_what_is_left_and_charges_nothing(pipeline: Pipeline) -> None:
    text = explain(pipeline, MAJORS)
    assert "price (epsilon): student 1" in text
    assert text.endswith("the budget of policy student has 20 of 20 left")
    assert spent(pipeline)["student"] == 0


def test_explain_tells_of_a_repeat(pipeline: Pipeline) -> None:
    assert "shown again" not in explain(pipeline, MAJORS)
    ask(pipeline, MAJORS)
    assert "shown again as released" in explain(pipeline, MAJORS)
    assert "shown again" not in explain(pipeline, MAJORS, reuse="off")
    forecast = json.loads(pipeline.explain(MAJORS, format="json"))["forecast"]
    assert "nothing is charged for a repeat" in forecast[0]
    assert len(forecast) == 1


def test_explain_tells_of_a_refusal(pipeline: Pipeline) -> None:
    assert "refused if asked now: the query costs 1 under policy student, more than" in explain(
        pipeline, MAJORS, max_charge="0.5"
    )
    assert "refused if asked now: an error of at most 1 costs" in explain(
        pipeline, MAJORS, target_error="1"
    )
    for _ in range(20):
        ask(pipeline, MAJORS, reuse="off")
    assert "refused if asked now: the budget of policy student has 0 of 20 left" in explain(
        pipeline, MAJORS, reuse="off"
    )
