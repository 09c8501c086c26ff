"""dp4sql ledger and dp4sql data-version, on a ledger in a file and on one in a Postgres."""

from __future__ import annotations

import json
import sqlite3
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from dp4sql.budget.cost import Charge
from dp4sql.budget.kept import Keeping, KeptAnswers
from dp4sql.budget.ledger import Ledger
from dp4sql.budget.postgres import SCHEMA
from dp4sql.cli import main
from tests.budget.test_policies import policy

DROP = "DROP TRIGGER IF EXISTS entries_no_update; DROP TRIGGER IF EXISTS entries_no_delete;"
DATABASE = "duckdb:///data/university.duckdb"


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A ledger with three charges, the last of them cut short."""
    place = tmp_path / "my.ledger"
    where = str(place) if request.param == "sqlite" else request.getfixturevalue("postgres")
    ledger = Ledger(where)
    ledger.open_accounts([policy("student")], database=DATABASE)
    for i, role in enumerate(("ann", "bob", "ann")):
        due = Charge("student", "student", Fraction(1, i + 1), Fraction(20))
        statement = f"SELECT COUNT(*)\n  FROM student WHERE uid > {i}"
        number = ledger.charge([due], database=DATABASE, role=role, statement=statement)
        if i < 2:
            ledger.close_query(number, "answered", database=DATABASE, role=role)
    ledger.close()
    return where


class Command:
    """Runs the command and keeps what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.out = self.err = ""

    def __call__(self, *arguments: str) -> int:
        code = main(["ledger", *arguments])
        self.out, self.err = self._capsys.readouterr()
        return code


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def test_show_fits_a_terminal_and_tells_what_was_spent(where: str, command: Command) -> None:
    assert command("show", where) == 0
    lines = command.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == DATABASE
    assert lines[2].split() == ["student", "student", "~1.8333", "20", "3"]
    assert [line.split()[-1] for line in lines if line.startswith("20")] != []
    assert command.out.count("cut short") == 1


def test_show_of_one_role_as_exact_json(where: str, command: Command) -> None:
    assert command("show", where, "--role", "ann", "--last", "1", "--json") == 0
    shown = json.loads(command.out)
    (known,) = shown["databases"]
    assert known["accounts"] == [
        {"policy": "student", "whose": "student", "spent": "11/6", "budget": "20", "charges": 3}
    ]
    assert [a["spent"] for a in known["allowances"]] == ["4/3", "1/2"]
    assert [q["epsilon"] for q in shown["queries"]] == ["1/3"]


def test_top_has_the_costliest_first(where: str, command: Command) -> None:
    assert command("top", where, "--most", "2") == 0
    assert [line.split()[2] for line in command.out.splitlines()] == ["epsilon", "1", "0.5"]
    assert command("top", where, "--json") == 0
    assert [found["epsilon"] for found in json.loads(command.out)] == ["1", "1/2", "1/3"]


def test_export_is_a_line_an_entry(where: str, command: Command) -> None:
    assert command("export", where) == 0
    kinds = [json.loads(line)["kind"] for line in command.out.splitlines()]
    assert kinds == ["open", "charge", "answered", "charge", "answered", "charge"]


def test_a_ledger_that_verifies_has_nothing_to_accept(where: str, command: Command) -> None:
    assert command("verify", where) == 0
    assert command.out.startswith("all 6 entries verify, the last of 20")
    assert command("accept", where, "--yes") == 0
    assert "nothing to accept" in command.out


def spoil(where: str, sql: str) -> None:
    if where.startswith("postgresql://"):
        with psycopg.connect(where, options=f"-c search_path={SCHEMA}") as db:
            db.execute("ALTER TABLE entries DISABLE TRIGGER ALL")
            db.execute(sql.encode())
    else:
        with sqlite3.connect(where) as db:
            db.executescript(f"{DROP} {sql}")


def test_missing_entries_are_accepted_by_name_alone(where: str, command: Command) -> None:
    spoil(where, "DELETE FROM entries WHERE id > 4")
    assert command("verify", where) == 1
    assert "its last 2 entries are missing" in command.err
    assert "dp4sql ledger accept" in command.err
    assert command("accept", where) == 1
    assert command("verify", where) == 1
    assert command("accept", where, "--yes") == 0
    assert "goes on with the 4 that are there" in command.err
    assert command("verify", where) == 0
    assert command("export", where) == 0
    assert json.loads(command.out.splitlines()[-1])["kind"] == "accepted"


