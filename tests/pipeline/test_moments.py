"""MIN, MAX and percentiles of dates, timestamps and texts of a declared domain."""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import dp4sql
from dp4sql.errors import Dp4sqlError
from dp4sql.pipeline import Pipeline

DAY = datetime.date
TIME = datetime.datetime
POLICY = {
    "dp4sql": 1,
    "tables": {
        "stay": {
            "key": ["id"],
            "rows": 10_000,
            "columns": {
                "id": "integer",
                "day": {"type": "date", "nullable": True, "range": ["2020-01-01", "2023-12-31"]},
                "since": {
                    "type": "timestamp",
                    "range": ["2020-01-01 00:00:00", "2020-12-31 23:59:59"],
                },
                "zoned": {
                    "type": "timestamptz",
                    "range": ["2020-01-01 00:00:00", "2020-01-08 00:00:00"],
                },
                "ward": {"type": "text", "domain": ["b", "A", "c", "Z"]},
                "kind": {"type": "text", "domain": ["x"], "other": "else"},
                "note": "text",
            },
        }
    },
    "policies": {"p": {"entity": "stay", "epsilon": 200, "labels": {"stay": "del"}}},
}
ROWS = """
    CREATE TABLE stay (id INTEGER PRIMARY KEY, day DATE, since TIMESTAMP, zoned TIMESTAMPTZ, ward VARCHAR,
        kind VARCHAR, note VARCHAR);
    INSERT INTO stay SELECT i, CASE WHEN i % 7 > 0 THEN DATE '2021-03-01' + CAST(i % 500 AS INTEGER) END,
        TIMESTAMP '2020-06-01 12:00' + INTERVAL (i % 1000) HOUR,
        TIMESTAMPTZ '2020-01-02 00:00+00' + INTERVAL (i % 1000) MINUTE,
        ['b', 'Z', 'c'][1 + i % 3], ['x', 'y'][1 + i % 2], '' FROM range(7000) AS r(i);
    INSERT INTO stay VALUES (7000, '1900-01-01', '1990-01-01', '1990-01-01', '?', 'x', ''),
        (7001, 'infinity', 'infinity', 'infinity', '', 'x', '')
"""


