"""The harness measures what it says: with next to no noise, private answers are the plain ones."""

from __future__ import annotations

import asyncio
import json
from fractions import Fraction
from pathlib import Path

import pytest

import dp4sql
from benchmarks.paper.queries import QUERIES
from dp4sql.bench.measure import errors, quantiles
from dp4sql.bench.paper import COUNTS
from dp4sql.bench.queries import tpch_queries
from dp4sql.bench.report import markdown
from dp4sql.bench.results import Measured, Results, load
from dp4sql.bench.tpch import run_tpch, unlimited
from dp4sql.cli import main
from dp4sql.data import tpch
from dp4sql.data.shipped import policy_file
from dp4sql.errors import InvalidParameter
from dp4sql.pipeline.preparation import explain
from dp4sql.sql.dialects import DIALECTS, Dialect

ANSWERED = {1, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 19, 22}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("tpch") / "tpch.duckdb"
    tpch.generate(path, "0.01")
    return f"duckdb://{path}"


def measured(database: str, path: Path, epsilon: int) -> Results:
    policies = unlimited(dp4sql.load_policy(policy_file("tpch")), Fraction(epsilon))
    results = load(path, {"epsilon": epsilon})
    asyncio.run(run_tpch(policies, database, 1, results, path, lambda _: None))
    return results


def test_there_are_22() -> None:
    assert [q.name for q in tpch_queries()] == [f"Q{i}" for i in range(1, 23)]


def test_without_noise_the_private_answers_are_the_plain_ones(
    database: str, tmp_path: Path
) -> None:
    results = measured(database, tmp_path / "results.json", 10**15)
    answered = {int(n[1:]): m for n, m in results.queries.items() if m.refused is None}
    assert answered.keys() == ANSWERED
    assert {n: m.errors for n, m in answered.items() if max(m.errors[0], default=0) > 1e-6} == {}
    assert all(m.seconds[0]["read"] > 0 for m in answered.values())


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_what_is_answered_is_answered_on_every_engine(dialect: Dialect) -> None:
    policies = dp4sql.load_policy(policy_file("tpch"))
    for query in (q for q in tpch_queries() if int(q.name[1:]) in ANSWERED):
        assert explain(policies, query.sql, dialect=dialect).reads, query.name


@pytest.fixture(scope="module")
def noisy(database: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("noisy") / "results.json"
    measured(database, path, 1)
    return path


def test_with_noise_they_are_not(noisy: Path) -> None:
    results = load(noisy, {"epsilon": 1})
    # Without a row in the truth there is nothing to compare.
    private = [m.errors[0] for m in results.queries.values() if m.private and any(m.errors)]
    assert len(private) > 10
    assert all(max(run) > 1e-6 for run in private)


def test_a_run_goes_on_where_it_was_cut_short(database: str, noisy: Path) -> None:
    kept = json.loads(noisy.read_text())
    kept["queries"]["Q6"]["seconds"], kept["queries"]["Q6"]["errors"] = [], []
    noisy.write_text(json.dumps(kept))
    again = measured(database, noisy, 1)
    for name, before in kept["queries"].items():
        assert len(again.queries[name].seconds) == (0 if before["refused"] else 1)
        assert name == "Q6" or again.queries[name].seconds == before["seconds"]


def test_another_run_is_not_mixed_in(tmp_path: Path) -> None:
    Results({"epsilon": 1}).save(tmp_path / "results.json")
    with pytest.raises(InvalidParameter, match="another run"):
        load(tmp_path / "results.json", {"epsilon": 2})


def test_errors_are_the_papers() -> None:
    truth = [("a", 100), ("b", 0), ("c", 4)]
    assert errors(truth, [("b", -3), ("a", 90)], 1) == [0.1, 3.0, 1.0]
    assert quantiles([5.0, 1.0, 3.0]) == [1.0, 1.0, 3.0, 5.0, 5.0]


def test_the_page_tells_the_worst_ratio() -> None:
    def run(plain: float, total: float) -> Measured:
        seconds = {"plain": plain, "total": total, "plan": 0.2, "first": total + 0.2}
        return Measured(seconds=[seconds], errors=[[0.1] * 5])

    page = markdown(Results({"scale": 1}, {"Q1": run(0.1, 0.2), "Q2": run(0.1, 0.1)}))
    assert "private / plain time is 1.50 in the median and 2.00 at worst (Q1)" in page
    assert "Of first answers, which have to be planned, it is 3.50 in the median" in page
    assert "| Q1 | 1 | 100.0 | 200.0 | 2.00 | 0.0 | 0.0 | 0.0 | 200.0 | 400.0 | 4.00 |" in page


def test_the_headline_is_of_statements_that_are_planned_already(noisy: Path) -> None:
    for measured in load(noisy, {"epsilon": 1}).queries.values():
        for run in measured.seconds:
            stages = sum(run[stage] for stage in ("charge", "read", "rest"))
            assert run["total"] == pytest.approx(stages)
            assert 0 < run["plan"] < run["first"]


def test_what_was_measured_otherwise_is_not_mixed_in(tmp_path: Path) -> None:
    earlier = {"Q1": Measured(seconds=[{"plain": 0.1, "total": 0.2, "plan": 0.1}])}
    Results({"epsilon": 1}, earlier).save(tmp_path / "results.json")
    with pytest.raises(InvalidParameter, match="an earlier version measured it"):
        load(tmp_path / "results.json", {"epsilon": 1})


def test_the_papers_counts_are_those_of_the_benchmark() -> None:
    assert {q: sql for (figure, q), sql in QUERIES.items() if figure == 10} == COUNTS


def test_the_command(database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "tpch", "--scale", "0.01", "--runs", "1", "--out", str(tmp_path)]
    assert main([*command, "--database", database]) == 0
    assert main([*command, "--database", database, "--epsilon", "2"]) == 1
    said = capsys.readouterr()
    assert "tpch-0.01-duckdb.md" in said.out
    assert "Q2: refused, 42501" in said.err
    assert "--fresh starts anew" in said.err
    page = (tmp_path / "tpch-0.01-duckdb.md").read_text()
    assert "15 of 22 queries are answered" in page
    assert "| Q13 | C | 246 | 85 |" in page
