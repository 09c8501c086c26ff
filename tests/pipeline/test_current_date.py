"""CURRENT_DATE and NOW(): constants of one statement by the clock of its session, and never yesterday's."""

from __future__ import annotations

import asyncio
import datetime
import zoneinfo
from decimal import Decimal
from fractions import Fraction

import pytest

from dp4sql.algebra.expr import Lit
from dp4sql.algebra.types import TIMESTAMPTZ
from dp4sql.errors import Unsupported
from dp4sql.infer.ranges import number
from dp4sql.pipeline import Pipeline
from dp4sql.pipeline.preparation import prepare
from dp4sql.rows import Released
from dp4sql.sql.lower.expressions.moments import converted, fixed, part, truncated

PASSED = "SELECT COUNT(*) FROM enrollment WHERE grade >= 3 * EXTRACT(DAY FROM CURRENT_DATE)"
LATE = datetime.datetime(2024, 3, 9, 23, 30, tzinfo=datetime.UTC)
TOKYO = zoneinfo.ZoneInfo("Asia/Tokyo")


def ask(pipeline: Pipeline, sql: str, now: datetime.datetime) -> Released:
    return asyncio.run(pipeline.query(sql, now=now))


def spent(pipeline: Pipeline) -> Fraction:
    return pipeline.ledger.spent(pipeline.backend.identity, "student", "student")


def test_what_is_kept_is_that_of_the_day(loud: Pipeline) -> None:
    """The plan, the answer beside the ledger, and the charge."""
    first = ask(loud, PASSED, LATE)
    charged = spent(loud)
    assert ask(loud, PASSED, LATE.replace(hour=5)).rows == first.rows
    assert spent(loud) == charged > 0
    later = ask(loud, PASSED, LATE + datetime.timedelta(days=20))
    assert spent(loud) == 2 * charged
    (few,), (many,) = later.rows[0], first.rows[0]
    assert few < many
    assert ask(loud, PASSED, LATE).rows == first.rows
    assert spent(loud) == 2 * charged


def test_a_month_of_the_moment_is_a_repeat_until_it_ends(loud: Pipeline) -> None:
    sql = "SELECT COUNT(*) FROM enrollment WHERE grade > EXTRACT(MONTH FROM DATE_TRUNC('month', NOW()))"
    ask(loud, sql, LATE)
    charged = spent(loud)
    ask(loud, sql, LATE + datetime.timedelta(days=2, seconds=7))
    assert spent(loud) == charged
    ask(loud, sql, LATE + datetime.timedelta(days=30))
    assert spent(loud) == 2 * charged


def test_the_clock_of_the_session_decides(loud: Pipeline) -> None:
    sql = "SELECT CURRENT_DATE, NOW()::date, DATE_TRUNC('month', NOW()) = '2024-03-01', COUNT(*) FROM section"
    day = datetime.date(2024, 3, 9)
    assert ask(loud, sql, LATE).rows[0][:3] == (day, day, True)
    next_day = datetime.date(2024, 3, 10)
    assert ask(loud, sql, LATE.astimezone(TOKYO)).rows[0][:2] == (next_day, next_day)


def test_a_moment_is_one_for_a_statement(loud: Pipeline) -> None:
    sql = "SELECT NOW() = CURRENT_TIMESTAMP AND NOW() = TRANSACTION_TIMESTAMP(), NOW() FROM section LIMIT 1"
    ((same, moment),) = ask(loud, sql, LATE).rows
    assert same is True
    assert moment == LATE
    ((later,),) = ask(loud, "SELECT NOW() FROM section LIMIT 1", LATE.replace(minute=31)).rows
    assert later == LATE.replace(minute=31)


def test_describe_and_explain_know_it_too(loud: Pipeline) -> None:
    assert loud.describe(PASSED, now=LATE).columns[0].name == "count"
    here, there = (
        loud.explain(PASSED, now=now, format="json") for now in (LATE, LATE.astimezone(TOKYO))
    )
    assert "27" in here
    assert "30" in there


def test_without_a_moment_it_is_refused(loud: Pipeline) -> None:
    with pytest.raises(Unsupported, match="moment"):
        prepare(loud.policy, PASSED, None)


def test_a_plan_depends_on_no_more_than_it_may() -> None:
    assert fixed("SELECT COUNT(*) FROM student", LATE) is None
    assert fixed("select Current_Date", LATE) == LATE.replace(hour=0, minute=0)
    assert fixed('SELECT "now"()', LATE) == LATE


def test_constant_times_are_computed_as_engines_do() -> None:
    local = LATE.astimezone(TOKYO)
    assert truncated("week", local) == datetime.datetime(2024, 3, 4, tzinfo=TOKYO)
    assert truncated("quarter", datetime.date(2024, 6, 30)) == datetime.datetime(2024, 4, 1)
    assert (part("doy", local), part("isoyear", datetime.date(2021, 1, 3))) == (70, 2020)
    shifted = LATE.astimezone(datetime.timezone(datetime.timedelta(hours=5)))
    assert converted(shifted, TIMESTAMPTZ) == LATE
    assert (
        number(shifted)
        == number(LATE)
        == Fraction(Decimal("19791.979166666666666666")).limit_denominator(10**6)
    )
    assert Lit(LATE, TIMESTAMPTZ) == Lit(shifted, TIMESTAMPTZ)