@pytest.fixture(scope="module")
def stays(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    path = tmp_path_factory.mktemp("stays") / "stays.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(ROWS)
    opened = dp4sql.open_pipeline(policy=POLICY, database=f"duckdb:///{path}")
    yield opened
    asyncio.run(opened.close())


def ask(pipeline: Pipeline, items: str, where: str = "id < 7000") -> tuple[list[str], list[Any]]:
    released = asyncio.run(pipeline.query(f"SELECT {items} FROM stay WHERE {where}"))
    ((*row,),) = released.rows
    return [str(column.type) for column in released.columns], row


STAMP, ZONED = "timestamp without time zone", "timestamp with time zone"


@pytest.mark.parametrize(
    ("item", "type", "value"),
    [
        ("MIN(day)", "date", DAY(2021, 3, 1)),
        ("MAX(day)", "date", DAY(2022, 7, 13)),
        ("MEDIAN(day)", "date", DAY(2021, 11, 6)),
        ("PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY day)", "date", DAY(2021, 7, 4)),
        ("PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY day DESC)", "date", DAY(2022, 3, 11)),
        ("PERCENTILE_DISC(1) WITHIN GROUP (ORDER BY day)", "date", DAY(2022, 7, 13)),
        ("MAX(day) FILTER (WHERE id % 500 < 3)", "date", DAY(2021, 3, 3)),
        ("MAX(day + 1)", "date", DAY(2022, 7, 14)),
        ("MAX(day + INTERVAL '1 day')", STAMP, TIME(2022, 7, 14)),
        ("MIN(day - INTERVAL '1 month')", STAMP, TIME(2021, 2, 1)),
        ("MAX(DATE_TRUNC('month', day))", STAMP, TIME(2022, 7, 1)),
        ("MIN(DATE_TRUNC('quarter', day))", STAMP, TIME(2021, 1, 1)),
        ("MIN(since)", STAMP, TIME(2020, 6, 1, 12)),
        ("MAX(since)", STAMP, TIME(2020, 7, 13, 3)),
        ("APPROX_QUANTILE(since, 0.5)", STAMP, TIME(2020, 6, 22, 6)),
        ("MAX(DATE_TRUNC('week', since))", STAMP, TIME(2020, 7, 13)),
        ("MAX(zoned)", ZONED, TIME(2020, 1, 2, 16, 40, tzinfo=datetime.UTC)),
        ("MIN(ward)", "text", "Z"),
        ("MAX(ward)", "text", "c"),
        ("MIN(kind)", "text", "else"),
        ("MAX(EXTRACT(EPOCH FROM since)) / 3600", "numeric", 442_947),
        ("MAX(day) - MIN(day)", "integer", 499),
    ],
)
def test_with_little_noise_it_is_the_truth(
    stays: Pipeline, item: str, type: str, value: Any
) -> None:
    """As near as candidates lie: by the day, by three hours, by five minutes, by nine hours as a number. A
    quantile between two days may be either."""
    ((found,), (near,)) = ask(stays, item)
    assert found == type
    if isinstance(value, str | int):
        assert near == pytest.approx(value, abs=9) if found == "numeric" else near == value
        return
    exact = "TRUNC" in item or item.startswith(("MIN(day", "MAX(day"))
    near_by = datetime.timedelta(hours=3) if isinstance(value, TIME) else datetime.timedelta(days=1)
    assert abs(near - value) <= (datetime.timedelta(0) if exact else near_by)


def test_values_beyond_the_range_are_its_ends(stays: Pipeline) -> None:
    _, found = ask(stays, "MIN(day), MAX(day), MIN(since), MAX(ward)", "id >= 7000")
    assert found[:3] == [DAY(2020, 1, 1), DAY(2023, 12, 31), TIME(2020, 1, 1)]
    assert found[3] in ("A", "Z", "b", "c"), "what is not in the domain counts for nothing"


def test_a_group_each(stays: Pipeline) -> None:
    released = asyncio.run(
        stays.query(
            "SELECT kind, MAX(day) FROM stay WHERE id BETWEEN 1 AND 4 GROUP BY 1 ORDER BY 1"
        )
    )
    assert released.rows == [("else", DAY(2021, 3, 4)), ("x", DAY(2021, 3, 5))]


@pytest.mark.parametrize(
    ("item", "message", "hint"),
    [
        ("MIN(note)", "over private text values", "declared domain"),
        ("MIN(UPPER(ward))", "over private text values", "declared domain"),
        ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY day)", "does not exist", "PERCENTILE_DISC"),
        ("MAX(CAST(note AS date))", "no declared range", "WHERE x BETWEEN DATE"),
        ("SUM(day)", "does not exist", "numbers"),
    ],
)
def test_what_has_no_candidates_says_so(item: str, message: str, hint: str) -> None:
    with pytest.raises(Dp4sqlError) as refused:
        dp4sql.explain(POLICY, f"SELECT {item} FROM stay")
    assert message in refused.value.message
    assert hint in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("item", "type", "values"),
    [
        ("PERCENTILE_DISC(ARRAY[0, 1]) WITHIN GROUP (ORDER BY day)", "date[]", (DAY(2021, 3, 1), DAY(2022, 7, 13))),
        ("QUANTILE_DISC(ward, [1, 0, 0.5])", "text[]", ("c", "Z", "b")),
        ("PERCENTILE_CONT('{0,1}'::float8[]) WITHIN GROUP (ORDER BY EXTRACT(MONTH FROM day)) FILTER "
         "(WHERE day < '2021-06-01')", "double precision[]", (3.0, 5.0)),
    ],
)  # fmt: skip
def test_an_array_of_fractions(
    stays: Pipeline, item: str, type: str, values: tuple[Any, ...]
) -> None:
    assert ask(stays, f"{item}, COUNT(*)") == ([type, "bigint"], [values, 7000])


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT q + 1 FROM ({}) s",
        "SELECT MAX(q) FROM ({}) s",
        "SELECT DISTINCT q FROM ({}) s",
        "SELECT q FROM ({}) s ORDER BY q",
        "SELECT q, COUNT(*) FROM ({}) s GROUP BY q",
        "SELECT q FROM ({}) s UNION SELECT q FROM ({}) s",
        "SELECT COUNT(*) FROM stay WHERE id > ({})",
        "SELECT a.q FROM ({}) a JOIN ({}) b ON a.q = b.q",
        "SELECT CASE WHEN 1 = 1 THEN q END FROM ({}) s",
    ],
)
def test_nothing_is_computed_from_an_array(sql: str) -> None:
    inner = "SELECT PERCENTILE_CONT(ARRAY[0.5]) WITHIN GROUP (ORDER BY EXTRACT(DAY FROM day)) AS q FROM stay"
    with pytest.raises(Dp4sqlError) as refused:
        dp4sql.explain(POLICY, sql.replace("{}", inner))
    assert refused.value.sqlstate in ("0A000", "42804", "42883")


def test_the_notice_says_how_far_it_may_be_off() -> None:
    """By the price alone: how many rows there are, it does not know."""

    def told(item: str, where: str = "TRUE", epsilon: int = 1) -> str:
        policies = {"p": {**POLICY["policies"]["p"], "epsilon": epsilon}}  # type: ignore[index]
        sql = f"SELECT {item} FROM stay WHERE {where}"
        text = dp4sql.explain({**POLICY, "policies": policies}, sql).text()
        return next(line for line in text.splitlines() if "noise scale" in line)

    few = "over fewer rows it may be any value of the range"
    assert told("MAX(day)").endswith(f"95 % among the 43 largest values; {few}")
    assert told("MIN(day)", epsilon=200).endswith("95 % the smallest value")
    assert told("MEDIAN(day)").endswith(f"95 % within 10 rows of the rank asked for; {few}")
    assert told("MAX(day)", "id = 1").endswith(
        "with 1 row at most it may be any value of the range"
    )
