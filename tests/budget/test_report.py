"""What a curator sees of the ledger fits a terminal and is exact where it is exported."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from dp4sql.budget import report
from dp4sql.budget.cost import Charge
from dp4sql.budget.entry import Entry
from dp4sql.budget.ledger import Ledger
from dp4sql.policy.labels import Allowance
from tests.budget.test_policies import policy

LONG = "SELECT COUNT(*)\n  FROM student JOIN enrollment USING (uid)\n  WHERE grade > 90 AND major = 'CS'"
DATABASE = "duckdb:///a/rather/long/path/to/university.duckdb"


@pytest.fixture
def entries(tmp_path: Path) -> list[Entry]:
    ledger = Ledger(tmp_path / "ledger")
    database = DATABASE
    ledger.open_accounts([policy("student"), policy("p", "person")], database=database)
    charges = [
        (Charge("student", "student", Fraction(1, 3), None), LONG),
        (Charge("student", "student", Fraction(1, 2), None), "SELECT 1"),
        (Charge("p", "person", Fraction(2), None, "u1"), "SELECT 2"),
        (Charge("student", "student", Fraction(1, 3), None), LONG),
    ]
    for i, (charge, statement) in enumerate(charges):
        query = ledger.charge([charge], database=database, role="ann", statement=statement)
        if i != 1:
            ledger.close_query(query, "answered", database=database, role="ann")
    return ledger.entries()


def test_tables_fit_80_columns(entries: list[Entry]) -> None:
    for table in (
        report.accounts(entries, DATABASE),
        report.queries(entries),
        report.top(entries),
    ):
        assert max(map(len, table.text().splitlines())) <= 80


def test_accounts_show_what_was_spent_and_the_budget(entries: list[Entry]) -> None:
    _, *lines = report.accounts(entries, DATABASE).text().splitlines()
    assert [line.split() for line in lines] == [
        ["p", "person", "0", "20", "0"],
        ["p", "u1", "2", "20", "1"],
        ["student", "student", "~1.1667", "20", "3"],
    ]


def test_queries_that_were_cut_short_show(entries: list[Entry]) -> None:
    _, *lines = report.queries(entries).text().splitlines()
    assert ["cut short" in line for line in lines] == [False, True, False, False]


def test_the_costliest_statements_come_first(entries: list[Entry]) -> None:
    _, *lines = report.top(entries, 2).text().splitlines()
    assert [line.split()[:4] for line in lines] == [
        ["p", "ann", "2", "1"],
        ["student", "ann", "~0.6667", "2"],
    ]


def test_records_are_exact(entries: list[Entry]) -> None:
    (last,) = report.queries(entries, most=1).records()
    assert (last["epsilon"], last["statement"]) == ("1/3", LONG)
    assert report.queries(entries, role="bob").rows == []
    assert report.queries(entries, most=0).rows == []


def test_allowances_show_what_counts_towards_each(tmp_path: Path) -> None:
    limited = replace(
        policy("p"),
        renewal={"day": Fraction(5), "month": Fraction(9)},
        roles={
            "ann": Allowance(Fraction(3)),
            "public": Allowance(None, None, {"week": Fraction(2)}),
        },
    )
    ledger = Ledger(tmp_path / "ledger")
    ledger.open_accounts([limited], database="db")
    for role, epsilon in (("ann", 2), ("bob", 1), ("bob", Fraction(1, 2))):
        due = Charge("p", "student", Fraction(epsilon), None)
        ledger.charge([due], database="db", role=role, statement="")
    _, *lines = report.allowances(ledger, ledger.entries(), "db").text().splitlines()
    assert [line.split() for line in lines] == [
        ["p", "all", "today", "3.5", "5"],
        ["p", "all", "this", "month", "3.5", "9"],
        ["p", "ann", "ever", "2", "3"],
        ["p", "bob", "ever", "1.5", "no", "limit"],
        ["p", "bob", "this", "week", "1.5", "2"],
    ]


def test_the_export_is_exact(entries: list[Entry]) -> None:
    found = [json.loads(line) for line in report.export(entries)]
    assert [f["epsilon"] for f in found if f["kind"] == "charge"] == ["1/3", "1/2", "2", "1/3"]
    assert found[-2]["total"] == "7/6"
    assert found[-2]["statement"] == LONG
