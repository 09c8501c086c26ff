"""Repeats are free: what was released is shown again, and only then."""

from __future__ import annotations

import asyncio
import datetime
import sqlite3
import subprocess
import sys
import time
import uuid
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import get_args

import pytest

import dp4sql
from dp4sql.algebra.types import Value
from dp4sql.budget.database import Database
from dp4sql.budget.kept import Keeping, KeptAnswers, period
from dp4sql.errors import BudgetExceeded, EngineError, LedgerBroken
from dp4sql.mechanisms.kept import shelf
from dp4sql.mechanisms.kept.stored import Stored, Unkeepable, decode, encode, no_finer
from dp4sql.pipeline import Pipeline
from dp4sql.policy.labels import Allowance
from dp4sql.policy.models import Refreshed
from dp4sql.rows import Released
from dp4sql.settings import Settings
from tests.pipeline.conftest import POLICY

MAJORS = "SELECT major, COUNT(*) AS n FROM student GROUP BY major"


def ask(pipeline: Pipeline, sql: str, *parameters: object, **settings: str) -> Released:
    asked = Settings()
    for name, text in settings.items():
        asked = asked.with_setting(name, text)
    return asyncio.run(pipeline.query(sql, parameters, asked))  # type: ignore[arg-type]


def spent(pipeline: Pipeline) -> dict[str, Fraction]:
    ledger, name = pipeline.ledger, pipeline.backend.identity
    return {p.name: ledger.spent(name, p.entity, p.name) for p in pipeline.policy.policies}


def said(released: Released) -> str:
    return "\n".join(released.notices)


REPEATS = [
    (MAJORS, "select MAJOR,\n count( * ) as how_many from student s group by s.major"),
    (MAJORS, "SELECT major, COUNT(*) FROM student GROUP BY major ORDER BY 2 DESC LIMIT 3"),
    (MAJORS, "SELECT major, 2 * COUNT(*) + 1 FROM student GROUP BY major HAVING COUNT(*) > 10"),
    (
        "SELECT AVG(grade), STDDEV(grade) FROM enrollment",
        "SELECT COUNT(grade), VARIANCE(grade) FROM enrollment",
    ),
    (
        "SELECT MAX(grade), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY grade) FROM enrollment",
        "SELECT MAX(grade), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY grade) + 0 FROM enrollment",
    ),
    (
        "SELECT COUNT(*) FROM student WHERE uid > (SELECT COUNT(*) FROM enrollment WHERE grade > 50)",
        "SELECT COUNT(*) + 1 FROM student WHERE uid > (SELECT COUNT(*) FROM enrollment WHERE grade > 50)",
    ),
]


@pytest.mark.parametrize(("first", "second"), REPEATS)
def test_a_repeat_is_free_and_says_so(pipeline: Pipeline, first: str, second: str) -> None:
    told = said(ask(pipeline, first))
    assert "shown again" not in told
    before = spent(pipeline)
    again = ask(pipeline, second)
    assert spent(pipeline) == before, (told, said(again))
    assert "shown again as released" in said(again)
    assert "charged 1 " not in said(again)
    assert any(before.values())


def test_the_rows_are_the_very_same(pipeline: Pipeline) -> None:
    for sql in (
        MAJORS,
        "SELECT uid, AVG(amount) AS a, COUNT(*) AS n FROM scholarship GROUP BY uid",
        "SELECT grade > 50 AS good, review, SUM(grade) AS s FROM enrollment GROUP BY 1, 2",
    ):
        assert ask(pipeline, sql).rows == ask(pipeline, sql).rows


def test_parameters_are_part_of_the_statement(pipeline: Pipeline) -> None:
    sql = "SELECT COUNT(*) FROM enrollment WHERE grade > $1"
    ask(pipeline, sql, 50)
    assert "shown again" in said(ask(pipeline, sql, 50))
    assert "shown again" in said(ask(pipeline, sql.replace("$1", "50")))
    assert "shown again" not in said(ask(pipeline, sql, 51))


def test_what_is_different_is_charged(pipeline: Pipeline) -> None:
    ask(pipeline, MAJORS)
    for other in (
        "SELECT major, COUNT(*) FROM student WHERE uid > 5 GROUP BY major",
        "SELECT major, COUNT(DISTINCT uid) FROM student GROUP BY major",
        "SELECT COUNT(*) FROM student",
        "SELECT major, COUNT(*) FROM student WHERE major IN ('CS', 'Math') GROUP BY major",
    ):
        assert "shown again" not in said(ask(pipeline, other)), other


