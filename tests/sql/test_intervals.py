"""Interval literals: read as Postgres reads them, and never cut short."""

from __future__ import annotations

import pytest

from dp4sql.algebra.expr import Interval_
from dp4sql.errors import SyntaxError_, Unsupported
from dp4sql.sql.intervals import interval
from dp4sql.sql.parse import parse

HOUR = 3_600_000_000


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("90", "DAY", Interval_(0, 90, 0)),
        ("90", None, Interval_(0, 0, 90_000_000)),
        ("1 02:00", None, Interval_(0, 1, 2 * HOUR)),
        ("1 days 7200.000000 seconds", None, Interval_(0, 1, 2 * HOUR)),
        ("1.5 years", None, Interval_(18, 0, 0)),
        ("1 quarter", None, Interval_(3, 0, 0)),
        ("-1 mons +2 days", None, Interval_(-1, 2, 0)),
    ],
)
def test_text(text: str, unit: str | None, expected: Interval_) -> None:
    assert interval(text, unit) == expected


@pytest.mark.parametrize("text", ["", "day", "3 parsecs", "999999999999 years", "1:2:3:4"])
def test_no_interval(text: str) -> None:
    with pytest.raises(ValueError, match="interval"):
        interval(text)


@pytest.mark.parametrize("text", ["'1.5' DAY", "'1:30' MINUTE", "'1 day 5 hours' DAY"])
def test_what_postgres_would_cut_to_whole_units_is_refused(text: str) -> None:
    with pytest.raises((Unsupported, SyntaxError_)):
        parse(f"SELECT count(*) FROM t WHERE d > now() - INTERVAL {text}")
    parse("SELECT count(*) FROM t WHERE d > now() - INTERVAL '90' DAY")


@pytest.mark.parametrize("text", ["1 day 02:00", "1 year ago", "P1M", "@ 1 day"])
def test_what_the_parser_would_cut_short_is_refused(text: str) -> None:
    sql = f"SELECT count(*) FROM t WHERE d > now() - INTERVAL '{text}'"
    with pytest.raises(Unsupported) as caught:
        parse(sql)
    assert caught.value.position == sql.index("'") + 1
    assert f"'{text}'::interval" in str(caught.value.hint)


def test_whole_literals_pass() -> None:
    for text in ("INTERVAL '3 months'", "INTERVAL '90' DAY", "INTERVAL '1 year 2 days'"):
        parse(f"SELECT {text}")
    parse("SELECT 'interval', '1 day 02:00'")
