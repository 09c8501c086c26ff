"""Whole releases, enumerated: every outcome of every draw, for every combination of private values."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

import dp4sql
from dp4sql.errors import InvalidParameter
from dp4sql.mechanisms.exponential import exp_lower, exp_upper
from dp4sql.mechanisms.profile import release
from dp4sql.mechanisms.profile.planning import closure
from dp4sql.mechanisms.profile.release import p_best, planned, sample
from dp4sql.mechanisms.profile.scores import score
from tests.profile.enumeration import distribution, worst_ratio
from tests.profile.toys import policy, write

MOODS = [None, "happy", "sad"]
SIZES = [None, "tiny", "huge"]
MEALS = [None, "small", "a lot"]
TOYS = ["happy", "sad"]


@pytest.fixture(scope="module")
def vet(tmp_path_factory):
    path = write(tmp_path_factory.mktemp("policy"))
    return dp4sql.load_policy(path).extras["profiles"]["vet"]


def law(plan, toy, mood, size, meals):
    """The exact law of all that the release shows."""
    values = {"toy": [toy], "mood": [mood], "size": [size], "meals": meals}

    def run(choose):
        return tuple((d.field.name, d.row, d.category.code) for d in sample(plan, values, choose))

    return distribution(run)


def laws(plan, toy, meals):
    """Neighbours: everything withheld varies, the shared toy does not."""
    return [
        law(plan, toy, mood, size, list(eaten))
        for mood, size, *eaten in itertools.product(MOODS, SIZES, *([MEALS] * meals))
    ]


@pytest.mark.parametrize("meals", [0, 1])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(6)])
@pytest.mark.parametrize(
    ("mechanism", "calibration"),
    [
        ("block", None),
        ("block", "paper"),
        ("block", "universal"),
        ("slot", None),
        ("slot", "paper"),
        ("slot", "universal"),
        ("rr", None),
    ],
)
def test_a_release_keeps_epsilon(vet, mechanism, calibration, epsilon, meals):
    plan = planned(vet, mechanism, epsilon, calibration, {"meal": meals})
    for toy in TOYS:
        ratio = worst_ratio(laws(plan, toy, meals))
        assert ratio <= exp_lower(epsilon)
        assert ratio <= exp_upper(plan.loss)
    assert plan.loss <= plan.loss_all <= epsilon


@pytest.mark.parametrize("mechanism", ["block", "rr"])
def test_with_the_closure_field_private_too_the_second_number_holds(vet, mechanism):
    plan = planned(vet, mechanism, Fraction(3), rows={"meal": 0})
    ratio = worst_ratio([found for toy in TOYS for found in laws(plan, toy, 0)])
    assert exp_upper(plan.loss) < ratio <= exp_upper(plan.loss_all)
    assert ratio <= exp_lower(Fraction(3))


def test_several_rows_share_the_budget(vet):
    """Three meals: the loss is still at most epsilon, each meal being drawn with a third of its share."""
    one = planned(vet, "rr", Fraction(3), rows={"meal": 1})
    three = planned(vet, "rr", Fraction(3), rows={"meal": 3})
    (alone,), (each,) = (
        [b.block.slots[0].share for b in plan.blocks if b.fields[0].name == "meals"]
        for plan in (one, three)
    )
    assert (alone, each) == (Fraction(3, 4), Fraction(1, 4))
    meals = next(b for b in three.blocks if b.fields[0].name == "meals")
    laws_ = [
        distribution(
            lambda choose, eaten=eaten: tuple(
                (d.row, d.category.code)
                for d in sample(
                    three, {"toy": ["sad"], "mood": [None], "size": [None], "meals": eaten}, choose
                )
                if d.field.name == "meals"
            )
        )
        for eaten in itertools.product([None, "small"], repeat=3)
    ]
    assert worst_ratio(laws_) <= exp_lower(Fraction(3, 4))
    assert meals.count == 3


def test_giving_every_field_the_whole_epsilon_is_caught(vet, monkeypatch):
    def generous(epsilon, sampled, rows):
        return {field.name: epsilon for field in sampled}

    monkeypatch.setattr(release, "shares", generous)
    plan = planned(vet, "rr", Fraction(1), rows={"meal": 0})
    assert worst_ratio(laws(plan, "happy", 0)) > exp_upper(Fraction(1))


def test_values_off_the_public_list_score_like_null(vet):
    mood, meals = vet.fields["mood"], vet.fields["meals"]
    assert score(mood, "off the list") == score(mood, None) == (0, 0)
    assert score(mood, "  HAPPY ") == (1000, 0)
    assert max(score(meals, "medium rare")) > 0


def test_planning_reads_no_value(vet):
    """Plans are made without values, and equal requests give equal tables."""
    first = planned(vet, "block", Fraction(2), rows={"meal": 2})
    again = planned(vet, "block", Fraction(2), rows={"meal": 2})
    assert [b.block for b in first.blocks] == [b.block for b in again.blocks]
    assert [b.calibrated for b in first.blocks] == [b.calibrated for b in again.blocks]


# ---------------------------------------------------------------- what happens to each field


def test_fates(vet):
    plan = planned(vet, "block", Fraction(2))
    assert [(f.field.name, f.policy, f.action) for f in plan.fates] == [
        ("id", "suppressed", "suppressed"),
        ("nick", "withheld", "suppressed"),
        ("toy", "closure", "sampled"),
        ("mood", "withheld", "sampled"),
        ("size", "withheld", "sampled"),
        ("meals", "withheld", "sampled"),
    ]
    assert [[f.name for f in b.fields] for b in plan.blocks] == [
        ["toy"],
        ["mood", "size"],
        ["meals"],
    ]
    assert plan.fates[2].because == "toy tells of mood (0.8)"


def test_slot_has_no_closure_and_no_blocks(vet):
    plan = planned(vet, "slot", Fraction(2))
    assert [f.action for f in plan.fates if f.field.name == "toy"] == ["copied"]
    assert [[f.name for f in b.fields] for b in plan.blocks] == [["mood"], ["size"], ["meals"]]
    assert plan.loss == plan.loss_all


def test_suppress_costs_nothing(vet):
    plan = planned(vet, "suppress", Fraction(2))
    assert {f.action for f in plan.fates} == {"suppressed"}
    assert plan.blocks == ()
    assert plan.loss == 0


def test_a_field_without_rows_leaves_its_share_to_the_others(vet):
    plan = planned(vet, "rr", Fraction(3), rows={"meal": 0})
    assert [b.block.share for b in plan.blocks] == [1, 1, 1]


def test_exact_is_refused_for_free_text(vet):
    with pytest.raises(InvalidParameter, match="meals") as caught:
        planned(vet, "block", Fraction(1), "exact")
    assert "universal" in caught.value.hint


def test_randomised_response_takes_no_other_calibration(vet):
    with pytest.raises(InvalidParameter, match="calibration paper with mechanism rr"):
        planned(vet, "rr", Fraction(1), "paper")


def chain(tmp_path, closure, threshold=0.5):
    content = policy()
    content["tables"]["cat"]["columns"] |= {"a": "text", "b": "text"}
    profile = content["profiles"]["vet"]
    profile["fields"] |= {"a": {"column": "cat.a"}, "b": {"column": "cat.b"}}
    profile["closure"] = [{"from": f, "to": t, "score": s} for f, t, s in closure]
    profile["closure_threshold"] = threshold
    return dp4sql.load_policy(write(tmp_path, content)).extras["profiles"]["vet"]


def test_closure_runs_to_a_fixed_point(tmp_path):
    profile = chain(tmp_path, [("b", "a", 0.5), ("a", "mood", 0.9), ("toy", "b", 0.49)])
    assert {name: link.target for name, link in closure(profile).items()} == {"a": "mood", "b": "a"}


def test_closure_has_a_threshold(tmp_path):
    assert closure(chain(tmp_path, [("b", "a", 0.9), ("a", "mood", 0.4)])) == {}


def test_closure_without_a_domain_suppresses(tmp_path):
    plan = planned(chain(tmp_path, [("a", "mood", 1)]), "block", Fraction(1))
    (fate,) = [f for f in plan.fates if f.field.name == "a"]
    assert (fate.policy, fate.action, fate.because) == (
        "closure",
        "suppressed",
        "a tells of mood (1)",
    )


def test_blocks_above_the_cap_are_split(tmp_path):
    content = policy()
    content["profiles"]["vet"]["block_cap"] = 5
    vet = dp4sql.load_policy(write(tmp_path, content)).extras["profiles"]["vet"]
    names = [[f.name for f in b.fields] for b in planned(vet, "block", Fraction(1)).blocks]
    assert names == [["toy"], ["mood"], ["size"], ["meals"]]


def test_p_best_is_the_chance_of_the_best_category(vet):
    plan = planned(vet, "rr", Fraction(3), rows={"meal": 0})
    (mood,) = [b for b in plan.blocks if b.fields[0].name == "mood"]
    found = law(plan, "happy", "sad", None, [])
    chance = sum(p for outcome, p in found.items() if ("mood", 0, "down") in outcome)
    assert p_best(mood, 0, "rr") == chance
