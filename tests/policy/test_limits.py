"""Budgets, maxima, renewals and allowances of roles: what they mean, and which make no sense."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dp4sql.policy import load_policy
from dp4sql.policy.labels import Allowance, Policy

from .support import problems, the_problem, university


def limited(**entries: Any) -> dict[str, Any]:
    return university(**{f"policies.student.{name}": value for name, value in entries.items()})


def student(**entries: Any) -> Policy:
    return load_policy(limited(**entries)).policies[0]


def test_an_amount_is_short_for_a_budget() -> None:
    policy = student(budget=20, roles={"ann": 5, "bob": {"budget": 3, "renewal": {"day": 1}}})
    assert policy.roles == {
        "ann": Allowance(Fraction(5)),
        "bob": Allowance(Fraction(3), renewal={"day": Fraction(1)}),
    }


def test_public_stands_for_the_roles_that_are_not_named() -> None:
    policy = student(budget=20, roles={"ann": 5, "public": 2})
    assert [policy.allowance(role).budget for role in ("ann", "bob", "")] == [5, 2, 2]
    assert student(budget=20, roles={"ann": 5}).allowance("bob") == Allowance()


def test_epsilon_is_the_default_and_max_charge_the_most() -> None:
    policy = student(max_charge=3, roles={"ann": {"max_charge": 0.5}})
    asked = (None, Fraction(2), Fraction(9), Fraction(1, 4))
    assert [policy.epsilon_of(e, "bob") for e in asked] == [1, 2, 3, Fraction(1, 4)]
    half = Fraction(1, 2)
    assert [policy.epsilon_of(e, "ann") for e in asked] == [half, half, half, Fraction(1, 4)]
    assert [student().epsilon_of(e, "bob") for e in asked] == [1, 1, 1, Fraction(1, 4)]


@pytest.mark.parametrize(
    ("content", "found", "hint"),
    [
        (limited(max_charge=0), "max_charge is 0, not a number above 0", "one query may cost"),
        (limited(max_charge=0.5), "max_charge 0.5 is below epsilon 1", "raise max_charge"),
        (limited(budget=5, max_charge=6), "max_charge 6 is above the budget 5", "never matter"),
        (limited(renewal=5), "renewal is 5, not a mapping", "{week: 5}"),
        (limited(renewal={}), "renewal names no day, week or month", "{week: 5}"),
        (limited(renewal={"year": 5}), 'unknown key "year"', "day, month, week"),
        (limited(renewal={"day": -1}), "day is -1, not a number above 0", "each day"),
        (limited(renewal={"day": 0}), "day is 0, not a number above 0", "each day"),
        (limited(renewal={"day": 0.5}), "renewal.day 0.5 is below epsilon 1", "raise renewal.day"),
        (
            limited(budget=5, renewal={"week": 5}),
            "renewal.week 5 is not below the budget 5",
            "never matter",
        ),
        (
            limited(renewal={"day": 9, "month": 5}),
            "renewal.day 9 is not below renewal.month 5",
            "never matter",
        ),
        (limited(roles={"ann": 0}), "roles.ann is 0, not a number above 0", "role: budget"),
        (limited(roles={"ann": -2}), "roles.ann is -2, not a number above 0", "role: budget"),
        (limited(roles={"ann": "5"}), 'roles.ann is "5", not a number', "role: budget"),
        (limited(roles={"ann": {}}), "the allowance of role ann names no limit", "an amount"),
        (limited(roles={"ann": {"bugdet": 5}}), 'unknown key "bugdet"', '"budget"'),
        (limited(roles={"ann": 0.5}), "budget 0.5 is below epsilon 1", "raise the budget"),
        (
            limited(roles={"ann": {"max_charge": 0.5, "budget": 0.2}}),
            "budget 0.2 is below max_charge 0.5",
            "lower max_charge",
        ),
        (
            limited(budget=20, roles={"ann": 30}),
            "budget 30 is above the policy's budget 20",
            "lower it",
        ),
        (
            limited(roles={"ann": {"max_charge": 2}}),
            "max_charge 2 is above the policy's epsilon 1",
            "lower it",
        ),
        (
            limited(max_charge=3, roles={"ann": {"max_charge": 4}}),
            "max_charge 4 is above the policy's max_charge 3",
            "lower it",
        ),
        (
            limited(renewal={"week": 4}, roles={"ann": {"renewal": {"week": 5}}}),
            "renewal.week 5 is above the policy's renewal.week 4",
            "lower it",
        ),
        (
            limited(roles={"ann": {"budget": 5, "renewal": {"week": 6}}}),
            "renewal.week 6 is not below the budget 5",
            "leave it out",
        ),
        (university(roles={"ann": 5}), 'unknown key "roles"', "meant"),
    ],
)
def test_limits_that_make_no_sense(content: dict[str, Any], found: str, hint: str) -> None:
    problem = the_problem(content)
    assert found in problem.found
    assert hint in problem.hint


FILE = """\
tables: {t: {key: [k], columns: {k: integer}}}
policies:
  p:
    entity: t
    epsilon: 1
    budget: 20
    renewal:
      day: 9
      week: 5
    roles:
      ann: 30
      bob:
        renewal:
          month: 0.5
    labels: {t: del}
"""


def test_each_mistake_comes_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(FILE)
    assert [problem.line for problem in problems(path)] == [8, 11, 14]


# ---------------------------------------------------------------- accountants


def test_zcdp_has_a_delta() -> None:
    policy = student(accountant="zcdp", delta=0.000001, budget=20)
    assert (policy.accountant, policy.delta) == ("zcdp", Fraction(1, 10**6))
    assert policy.loss(Fraction(3)) == Fraction(9, 2)
    assert student().loss(Fraction(3)) == 3


@pytest.mark.parametrize(
    ("content", "found", "hint"),
    [
        (limited(accountant="rdp"), 'accountant is "rdp", not pure or zcdp', "delta"),
        (limited(accountant="zcdp"), "accountant zcdp without a delta", "add delta"),
        (limited(delta=0.000001), "a delta without accountant zcdp", "leave delta out"),
        (limited(accountant="zcdp", delta=0), "delta is 0, not a number above 0", "guarantee"),
        (limited(accountant="zcdp", delta=0.1), "delta 0.1 is above 0.001", "members"),
        (
            limited(accountant="zcdp", delta=0.000001, budget=3),
            "budget 3 is below epsilon 1, which is 5.76 at delta 1e-06",
            "raise the budget",
        ),
    ],
)
def test_accountants_that_make_no_sense(content: dict[str, Any], found: str, hint: str) -> None:
    problem = the_problem(content)
    assert found in problem.found
    assert hint in problem.hint


def test_the_policies_of_one_entity_have_one_accountant() -> None:
    content = limited(accountant="zcdp", delta=0.000001)
    second = {**content["policies"]["student"], "accountant": "pure"}
    del second["delta"]
    content["policies"]["second"] = second
    problem = the_problem(content)
    assert problem.found == "accountant pure, where policy student has zcdp"