def test_less_noise_is_a_new_release_and_more_is_not(pipeline: Pipeline) -> None:
    ask(pipeline, MAJORS, epsilon="0.5")
    whole = ask(pipeline, MAJORS)
    assert "a noisier answer is kept already; this one is new" in said(whole)
    assert spent(pipeline)["student"] == Fraction(3, 2)
    assert ask(pipeline, MAJORS, epsilon="0.5").rows == whole.rows
    assert "noise scale 1," in said(ask(pipeline, MAJORS, epsilon="0.1"))
    assert spent(pipeline)["student"] == Fraction(3, 2)


def test_reuse_off_asks_anew(pipeline: Pipeline) -> None:
    ask(pipeline, MAJORS)
    ask(pipeline, MAJORS, reuse="off", epsilon="0.25")
    assert spent(pipeline)["student"] == Fraction(5, 4)
    assert "noise scale 1," in said(ask(pipeline, MAJORS)), "the less noisy one stays"


def test_a_part_that_was_released_is_not_charged_again(pipeline: Pipeline) -> None:
    inner = "SELECT COUNT(*) FROM enrollment WHERE grade > 50"
    ask(pipeline, inner, epsilon="0.5")
    before = spent(pipeline)["student"]
    both = ask(pipeline, f"SELECT COUNT(*) - ({inner}) FROM student")
    assert spent(pipeline)["student"] - before == Fraction(1, 2)
    assert "a part is shown again" in said(both)


def test_what_depends_on_a_released_value_follows_it(pipeline: Pipeline) -> None:
    """The outer count is another one when the inner value is another one."""
    sql = "SELECT COUNT(*) FROM student WHERE uid > (SELECT COUNT(*) FROM enrollment WHERE grade > 50) / 5"
    ask(pipeline, sql)
    before = spent(pipeline)["student"]
    ask(pipeline, "SELECT COUNT(*) FROM enrollment WHERE grade > 50", reuse="off")
    assert spent(pipeline)["student"] == before + 1
    again = ask(pipeline, sql)
    assert "a part is shown again" in said(again)
    assert spent(pipeline)["student"] == before + 1 + Fraction(1, 2)


def test_what_depends_on_the_same_measurements_otherwise_is_another_question(
    pipeline: Pipeline,
) -> None:
    """VARIANCE and STDDEV are measured alike; what is above the one is not what is above the other."""
    sql = "SELECT COUNT(*) FROM enrollment WHERE grade > (SELECT {}(grade) FROM enrollment)"
    for function in ("STDDEV", "VARIANCE", "VAR_POP"):
        before = spent(pipeline)["student"]
        released = ask(pipeline, sql.format(function))
        assert spent(pipeline)["student"] > before, function
        assert ("a part is shown again" in said(released)) == (function != "STDDEV")
        assert "shown again" in said(ask(pipeline, sql.format(function)))


def test_what_depends_on_counts_that_were_clamped_is_another_question(pipeline: Pipeline) -> None:
    sql = (
        "SELECT COUNT(*) FROM enrollment WHERE grade > (SELECT COUNT(*) FROM student WHERE uid < 0)"
    )
    ask(pipeline, sql)
    before = spent(pipeline)["student"]
    assert "a part is shown again" in said(ask(pipeline, sql, nonnegative="on"))
    assert spent(pipeline)["student"] == before + Fraction(1, 2)
    for clamped in ("on", "off"):
        ask(pipeline, sql, nonnegative=clamped)
    assert spent(pipeline)["student"] == before + Fraction(1, 2)


def test_a_repeat_works_with_an_empty_budget(pipeline: Pipeline) -> None:
    rows = ask(pipeline, MAJORS).rows
    for _ in range(19):
        ask(pipeline, MAJORS, reuse="off")
    with pytest.raises(BudgetExceeded):
        ask(pipeline, MAJORS, reuse="off")
    again = ask(pipeline, MAJORS, max_charge="0.000001")
    assert again.rows == ask(pipeline, MAJORS).rows
    assert len(again.rows) == len(rows)


def test_new_data_is_asked_anew(pipeline: Pipeline) -> None:
    ask(pipeline, MAJORS)
    kept = KeptAnswers(pipeline.ledger.where)
    kept.bump(pipeline.backend.identity, "new term")
    kept.close()
    assert "shown again" not in said(ask(pipeline, MAJORS))
    assert "shown again" in said(ask(pipeline, MAJORS))
    assert spent(pipeline)["student"] == 2


