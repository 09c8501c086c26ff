"""Transactions as a state machine: whatever order the statements come in, the status is Postgres's."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.session.talk import ask
from tests.wire.live import Raw

#: Statement and the tag it answers outside and inside of a transaction; None is an error.
BEGIN = [
    "BEGIN",
    "START TRANSACTION",
    "BEGIN WORK",
    "BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE",
]
END = ["COMMIT", "END", "COMMIT WORK", "END TRANSACTION"]
ABORT = ["ROLLBACK", "ABORT", "ROLLBACK WORK"]


@pytest.mark.parametrize("begin", BEGIN)
@pytest.mark.parametrize("end", END)
def test_a_transaction_begins_and_ends(raw: Raw, begin: str, end: str) -> None:
    assert ask(raw, begin).status == "T"
    assert ask(raw, "SELECT 1").status == "T"
    found = ask(raw, end)
    assert (found.tags, found.status) == (["COMMIT"], "I")


@pytest.mark.parametrize("abort", ABORT)
def test_a_failed_transaction_hears_of_its_end_alone(raw: Raw, abort: str) -> None:
    ask(raw, "BEGIN")
    assert ask(raw, "SELECT nosuch").status == "E"
    for sql in ("SELECT 1", "BEGIN", "SET TIME ZONE 'UTC'", "SAVEPOINT a", "SHOW search_path"):
        found = ask(raw, sql)
        assert (found.state, found.status) == ("25P02", "E")
    found = ask(raw, abort)
    assert (found.tags, found.status) == (["ROLLBACK"], "I")


def test_committing_a_failed_transaction_rolls_it_back(raw: Raw) -> None:
    ask(raw, "BEGIN; SET application_name = 'inside'")
    ask(raw, "SELECT nosuch")
    assert ask(raw, "COMMIT").tags == ["ROLLBACK"]
    assert ask(raw, "SHOW application_name").rows == [[b""]]


@pytest.mark.parametrize(
    ("sql", "warning"), [("COMMIT", "25P01"), ("ROLLBACK", "25P01"), ("BEGIN; BEGIN", "25001")]
)
def test_what_makes_no_sense_is_warned_of(raw: Raw, sql: str, warning: str) -> None:
    assert ask(raw, sql).warned == warning
    ask(raw, "ROLLBACK")


@pytest.mark.parametrize(
    "sql", ["SAVEPOINT a", "RELEASE a", "ROLLBACK TO a", "DECLARE c CURSOR FOR SELECT 1"]
)
def test_what_needs_a_transaction_says_so(raw: Raw, sql: str) -> None:
    assert ask(raw, sql).state in ("25P01", "3B001")


def test_chained_transactions_follow_each_other(raw: Raw) -> None:
    ask(raw, "BEGIN")
    assert ask(raw, "COMMIT AND CHAIN").status == "T"
    assert ask(raw, "ROLLBACK AND CHAIN").status == "T"
    assert ask(raw, "COMMIT AND NO CHAIN").status == "I"


def test_savepoints_nest_shadow_and_release(raw: Raw) -> None:
    steps = [
        ("BEGIN", "", "T"), ("SAVEPOINT a", "", "T"), ("SAVEPOINT a", "", "T"),
        ("SELECT nosuch", "42703", "E"), ("ROLLBACK TO a", "", "T"), ("SELECT 1", "", "T"),
        ("RELEASE a", "", "T"), ("ROLLBACK TO SAVEPOINT a", "", "T"), ("RELEASE SAVEPOINT a", "", "T"),
        ("ROLLBACK TO a", "3B001", "E"), ("SELECT 1", "25P02", "E"), ("ROLLBACK", "", "I"),
    ]  # fmt: skip
    for sql, state, status in steps:
        found = ask(raw, sql)
        assert (sql, found.state, found.status) == (sql, state, status)


def test_several_statements_stop_at_the_first_error(raw: Raw) -> None:
    found = ask(raw, "SELECT 1; SELECT nosuch; SELECT 2")
    assert (found.tags, found.state, found.status) == (["SELECT 1"], "42703", "I")
    assert ask(raw, "SET application_name = 'x'; SELECT 1; RESET ALL").tags == [
        "SET",
        "SELECT 1",
        "RESET",
    ]


class Model:
    """What Postgres's status and application_name would be."""

    def __init__(self) -> None:
        self.status, self.name, self.before = "I", "", ""
        self.saved: list[str] = []

    def step(self, sql: str) -> None:
        word = sql.split()[0]
        if self.status == "E" and not (word == "COMMIT" or word == "ROLLBACK"):
            return
        match sql:
            case "BEGIN":
                if self.status == "I":
                    self.status, self.before = "T", self.name
            case "COMMIT" | "ROLLBACK":
                if self.status != "I" and (sql == "ROLLBACK" or self.status == "E"):
                    self.name = self.before
                self.status, self.saved = "I", []
            case "SAVEPOINT a":
                self._inside(lambda: self.saved.append(self.name))
            case "ROLLBACK TO a":
                self._inside(self._back)
            case "RELEASE a":
                self._inside(lambda: self.saved.pop() if self.saved else self._fail())
            case "SELECT nosuch":
                self._fail()
            case _ if word == "SET":
                self.name = sql.split("'")[1]

    def _inside(self, work) -> None:  # type: ignore[no-untyped-def]
        if self.status != "I":
            work()

    def _back(self) -> None:
        if self.saved:
            self.name, self.status = self.saved[-1], "T"
        else:
            self._fail()

    def _fail(self) -> None:
        if self.status == "T":
            self.status = "E"


STATEMENTS = [
    "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT a", "ROLLBACK TO a", "RELEASE a", "SELECT nosuch",
    "SELECT 1", "SET application_name = 'x'", "SET application_name = 'y'",
]  # fmt: skip


@given(steps=st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=14))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_order_of_statements(raw: Raw, steps: list[str]) -> None:
    ask(raw, "ROLLBACK")
    ask(raw, "RESET ALL")
    model = Model()
    for sql in steps:
        model.step(sql)
        assert ask(raw, sql).status == model.status
    ask(raw, "COMMIT")
    model.step("COMMIT")
    assert ask(raw, "SHOW application_name").rows == [[model.name.encode()]]
