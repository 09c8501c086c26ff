"""Ranges of roots and logarithms, so that sums of them are bounded, and the unions that take types from each other."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import dp4sql
from dp4sql.errors import Refused
from dp4sql.mechanisms.stages import Release
from dp4sql.pipeline.preparation import prepare

POLICIES = dp4sql.load_policy(Path(__file__).parents[2] / "policies" / "university.yaml")

#: By the ends of salary, from 30,000 to 250,000.
ENDS = {
    "LN(salary)": (math.log(30_000), math.log(250_000)),
    "LOG(salary)": (math.log10(30_000), math.log10(250_000)),
    "SQRT(salary)": (math.sqrt(30_000), math.sqrt(250_000)),
    "SQRT(salary - 140000)": (0, math.sqrt(110_000)),
    "EXP(age / 25)": (math.exp(1), math.exp(3)),
    "(salary - 140000) * (salary - 140000)": (0, 110_000**2),
}


@pytest.mark.parametrize(("x", "ends"), ENDS.items(), ids=list(ENDS))
def test_a_sum_moves_by_the_range(x: str, ends: tuple[float, float]) -> None:
    plan = prepare(POLICIES, f"SELECT AVG({x}) FROM faculty", ()).plan
    (release,) = (stage for stage in plan.stages if isinstance(stage, Release))
    total = release.measurements[0].quantity
    assert total.kind == "sum"
    low, high = (float(end * total.unit + total.center) for end in (total.low, total.high))
    assert low <= ends[0]
    assert ends[1] <= high
    width = ends[1] - ends[0]
    assert high - low < width * 1.001


@pytest.mark.parametrize("x", ["LN(salary - 30000)", "EXP(salary)", "LN(age - 80)"])
def test_without_an_end_there_is_none(x: str) -> None:
    with pytest.raises(Refused):
        prepare(POLICIES, f"SELECT SUM({x}) FROM faculty", ())
