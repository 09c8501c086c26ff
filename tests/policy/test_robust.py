"""Whatever a file holds, loading ends in a policy or in a PolicyError that names places in it."""

from __future__ import annotations

import copy
import random
from decimal import Decimal
from typing import Any

import pytest

from dp4sql.errors import PolicyError, Problem
from dp4sql.policy import load_policy
from dp4sql.policy.source import read

from .support import ROOT, UNIVERSITY

JUNK: list[Any] = [
    None,
    True,
    0,
    -1,
    2**70,
    Decimal("0.5"),
    float("nan"),
    "",
    "uid",
    "student",
    "all",
    "del",
    "rep",
    "a.b.c",
    [],
    [[]],
    ["uid", "uid"],
    [None],
    {},
    {"rep": "all"},
    {"": None},
    {"type": "date", "range": ["x", 1], "domain": [[]]},
    {"from": 5, "to": 1},
    [{"columns": ["uid"], "references": "student"}, 5],
    [{"columns": [], "rows": 0}],
]


def places(content: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = content.items() if isinstance(content, dict) else enumerate(content)
    found = []
    for step, inner in items:
        found.append((*above, step))
        if isinstance(inner, dict | list):
            found += places(inner, (*above, step))
    return found


def mutate(rng: random.Random, content: Any) -> None:
    """Replace, remove or add an entry somewhere, or move one entry's value to another place."""
    *above, last = rng.choice(places(content))
    here = content
    for step in above:
        here = here[step]
    match rng.randrange(4):
        case 0:
            here[last] = copy.deepcopy(rng.choice(JUNK))
        case 1:
            del here[last]
        case 2 if isinstance(here, dict):
            here[rng.choice(["uid", "range", "rows", "x y", "sales.x", "key"])] = here[last]
        case _:
            here[last] = copy.deepcopy(rng.choice(JUNK))


@pytest.mark.parametrize("seed", range(8))
def test_mutated_content_never_crashes(seed: int) -> None:
    rng = random.Random(seed)
    whole = [UNIVERSITY, read(ROOT / "policies" / "university.yaml").content]
    refused = 0
    for _ in range(40):
        content = copy.deepcopy(rng.choice(whole))
        for _ in range(rng.randint(1, 4)):
            mutate(rng, content)
        refused += len(problems_of(content)) > 0
    assert 0 < refused <= 40


def problems_of(content: Any) -> tuple[Problem, ...]:
    """The problems of `content`, each with something to say; none where it loads."""
    try:
        load_policy(content)
    except PolicyError as error:
        return tuple(problem for problem in error.problems if problem.found and problem.hint)
    return ()
