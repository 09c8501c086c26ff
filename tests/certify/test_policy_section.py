"""Mistakes in the certify: section, each by its line."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import dp4sql
from dp4sql.errors import PolicyError
from tests.certify.toys import POLICY

MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "threshold": ({"theta": 1.2}, "theta is 1.2, not from 0.000001 to 1, with 6 decimals at most"),
    "no threshold": ({"theta": []}, "theta is [], not a list of at least 1"),
    "no predicate": ({"predicate": None}, "no predicate"),
    "unknown key": ({"predicat": "x"}, 'unknown key "predicat"'),
    "unknown slot": ({"predicate": "score = {x}"}, "there is no slot {x}"),
    "unknown field": ({"predicate": "score = {band.low}"}, "{band.low} is no field"),
    "quoted slot": (
        {"population": "SELECT * FROM visit WHERE kind = '{k.name}'"},
        "a slot inside quotes",
    ),
    "unused slot": (
        {"slots": POLICY["certify"]["templates"]["scores"]["slots"] | {"u": {"values": [1]}}},
        'slot "u" is not used',
    ),
    "two sources": (
        {"slots": {"k": {"values": ["x"], "public_query": "SELECT 1"}, "band": {"values": [1]}}},
        "a slot with values and public_query",
    ),
    "different fields": (
        {"slots": {"k": {"values": ["x"]}, "band": {"values": [{"lo": 1}, {"hi": 2}]}}},
        "values with different fields",
    ),
    "wrong type": (
        {"slots": {"k": {"values": ["x"], "type": "date"}, "band": {"values": [1]}}},
        "x does not fit the slot",
    ),
}


def problems(changes: dict[str, Any]) -> list[str]:
    policy = copy.deepcopy(POLICY)
    policy["certify"]["templates"]["scores"] |= changes
    with pytest.raises(PolicyError) as caught:
        dp4sql.load_policy(policy)
    return [problem.found for problem in caught.value.problems]


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    changes, found = MISTAKES[name]
    assert any(found in problem for problem in problems(changes))


def test_all_mistakes_come_at_once() -> None:
    found = problems({"predicate": "score = {x}", "text": "{nobody} {k.label}"})
    assert len(found) == 3, found


def test_risks_in_the_defaults() -> None:
    policy = copy.deepcopy(POLICY)
    policy["certify"]["defaults"] |= {"beta": 0.5, "margin": "wide"}
    with pytest.raises(PolicyError) as caught:
        dp4sql.load_policy(policy)
    assert len(caught.value.problems) == 2
