"""Statements about the university and TPC-H, through dp4sql's own reading, pricing and release."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import yaml

import dp4sql
from benchmarks.certify.synthetic import Rates, mean
from dp4sql.backends import Backend, open_backend
from dp4sql.data import tpch, university
from dp4sql.mechanisms.calls import Arguments, Environment
from dp4sql.mechanisms.certify.price import price
from dp4sql.mechanisms.certify.release import release
from dp4sql.mechanisms.certify.report import Batch, batches, plan
from dp4sql.mechanisms.certify.request import read_request
from dp4sql.policy.labels import PolicySet
from dp4sql.sql.dialects import DIALECTS

POLICIES: Final = Path(__file__).parents[2] / "policies"
EPSILONS: Final = [Fraction(e) for e in (1, 4, 10, 20)]
DRAWS: Final = 5

GRADES: Final[Mapping[str, Any]] = {
    "text": "At least {theta} of the enrolments in {title} are graded {grade} or more.",
    "population": "SELECT e.* FROM enrollment e JOIN section s USING (sid) WHERE s.title = {title}",
    "predicate": "grade >= {grade}",
    "slots": {
        "title": {"public_query": "SELECT DISTINCT title FROM section ORDER BY title"},
        "grade": {"values": [70, 80]},
    },
    "theta": [0.3, 0.5, 0.7],
}
MAJORS: Final[Mapping[str, Any]] = {
    "text": "At least {theta} of students major in {major}.",
    "population": "SELECT * FROM student",
    "group_by": "major",
    "theta": [0.05, 0.1, 0.15],
}
ORDERS: Final[Mapping[str, Any]] = {
    "text": "At least {theta} of orders cost {price} or more and have priority {priority}.",
    "population": "SELECT * FROM orders",
    "predicate": "o_totalprice >= {price} AND o_orderpriority = {priority}",
    "slots": {
        "price": {"values": [50000, 100000, 150000, 200000]},
        "priority": {"values": ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]},
    },
    "theta": [0.05, 0.1, 0.15],
}
CUSTOMERS: Final[Mapping[str, Any]] = {
    "text": "At least {theta} of customers are of {segment} with a balance of {balance} or more.",
    "population": "SELECT * FROM customer",
    "predicate": "c_mktsegment = {segment} AND c_acctbal >= {balance}",
    "slots": {
        "segment": {"values": ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]},
        "balance": {"values": [0, 4000]},
    },
    "theta": [0.05, 0.1, 0.15],
}


@dataclass(frozen=True)
class Case:
    name: str
    policy: str
    template: Mapping[str, Any]
    arguments: Arguments


CASES: Final = [
    Case("university, grades by title", "university", GRADES, {"margin": "exact"}),
    Case("university, grades by title, in steps", "university", GRADES, {"margin": "threshold"}),
    Case("university, majors (private size)", "university", MAJORS, {}),
    Case("TPC-H, prices of orders", "tpch", ORDERS, {"margin": "exact"}),
    Case("TPC-H, prices of orders, in steps", "tpch", ORDERS, {"margin": "threshold"}),
    Case("TPC-H, balances of customers (private size)", "tpch", CUSTOMERS, {}),
]


@dataclass(frozen=True)
class Row:
    case: str
    statements: int
    measured: int
    sensitivity: int
    supported: float
    found: Mapping[Fraction, Rates]


class Forgetful:
    """Keeps no answers: each release draws anew."""

    def find(self, key: str) -> None:
        return None

    def keep(self, key: str, content: str) -> None: ...

    def note(self, key: str, *, role: str, purpose: str, reused: bool) -> None: ...


def databases() -> Iterator[Row]:
    with TemporaryDirectory() as folder, asyncio.Runner() as runner:
        university.generate(Path(folder) / "university.duckdb")
        tpch.generate(Path(folder) / "tpch.duckdb", "0.01")
        for case in CASES:
            backend = open_backend(f"duckdb://{folder}/{case.policy}.duckdb")
            yield runner.run(_certified(case, backend))
            runner.run(backend.close())


def _policies(case: Case) -> PolicySet:
    content = yaml.safe_load((POLICIES / f"{case.policy}.yaml").read_text(encoding="utf-8"))
    content["certify"] = {"templates": {"it": dict(case.template)}}
    return dp4sql.load_policy(content)


async def _certified(case: Case, backend: Backend) -> Row:
    policies = _policies(case)
    request = read_request(policies, {"template": "it", **case.arguments})
    found: dict[Fraction, Rates] = {}
    for epsilon in EPSILONS:
        allowed = {p.name: epsilon for p in policies.policies}
        env = Environment(
            policies, allowed, DIALECTS[backend.dialect], "", "", backend.fetch, Forgetful()
        )
        made = await batches(env, plan(policies, request))
        cost = price(policies, allowed, request, made)
        true = np.array(await _supported(env, made))
        runs = [await release(env, request, cost) for _ in range(DRAWS)]
        found[epsilon] = mean(
            [_rates(np.array([o.verdict.emitted for o in run]), true) for run in runs]
        )
    moved = max(max(b.support.values()) for b in made)
    return Row(case.name, len(true), len(made), moved, float(true.mean()), found)


async def _supported(env: Environment, made: list[Batch]) -> list[bool]:
    """From the exact integers, which nobody but a benchmark may see."""
    found = []
    for batch in made:
        exact = await batch.integers(env)
        found += [s.excess(exact[s.coordinate]) >= 1 for s in batch.statements]
    return found


def _rates(emitted: np.ndarray, true: np.ndarray) -> Rates:
    return Rates(
        float(emitted.mean()),
        float(emitted[~true].mean()) if not true.all() else 0.0,
        float(emitted[true].mean()) if true.any() else 0.0,
    )
