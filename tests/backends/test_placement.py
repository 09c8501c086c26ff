"""The candidate that a date, a timestamp or a text counts for, on every engine alike."""

from __future__ import annotations

import asyncio
import datetime
from fractions import Fraction

import pytest

from dp4sql.algebra.expr import Call, Col, Lit
from dp4sql.algebra.types import BIGINT, DATE, TEXT, TIMESTAMP, TIMESTAMPTZ, Type
from dp4sql.backends import Backend
from dp4sql.mechanisms.ranks import Grid, texts, times
from dp4sql.mechanisms.reading.placement import place
from dp4sql.rows import OutputColumn
from dp4sql.sql.dialects import DIALECTS
from dp4sql.sql.render.scalars import literal

from .conftest import Run

DAY = Col("day", DATE)
LAST = (Fraction(8035), Fraction(11017))  # 1992-01-01 to 2000-03-01


def month(type: Type) -> Call:
    return Call("date_trunc", (Lit("month", TEXT), Col("moment", type)), type)


def grid(found: Grid | None) -> Grid:
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "type", "among", "wanted"),
    [
        ("day", DATE, grid(times(DAY, LAST)), ["1998-12-01", "1992-01-01", "2000-02-29"]),
        # By three days, the nearest, and the ends of the range.
        (
            "day",
            DATE,
            Grid("day", Fraction(8036), Fraction(3), 800),
            ["1998-07-26", "1992-01-02", "1998-07-26"],
        ),
        (
            "moment",
            TIMESTAMP,
            Grid("microsecond", Fraction(946_684_799_000_000), Fraction(60_000_000), 20_000_000),
            ["2024-02-29 13:29:59", "1999-12-31 23:59:59", "1999-12-31 23:59:59"],
        ),
        (
            "moment",
            TIMESTAMPTZ,
            Grid("microsecond", Fraction(0), Fraction(10), 10**15),
            [
                "2024-02-29 13:30:00.250000+00:00",
                "1999-12-31 23:59:59+00:00",
                "1970-01-01 00:00:00+00:00",
            ],
        ),
        (
            "moment",
            TIMESTAMP,
            grid(times(month(TIMESTAMP), (Fraction(-1000), Fraction(19_000)))),
            ["2022-01-01 00:00:00", "1999-12-01 00:00:00", "1970-01-01 00:00:00"],
        ),
        ("word", TEXT, texts(["it's", "café"], None), ["café", "it's"]),
        ("word", TEXT, texts(["it's", "café"], "else"), ["café", "it's", "else"]),
    ],
)
def test_a_value_counts_for_the_nearest_candidate(
    run: Run, backend: Backend, text: str, type: Type, among: Grid, wanted: list[str]
) -> None:
    dialect = DIALECTS[backend.dialect]
    moment = f"CAST({text} AS {dialect.type_name(type)})"
    number, counted = place(among, Col(text, type), moment, dialect)
    sql = f"SELECT {number} AS n FROM things WHERE {counted} ORDER BY id"
    found = run(asyncio.wait_for(backend.fetch(sql, [OutputColumn("n", BIGINT)]), 120))
    assert [str(among.moment(int(n), type)) for n in found.open_columns()[0]] == wanted


@pytest.mark.parametrize(
    ("unit", "span", "wanted"),
    [
        ("week", ("2024-01-03", "2024-02-01"), ["2024-01-08", "2024-01-15"]),
        ("quarter", ("2024-02-01", "2025-01-01"), ["2024-04-01", "2024-07-01"]),
        (
            "hour",
            ("2024-01-03 00:30", "2024-01-04 00:00"),
            ["2024-01-03 01:00", "2024-01-03 02:00"],
        ),
    ],
)
def test_candidates_are_what_date_trunc_gives(
    unit: str, span: tuple[str, str], wanted: list[str]
) -> None:
    start = datetime.datetime(1970, 1, 1)
    ends = [datetime.datetime.fromisoformat(end) - start for end in span]
    low, high = (
        Fraction(end // datetime.timedelta(microseconds=1), 86_400_000_000) for end in ends
    )
    cut = Call("date_trunc", (Lit(unit, TEXT), Col("moment", TIMESTAMP)), TIMESTAMP)
    among = grid(times(cut, (low, high)))
    expected = [datetime.datetime.fromisoformat(value) for value in wanted]
    assert [among.moment(i, TIMESTAMP) for i in range(2)] == expected


@pytest.mark.parametrize("type", [TIMESTAMP, TIMESTAMPTZ])
def test_steps_of_a_timestamp(run: Run, backend: Backend, type: Type) -> None:
    """From before 1970 to after it; days of other eras, where minutes are 60 seconds, too."""
    dialect, hour = DIALECTS[backend.dialect], 3_600_000_000
    zone = datetime.UTC if type == TIMESTAMPTZ else None
    for first in (-1, 24 * 19_700, -24 * 30_000):
        start = datetime.datetime(1970, 1, 1, tzinfo=zone) + datetime.timedelta(hours=first)
        wanted = [start + datetime.timedelta(hours=i) for i in range(3)]
        among = ", ".join(literal(value, type, dialect) for value in wanted)
        found = dialect.series(first, first + 2, type, hour)
        sql = f"SELECT COUNT(*) AS n FROM ({found}) AS s WHERE c0 IN ({among})"
        column = [OutputColumn("n", BIGINT)]
        ((count,),) = run(asyncio.wait_for(backend.fetch(sql, column), 120)).open_columns()
        assert int(count) == 3
