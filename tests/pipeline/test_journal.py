"""Journals hear of each statement; one that cannot be written refuses it; observing reads nothing."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dp4sql
from dp4sql.budget.audit import Audit
from dp4sql.budget.journal import Asked, Outcome
from dp4sql.errors import AuditBroken, BudgetExceeded, Dp4sqlError, PolicyError, Refused
from dp4sql.pipeline import Pipeline
from dp4sql.rows import Released
from dp4sql.settings import Settings

POLICY: dict[str, Any] = {
    "tables": {
        "person": {
            "key": ["id"],
            "rows": 100,
            "columns": {"id": "integer", "city": {"type": "text", "domain": ["Ulm", "Bonn"]}},
        }
    },
    "policies": {
        "person": {"entity": "person", "epsilon": 1, "budget": 3, "labels": {"person": "del"}}
    },
}
COUNT = "SELECT COUNT(*) FROM person"
CITIES = "SELECT city, COUNT(*) FROM person WHERE city = $1 GROUP BY city"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("people") / "people.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE person (id INTEGER, city VARCHAR)")
        db.execute("INSERT INTO person VALUES (1, 'Ulm'), (2, 'Timbuktu')")
    return f"duckdb://{path}"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def pipeline(database: str, tmp_path: Path, log: Path) -> Iterator[Pipeline]:
    opened = dp4sql.open_pipeline(
        policy=POLICY, database=database, ledger=tmp_path / "l", journals=[Audit(log)]
    )
    yield opened
    asyncio.run(opened.close())


def ask(pipeline: Pipeline, sql: str, *parameters: str, **settings: Any) -> Released:
    work = pipeline.query(sql, parameters, Settings(**settings), role="ann")
    return asyncio.run(work)


def records(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_an_answer_has_two_lines(pipeline: Pipeline, log: Path) -> None:
    ask(pipeline, COUNT)
    first, second = records(log)
    assert (first["outcome"], second["outcome"]) == ("asked", "answered")
    assert first["id"] == second["id"]
    for record in (first, second):
        assert (record["role"], record["statement"]) == ("ann", COUNT)
        assert record["charges"] == {"person": "1"}
    assert (first["query"], second["query"]) == (None, 1)


def test_the_derivation_is_the_one_that_explain_tells(pipeline: Pipeline, log: Path) -> None:
    ask(pipeline, COUNT)
    told = dp4sql.explain(POLICY, COUNT).as_json()["derivation_hash"]
    assert {record["derivation"] for record in records(log)} == {told}
    charge = next(entry for entry in pipeline.ledger.entries() if entry.kind == "charge")
    assert charge.derivation == told
    other = "SELECT COUNT(*) FROM person WHERE city = 'Ulm'"
    assert dp4sql.explain(POLICY, other).as_json()["derivation_hash"] != told


def test_parameters_are_logged_and_data_is_not(pipeline: Pipeline, log: Path) -> None:
    ask(pipeline, CITIES, "Ulm")
    assert [record["parameters"] for record in records(log)] == [["Ulm"], ["Ulm"]]
    assert "Timbuktu" not in log.read_text()


def test_a_refusal_has_its_line(pipeline: Pipeline, log: Path) -> None:
    for sql, error in (("SELECT city FROM person", Refused), ("SELECT FROM FROM", Dp4sqlError)):
        with pytest.raises(error):
            ask(pipeline, sql)
        (record,) = records(log)[-1:]
        assert (record["outcome"], record["statement"]) == ("refused", sql)
        assert record["charges"] == {}
        assert record["sqlstate"] != "XX000"
    assert len(records(log)) == 2


def test_a_spent_budget_is_a_refusal(pipeline: Pipeline, log: Path) -> None:
    for _ in range(3):
        ask(pipeline, COUNT, reuse="off")
    with pytest.raises(BudgetExceeded):
        ask(pipeline, COUNT, reuse="off")
    last = records(log)[-1]
    assert (last["outcome"], last["query"], last["sqlstate"]) == ("refused", None, "53400")


def test_a_failure_after_the_charge_says_so(
    pipeline: Pipeline, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise asyncio.CancelledError

    asyncio.run(pipeline.start())
    monkeypatch.setattr(pipeline.backend, "read", killed)
    with pytest.raises(asyncio.CancelledError):
        ask(pipeline, COUNT)
    last = records(log)[-1]
    assert (last["outcome"], last["query"], last["error"]) == ("failed", 1, "CancelledError")


@pytest.mark.faults("the audit log cannot be written")
def test_what_cannot_be_logged_is_refused_and_not_charged(database: str, tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    pipeline = dp4sql.open_pipeline(
        policy=POLICY, database=database, ledger=tmp_path / "l", journals=[Audit("/dev/full")]
    )
    with pytest.raises(AuditBroken, match="No space left on device"):
        ask(pipeline, COUNT)
    assert [entry.kind for entry in pipeline.ledger.entries()] == ["open"]
    asyncio.run(pipeline.close())


def test_a_log_that_was_moved_away_goes_on_in_a_new_file(tmp_path: Path, log: Path) -> None:
    audit = Audit(log)
    audit.priced(Asked("ann", "one"))
    os.rename(log, tmp_path / "old")
    audit.priced(Asked("ann", "two"))
    audit.reopen()
    audit.priced(Asked("ann", "three"))
    assert [r["statement"] for r in records(tmp_path / "old")] == ["one", "two"]
    assert [r["statement"] for r in records(log)] == ["three"]


def test_there_has_to_be_a_place_for_the_log(tmp_path: Path) -> None:
    with pytest.raises(AuditBroken, match="cannot be opened"):
        Audit(tmp_path / "none" / "log")


# ---------------------------------------------------------------- observing


class Heard:
    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []

    def priced(self, asked: Asked) -> None:
        pass

    def ended(self, asked: Asked, outcome: Outcome, error: BaseException | None) -> None:
        self.outcomes.append(outcome)


@pytest.mark.parametrize("sql", [COUNT, "SELECT city, COUNT(*), MIN(id) FROM person GROUP BY city"])
def test_observing_prices_and_reads_nothing(
    database: str, tmp_path: Path, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "MIN" in sql:
        POLICY["tables"]["person"]["columns"]["id"] = {"type": "integer", "range": [1, 100]}
    heard = Heard()
    pipeline = dp4sql.open_pipeline(
        policy=POLICY, database=database, ledger=tmp_path / "l", journals=[heard], observe=True
    )
    asyncio.run(pipeline.start())

    def read(*_: object) -> None:
        raise AssertionError("something was read")

    monkeypatch.setattr(pipeline.backend, "read", read)
    released = ask(pipeline, sql)
    assert released.rows == []
    assert [column.name for column in released.columns][-1] in ("count", "min")
    told = "\n".join(released.notices)
    assert "noise scale" in told
    assert "rows are withheld" in told
    assert "it would charge 1 to policy person" in told
    assert heard.outcomes == ["observed"]
    assert pipeline.ledger.entries() == []
    asyncio.run(pipeline.close())


# ---------------------------------------------------------------- the schema


@pytest.mark.parametrize("changed", [{"city": "integer"}, {"street": "text"}])
def test_no_query_runs_on_a_database_that_is_another(
    database: str, tmp_path: Path, changed: dict[str, Any]
) -> None:
    person = POLICY["tables"]["person"]
    other = {**POLICY, "tables": {"person": {**person, "columns": {"id": "integer", **changed}}}}
    pipeline = dp4sql.open_pipeline(policy=other, database=database, ledger=tmp_path / "l")
    with pytest.raises(PolicyError, match=next(iter(changed))):
        ask(pipeline, COUNT)
    assert pipeline.ledger.entries() == []
    asyncio.run(pipeline.close())