def test_a_change_is_never_accepted(where: str, command: Command) -> None:
    spoil(where, "UPDATE entries SET epsilon = '1/1000' WHERE id = 2")
    for action in (("verify",), ("show",), ("export",), ("accept", "--yes")):
        assert command(action[0], where, *action[1:]) == 1
        assert "does not verify: entry 2 was changed" in command.err
        assert not command.out
    assert command("export", where, "--unverified") == 0
    assert json.loads(command.out.splitlines()[1])["epsilon"] == "1/1000"


def test_a_change_before_missing_entries_is_not_accepted_with_them(
    where: str, command: Command
) -> None:
    spoil(where, "DELETE FROM entries WHERE id > 4; UPDATE entries SET role = 'eve' WHERE id = 2")
    assert command("accept", where, "--yes") == 1
    assert "entry 2 was changed" in command.err
    spoil(where, "UPDATE entries SET role = 'ann' WHERE id = 2")
    assert command("verify", where) == 1  # the note of the end is as it was
    assert "its last 2 entries are missing" in command.err


def test_there_has_to_be_a_ledger(tmp_path: Path, postgres: str, command: Command) -> None:
    for none in (str(tmp_path / "none.ledger"), postgres):
        for action in ("show", "verify", "export", "top", "prune", "accept"):
            assert command(action, none) == 1
            assert "cannot be opened" in command.err
    assert not (tmp_path / "none.ledger").exists()


@pytest.mark.parametrize("arguments", [(), ("shwo",), ("show",), ("show", "l", "--last", "-1")])
def test_a_wrong_command_line_exits_with_2(arguments: tuple[str, ...], command: Command) -> None:
    with pytest.raises(SystemExit) as caught:
        command(*arguments)
    assert caught.value.code == 2


# ---------------------------------------------------------------- kept answers


@pytest.fixture
def kept(where: str) -> str:
    """Three answers, one of them about older data."""
    ledger, store = Ledger(where), KeptAnswers(where)
    for version, contents in enumerate(({"old": "1"}, {"one": "2", "two": "3" * 1000})):
        keeping = Keeping(store, DATABASE, version, contents)
        ledger.close_query(None, "answered", database=DATABASE, role="ann", keeping=keeping)
    store.bump(DATABASE)
    store.close()
    ledger.close()
    return where


def test_kept_answers_are_shown_and_pruned(kept: str, command: Command) -> None:
    assert command("show", kept) == 0
    assert command.out.endswith("\nkept answers: 3 (1.0 kB), 1 of them about older data\n")
    assert command("prune", kept) == 0
    assert command.out == "dropped 1 kept answers; 2 are left\n"
    assert command("show", kept, "--json") == 0
    assert json.loads(command.out)["kept"] == {"answers": 2, "characters": 1001, "older": 0}
    assert command("prune", kept, "--before", "9999-12-31") == 0
    assert command("verify", kept) == 0
    assert command.out.endswith("\nall 0 kept answers are as they were released\n")


def test_a_kept_answer_that_was_changed_is_told(kept: str, command: Command) -> None:
    assert command("verify", kept) == 0
    spoil(kept, "UPDATE answers SET content = '7' WHERE key = 'one'")
    assert command("verify", kept) == 1
    assert command.err == (
        "1 of 3 kept answers are not as they were released\n"
        "hint: They are not shown again. dp4sql ledger prune drops them.\n"
    )
    assert command("prune", kept) == 0
    assert command("verify", kept) == 0


def test_prune_wants_a_day(where: str, command: Command) -> None:
    with pytest.raises(SystemExit):
        command("prune", where, "--before", "yesterday")


# ---------------------------------------------------------------- data versions


def test_data_versions_are_counted_beside_the_ledger(
    database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = str(tmp_path / "my.ledger")
    common = ("--database", database, "--ledger", ledger)
    for action, version in (("show", 0), ("bump", 1), ("bump", 2), ("show", 2)):
        assert main(["data-version", action, *common]) == 0
        assert capsys.readouterr().out.endswith(f"is at version {version}\n")
    assert KeptAnswers(ledger).data_version(database) == 2