def test_data_that_is_refreshed_is_asked_anew_in_each_period() -> None:
    evening, night = (
        datetime.datetime(2026, 12, 31, 23, 30, tzinfo=datetime.UTC),
        datetime.datetime(2027, 1, 1, 0, 30, tzinfo=datetime.UTC),
    )
    there = night.astimezone(datetime.timezone(datetime.timedelta(hours=-5)))
    assert period("daily", there) == period("daily", night) == "2027-01-01"
    changes = {r: period(r, evening) != period(r, night) for r in (None, *get_args(Refreshed))}
    assert changes == {None: False, "hourly": True, "daily": True, "weekly": False, "monthly": True}


def test_the_policy_file_says_how_often(pipeline: Pipeline) -> None:
    ask(pipeline, MAJORS)
    pipeline = pipeline.renewed(replace(pipeline.policy, refreshed="monthly"))
    assert "shown again" not in said(ask(pipeline, MAJORS))
    # The second is asked anew, too, where a month has just begun.
    assert any("shown again" in said(ask(pipeline, MAJORS)) for _ in range(2))


def test_a_role_with_an_allowance_is_shown_its_own_answers_alone(pipeline: Pipeline) -> None:
    """Its allowance bounds what it has been told, so others' answers are not for it."""
    limited = [
        replace(p, roles={"intern": Allowance(Fraction(2))}) for p in pipeline.policy.policies
    ]
    pipeline = pipeline.renewed(replace(pipeline.policy, policies=tuple(limited)))
    answers = [
        said(asyncio.run(pipeline.query(MAJORS, role=role)))
        for role in ("ann", "bob", "intern", "intern")
    ]
    assert ["shown again" in answer for answer in answers] == [False, True, False, True]


def test_another_policy_file_is_asked_anew(database: Path, tmp_path: Path) -> None:
    text = POLICY.read_text().replace("budget: 20 ", "budget: 30 ")
    changed = tmp_path / "changed.yaml"
    changed.write_text(text)
    answers = []
    for policy in (POLICY, changed, POLICY):
        opened = dp4sql.open_pipeline(
            policy=policy, database=f"duckdb:///{database}", ledger=tmp_path / "ledger"
        )
        answers.append(said(ask(opened, MAJORS)))
        asyncio.run(opened.close())
    assert ["shown again" in answer for answer in answers] == [False, False, True]


def test_proxies_that_share_a_ledger_share_its_answers(pipeline: Pipeline, database: Path) -> None:
    other = dp4sql.open_pipeline(
        policy=POLICY, database=f"duckdb:///{database}", ledger=pipeline.ledger.where
    )
    rows = ask(pipeline, MAJORS).rows
    assert ask(other, MAJORS).rows == rows
    asyncio.run(other.close())


def test_what_is_asked_at_once_is_charged_once(pipeline: Pipeline) -> None:
    async def together() -> list[Released]:
        return await asyncio.gather(*(pipeline.query(MAJORS) for _ in range(8)))

    answers = asyncio.run(together())
    assert len({str(answer.rows) for answer in answers}) == 1
    assert spent(pipeline)["student"] == 1


def test_a_failure_leaves_its_turn_to_the_next(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, failed = pipeline.backend.read, []  # type: ignore[attr-defined]

    def once(cursor: object, sql: str) -> object:
        time.sleep(0.05)
        if not failed:
            failed.append(sql)
            raise EngineError("the database could not run the query")
        return read(cursor, sql)

    async def together() -> list[object]:
        asked = (pipeline.query(MAJORS) for _ in range(3))
        return await asyncio.gather(*asked, return_exceptions=True)

    asyncio.run(pipeline.start())
    monkeypatch.setattr(pipeline.backend, "read", once)
    kinds = [type(answer).__name__ for answer in asyncio.run(together())]
    assert sorted(kinds) == ["EngineError", "Released", "Released"]
    assert spent(pipeline)["student"] == 2


def test_keys_are_the_same_in_every_process(pipeline: Pipeline, database: Path) -> None:
    """Python orders sets differently from process to process; what is kept is found all the same."""
    queries = [
        MAJORS,
        "SELECT s.title, e.review, COUNT(*), AVG(grade) FROM enrollment e JOIN section s USING (sid) "
        "JOIN student t USING (uid) WHERE t.major IN ('CS', 'Math') AND s.fid > 3 AND e.review > 2 "
        "GROUP BY s.title, e.review",
        "SELECT uid, COUNT(*) FROM student NATURAL JOIN scholarship GROUP BY uid, major",
    ]
    for sql in queries:
        ask(pipeline, sql)
    script = f"""
import asyncio, dp4sql
opened = dp4sql.open_pipeline(policy={str(POLICY)!r}, database="duckdb:///{database}",
                              ledger={str(pipeline.ledger.where)!r})
for sql in {queries!r}:
    print(any("shown again as" in n for n in asyncio.run(opened.query(sql)).notices))
"""
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.split() == ["True"] * len(queries)


def test_an_answer_that_is_too_large_is_not_kept(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelf, "MOST_ROWS", 7)
    assert "not kept, as it has more than 7 rows" in said(ask(pipeline, MAJORS))
    ask(pipeline, MAJORS)
    assert spent(pipeline)["student"] == 2


def test_every_type_of_key_comes_back_as_it_was() -> None:
    columns: list[tuple[Value, ...]] = [
        (True, None, False),
        (0, -(2**70), None),
        (0.1, float("inf"), -0.0),
        (Decimal("1.10"), Decimal("-0E-5"), None),
        ("", "a\u20ac\x00", None),
        (datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31)),
        (datetime.datetime(2026, 1, 1, 0, 0, 0, 1), datetime.datetime(1, 1, 1), None),
        (datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), None, None),
        (datetime.timedelta(days=-1, microseconds=1), None, None),
        (uuid.UUID(int=5), None, None),
        (None, None, None),
    ]
    kept = Stored("2026", Fraction(12, 127), tuple(columns), (1, -(2**63), 0))
    back = decode(encode(kept))
    assert back == kept
    assert repr(back) == repr(kept)
    for mixed in ((1, "a"), (True, 1), (datetime.time(1),)):
        with pytest.raises(Unkeepable):
            encode(replace(kept, keys=(mixed,)))


