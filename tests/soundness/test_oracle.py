"""A fixed slice of the soak: random worlds, neighbours and SQL against the promised bounds."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from .campaign import Tally, campaign
from .constructs import CONSTRUCTS
from .soak import report


@pytest.fixture(scope="module")
def tally() -> Tally:
    total = Tally()
    for seed in (2606, 7883):
        total.add(campaign(seed, lambda sofar: sofar.tried < 500 and not sofar.violations))
    return total


def test_no_query_moves_further_than_its_bound(tally: Tally) -> None:
    assert not tally.violations, "\n".join(tally.violations)
    assert tally.attained > 0


def test_rendered_sql_answers_what_the_clients_sql_does(tally: Tally) -> None:
    assert not tally.troubles, "\n".join(tally.troubles)
    assert tally.confirmed > 50


def test_every_construct_is_accepted_and_reported(tally: Tally) -> None:
    assert [name for name in CONSTRUCTS if not tally.understood[name]] == []
    assert tally.constructs.keys() <= {*CONSTRUCTS, *RARE}
    lines = list(report(tally))
    assert all(any(line.strip().startswith(name) for line in lines) for name in CONSTRUCTS)
    assert tally.accepted > tally.tried / 2


def test_the_oracle_shares_no_code_with_the_rules() -> None:
    for path in Path(__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert not (node.module or "").startswith("dp4sql.infer"), path
            if isinstance(node, ast.Import):
                assert not any(a.name.startswith("dp4sql.infer") for a in node.names), path


RARE = {"CTE used again", "EXISTS without correlation", "NOT EXISTS without correlation"}
"""Constructs that go beyond what is asked for and that a short slice may miss."""
