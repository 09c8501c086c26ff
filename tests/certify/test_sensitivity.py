"""D is the engine's: what certify reads has the bounds of the plain count, under every policy."""

from __future__ import annotations

from pathlib import Path

import pytest

import dp4sql
from dp4sql.mechanisms.certify.report import plan
from dp4sql.mechanisms.certify.request import read_request

POLICIES = Path(__file__).resolve().parents[2] / "policies"
CASES: dict[tuple[str, str, str], dict[str, int]] = {
    ("university", "SELECT * FROM enrollment", "grade >= 90"): {"student": 6, "faculty": 0},
    (
        "university",
        "SELECT e.grade, f.age FROM enrollment e JOIN section s USING (sid) JOIN faculty f USING (fid)",
        "grade >= 80 AND age > 50",
    ): {"student": 6, "faculty": 60},
    (
        "university",
        "SELECT uid FROM student",
        "uid IN (SELECT uid FROM enrollment WHERE grade >= 90)",
    ): {},
    (
        "university",
        "SELECT fid, salary FROM faculty WHERE age > 60",
        "EXISTS (SELECT 1 FROM section s WHERE s.fid = population.fid) AND salary > 100000",
    ): {"student": 0, "faculty": 1},
    (
        "university",
        "SELECT e.* FROM enrollment e JOIN (SELECT sid FROM section WHERE title = 'Ethics') x USING (sid)",
        "review >= 4 AND grade < 60",
    ): {"student": 6},
    ("tpch", "SELECT * FROM orders", "o_totalprice > 100000"): {"customer": 41, "supplier": 0},
    (
        "tpch",
        "SELECT c_custkey, c_acctbal FROM customer JOIN nation ON n_nationkey = c_nationkey",
        "c_acctbal > 0 AND EXISTS (SELECT 1 FROM orders o WHERE o.o_custkey = population.c_custkey)",
    ): {},
    (
        "tpch",
        "SELECT * FROM lineitem",
        "l_quantity > (CASE WHEN l_discount > 0.05 THEN 20 ELSE 30 END)",
    ): {},
}


@pytest.mark.parametrize("case", CASES)
def test_the_bounds_are_those_of_the_count(case: tuple[str, str, str]) -> None:
    name, population, predicate = case
    policies = dp4sql.load_policy(POLICIES / f"{name}.yaml")
    given = {
        "statement": "it", "population": population, "predicate": predicate, "theta": "0.1"
    }  # fmt: skip
    planned = plan(policies, read_request(policies, given))
    count = f"SELECT COUNT(*) FROM ({population}) AS population WHERE {predicate}"
    (plain,) = dp4sql.explain(policies, count).aggregates
    assert planned.count.bounds == plain.bounds
    assert any(planned.count.bounds.values())
    assert planned.count.bounds.items() >= CASES[case].items()
    (size,) = dp4sql.explain(
        policies, f"SELECT COUNT(*) FROM ({population}) AS population"
    ).aggregates or [None]
    assert planned.private_population == (size is not None and any(size.bounds.values()))
