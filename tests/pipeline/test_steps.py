"""Timestamps and dates as bins: in the steps that a key tells apart, between the ends of a public range."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import dp4sql
from dp4sql.errors import NoBins
from dp4sql.pipeline import Pipeline

TIME = datetime.datetime
SPAN = ["2020-03-15 06:30:00", "2020-05-20 12:00:00"]
POLICY = {
    "dp4sql": 1,
    "tables": {
        "visit": {
            "key": ["id"],
            "columns": {
                "id": "integer",
                "day": {"type": "date", "range": ["2020-03-15", "2020-05-20"]},
                "since": {"type": "timestamp", "range": SPAN},
                "zoned": {"type": "timestamptz", "nullable": True, "range": SPAN},
                "free": "timestamp",
            },
        }
    },
    "policies": {"p": {"entity": "visit", "epsilon": 1000, "labels": {"visit": "del"}}},
}
ROWS = """
    CREATE TABLE visit (id INTEGER PRIMARY KEY, day DATE, since TIMESTAMP, zoned TIMESTAMPTZ, free TIMESTAMP);
    INSERT INTO visit SELECT i, CAST(t AS DATE), t, CASE WHEN i % 5 > 0 THEN t AT TIME ZONE 'UTC' END, t
    FROM (SELECT i, TIMESTAMP '2020-03-15 06:30' + INTERVAL (i * 37) MINUTE AS t FROM range(2500) AS r(i))
"""


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    path = tmp_path_factory.mktemp("visits") / "visits.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(ROWS)
    opened = dp4sql.open_pipeline(policy=POLICY, database=f"duckdb:///{path}")
    yield opened
    asyncio.run(opened.close())


def counts(pipeline: Pipeline, keys: str, where: str = "TRUE") -> tuple[list[Any], dict[Any, int]]:
    """What is released, as far as there are rows, and what is there."""
    wanted = ", ".join(str(i + 1) for i in range(keys.count(" & ") + 1))
    sql = f"SELECT {keys.replace(' & ', ', ')}, COUNT(*) FROM visit WHERE {where} GROUP BY {wanted}"
    released = asyncio.run(pipeline.query(sql)).rows
    with duckdb.connect(
        pipeline.backend.identity.removeprefix("duckdb://"), read_only=True
    ) as plain:
        truth = {row[:-1]: row[-1] for row in plain.execute(sql).fetchall()}
    return [(*key, n) for *key, n in released], truth


@pytest.mark.parametrize(
    ("keys", "bins"),
    [
        ("DATE_TRUNC('month', since)", 3),
        ("DATE_TRUNC('week', since)", 11),
        ("DATE_TRUNC('day', since)", 67),
        ("DATE_TRUNC('hour', since)", 1591),
        ("DATE_TRUNC('month', zoned)", 4),
        ("DATE_TRUNC('month', day)", 3),
        ("DATE_TRUNC('month', since)::date", 3),
        ("DATE_TRUNC('day', since + INTERVAL '90 minutes')", 67),
        ("DATE_TRUNC('month', since - INTERVAL '1 month')", 3),
        ("since::date", 67),
        ("EXTRACT(YEAR FROM since) & EXTRACT(MONTH FROM since)", 3),
        ("EXTRACT(MONTH FROM day)", 3),
        ("EXTRACT(MONTH FROM day) & EXTRACT(DOW FROM since)", 21),
        ("DATE_TRUNC('week', since) & EXTRACT(HOUR FROM since)", 258),
        ("DATE_TRUNC('month', since) & since < '2020-04-15 12:00'", 6),
    ],
)
def test_each_row_has_its_bin(visits: Pipeline, keys: str, bins: int) -> None:
    released, truth = counts(visits, keys)
    assert len(released) == bins
    assert {tuple(key): n for *key, n in released if n} == truth


@pytest.mark.parametrize(
    ("where", "bins"),
    [
        ("free >= '2020-04-01' AND free < '2020-04-03'", 2),
        ("free BETWEEN '2020-04-01 12:00' AND '2020-04-03'", 3),
        ("free > '2020-04-01 12:00' AND free < '2020-04-03 00:00:01'", 3),
        # A condition that is met within some days is no reason to leave these out.
        ("free BETWEEN '2020-04-01' AND '2020-04-03' AND EXTRACT(HOUR FROM free) > 3", 3),
        ("free BETWEEN '2020-04-01' AND '2020-04-30' AND EXTRACT(DOW FROM free) = 1", 4),
    ],
)
def test_the_query_may_give_the_range(visits: Pipeline, where: str, bins: int) -> None:
    released, truth = counts(visits, "DATE_TRUNC('day', free)", where)
    assert len(released) == bins
    assert {tuple(key): n for *key, n in released if n} == truth


def test_values_are_of_the_columns_type(visits: Pipeline) -> None:
    sql = "SELECT DATE_TRUNC('month', zoned) AS m, COUNT(*) FROM visit GROUP BY 1 ORDER BY 1"
    released = asyncio.run(visits.query(sql))
    assert str(released.columns[0].type) == "timestamp with time zone"
    assert [row[0] for row in released.rows[-2:]] == [TIME(2020, 5, 1, tzinfo=datetime.UTC), None]


@pytest.mark.parametrize(
    ("key", "message", "hint"),
    [
        ("DATE_TRUNC('second', since)", "5,722,201 public bins, more than 1,000,000", "coarser"),
        ("since", "none are declared", "DATE_TRUNC('day', since) has bins."),
        ("DATE_TRUNC('day', free)", "none are declared", "beside WHERE free BETWEEN ... AND ..."),
        ("EXTRACT(SECOND FROM since)", "none are declared", "DATE_TRUNC('day', since)"),
    ],
)
def test_what_is_too_fine_is_refused(key: str, message: str, hint: str) -> None:
    with pytest.raises(NoBins) as refused:
        dp4sql.explain(POLICY, f"SELECT {key}, COUNT(*) FROM visit GROUP BY 1")
    assert message in refused.value.message
    assert hint in (refused.value.hint or "")
