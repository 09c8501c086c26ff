"""The demonstration, end to end: data, proxies, psycopg, what is printed."""

from __future__ import annotations

import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

from dp4sql.budget.cost import Charge
from dp4sql.budget.ledger import Ledger
from dp4sql.demo import QUESTIONS

DEMO = (sys.executable, "-m", "dp4sql", "demo", "--listen", "127.0.0.1:0")


def run(directory: Path) -> str:
    return subprocess.run(
        (*DEMO, "--directory", str(directory)),
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    ).stdout


def test_two_runs_share_data_and_ledger(tmp_path: Path) -> None:
    first, second = run(tmp_path), run(tmp_path)
    for shown in (first, second):
        assert all(question.asks in shown for question in QUESTIONS)
        assert shown.count("noise scale") == 4
        assert shown.count("exact, nothing charged") == 1
        assert "Philosophy" in shown
        assert "At least 10 % of students major in CS." in shown
        assert re.search(r"language +\| copied +\| French", shown)
        assert re.search(r"psql -h 127\.0\.0\.1 -p \d+ -U analyst -d university", shown)
        assert re.search(r"psql -h 127\.0\.0\.1 -p \d+ -U agent_u17 -d people", shown)
    assert first.count("made in") == 3
    assert second.count("there already") == 3
    assert "a stored release (epsilon 4) is shown again" in second
    assert (
        first.partition("\n5. ")[2].splitlines()[:18]
        == second.partition("\n5. ")[2].splitlines()[:18]
    )
    assert "charged 1 to policy student, 19 of 20 left" in first
    assert "nothing is charged for a repeat" in second
    assert {path.suffix for path in tmp_path.iterdir()} <= {".duckdb", ".ledger", ".head"}


def test_a_spent_budget_is_told_and_the_rest_goes_on(tmp_path: Path) -> None:
    database = tmp_path / "university.duckdb"
    charge = Charge("student", "student", Fraction(20), Fraction(20))
    ledger = Ledger(Path(f"{database}.ledger"))
    ledger.charge([charge], database=f"duckdb://{database}", role="", statement="")
    ledger.close()
    shown = run(tmp_path)
    assert "the budget of policy student does not cover this query" in shown
    assert "charged 1 to policy customer" in shown
    assert "exact, nothing charged" in shown