@pytest.mark.faults("a release that is kept beside the ledger cannot be read")
@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '["x", "1/0", [], []]', '["x", "1", [["int", [1]]], []]']
)
def test_what_cannot_be_read_is_asked_anew(pipeline: Pipeline, content: str) -> None:
    ask(pipeline, MAJORS)
    keeping = pipeline._shelves.keeping()
    with sqlite3.connect(pipeline.ledger.where) as db:
        keeping.own = {key: content for (key,) in db.execute("SELECT key FROM answers")}
    pipeline.ledger.close_query(None, "answered", database="", role="", keeping=keeping)
    assert "shown again" not in said(ask(pipeline, MAJORS))
    assert "shown again" in said(ask(pipeline, MAJORS))


@pytest.mark.faults("it is not shown again")
def test_an_answer_that_was_changed_is_asked_anew(pipeline: Pipeline) -> None:
    ask(pipeline, MAJORS)
    with sqlite3.connect(pipeline.ledger.where) as db:
        db.execute("UPDATE answers SET content = content || ' '")
    assert "shown again" not in said(ask(pipeline, MAJORS))
    assert "shown again" in said(ask(pipeline, MAJORS))
    assert spent(pipeline)["student"] == 2


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(7, 3), Fraction(10**30, 10**30 - 1)])
def test_a_kept_scale_is_told_without_reading_on(scale: Fraction) -> None:
    text = encode(Stored("2026-01-01T00:00:00.000+00:00", scale, (("[",),), (1,)))
    assert [no_finer(text, scale * f) for f in (Fraction(2, 3), 1, Fraction(4, 3))] == [
        True,
        True,
        False,
    ]
    assert not any(no_finer(other, scale) for other in ("", "[]", '["", "1/0", []]', "[1, 2]"))


@pytest.mark.faults("stays without its end in the ledger: the disk is full")
def test_an_answer_that_cannot_be_kept_is_given(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise LedgerBroken("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(Keeping, "write", full)
        assert "not kept, as the ledger failed" in said(ask(pipeline, MAJORS))
    assert spent(pipeline)["student"] == 1
    assert "shown again" not in said(ask(pipeline, MAJORS))
    assert "shown again" in said(ask(pipeline, MAJORS))


def test_nothing_is_kept_of_a_query_that_fails(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise EngineError("the database could not run the query")

    asyncio.run(pipeline.start())
    with monkeypatch.context() as patch:
        patch.setattr(pipeline.backend, "read", failing)
        with pytest.raises(EngineError) as caught:
            ask(pipeline, MAJORS)
    assert caught.value.detail == (
        "The charge stays, as data may have been read: 1 to policy student."
    )
    ask(pipeline, MAJORS)
    assert spent(pipeline)["student"] == 2


def test_no_release_is_kept_before_its_charge(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the moment of a crash: what is kept was charged."""
    charged: list[Fraction] = []
    write = Keeping.write

    def noted(keeping: Keeping, database: Database, entry: int) -> None:
        charged.append(spent(pipeline)["student"])
        write(keeping, database, entry)

    monkeypatch.setattr(Keeping, "write", noted)
    ask(pipeline, MAJORS)
    assert charged == [1]
