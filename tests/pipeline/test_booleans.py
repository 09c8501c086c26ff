"""BOOL_AND and BOOL_OR decide on a noisy count; NULLs and groups without rows count as nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import duckdb
import pytest

import dp4sql
from dp4sql.algebra.types import Value
from dp4sql.pipeline import Pipeline
from dp4sql.settings import Settings

from .conftest import at_epsilon

FRESH = Settings(reuse="off")


def rows(pipeline: Pipeline, sql: str, settings: Settings | None = None) -> list[tuple[Value, ...]]:
    return [tuple(row) for row in asyncio.run(pipeline.query(sql, (), settings)).rows]


@pytest.mark.parametrize(
    ("aggregate", "true"),
    [
        ("BOOL_AND(grade <= 100)", True),
        ("EVERY(grade <= 100)", True),
        ("BOOL_AND(grade <= 60)", False),
        ("BOOL_OR(grade <= 60)", True),
        ("BOOL_OR(grade > 100)", False),
        ("NOT BOOL_OR(grade > 100)", True),
        ("BOOL_AND(review > 3) FILTER (WHERE review > 3)", True),
        ("BOOL_AND(CASE WHEN grade > 100 THEN FALSE END)", True),
        ("BOOL_OR(CASE WHEN grade > 100 THEN TRUE END)", False),
        ("BOOL_AND(grade > 60) FILTER (WHERE 1 = 0)", True),
    ],
)
def test_they_count_what_decides_them(loud: Pipeline, aggregate: str, true: bool) -> None:
    assert rows(loud, f"SELECT {aggregate} FROM enrollment") == [(true,)]


def test_groups_without_rows(loud: Pipeline) -> None:
    sql = (
        "SELECT major, BOOL_AND(uid < 0), BOOL_OR(uid > 0) FROM student WHERE 1 = 0 GROUP BY major"
    )
    found = rows(loud, sql)
    assert len(found) == 8
    assert all(row[1:] == (True, False) for row in found)


def test_what_holds_for_all_rows_is_true_nearly_always(database: Path, tmp_path: Path) -> None:
    """One answer in 40 may be wrong; of 1200 some 27 are (fewer than 1 or more than 70 in one run of 10**11)."""
    pipeline = at_epsilon(database, tmp_path, 1)
    items = ", ".join(f"BOOL_AND(grade < {200 + i}) AS a{i}" for i in range(400))
    found = [rows(pipeline, f"SELECT {items} FROM enrollment", FRESH)[0] for _ in range(3)]
    asyncio.run(pipeline.close())
    assert 0 < sum(row.count(False) for row in found) <= 70


def test_the_notice_says_where_they_decide(database: Path, tmp_path: Path) -> None:
    pipeline = at_epsilon(database, tmp_path, 1)
    released = asyncio.run(pipeline.query("SELECT BOOL_OR(grade > 90) AS some FROM enrollment"))
    asyncio.run(pipeline.close())
    assert [column.name for column in released.columns] == ["some"]
    assert any(
        "some: noise scale 6" in n and "true rows is more than 18" in n for n in released.notices
    )


def test_a_number_made_of_one_has_an_error_bar(database: Path, tmp_path: Path) -> None:
    pipeline = at_epsilon(database, tmp_path, 1)
    sql = "SELECT CASE WHEN BOOL_OR(grade > 200) THEN 1 ELSE 0 END AS n FROM enrollment"
    (row,) = rows(pipeline, sql, Settings(reuse="off", error_columns=True))
    asyncio.run(pipeline.close())
    assert row[1] in (0.0, 1.0)


X = {"type": "boolean", "nullable": True}
T = {"key": ["id"], "rows": 9, "columns": {"id": {"type": "integer", "range": [0, 9]}, "x": X}}
ONE = {
    "dp4sql": 1,
    "tables": {"t": T},
    "policies": {"p": {"entity": "t", "epsilon": 1, "labels": {"t": "del"}}},
}


@pytest.mark.parametrize("word", ["BOOL_AND", "BOOL_OR"])
@pytest.mark.parametrize("test", ["IS NULL", "IS TRUE", "IS FALSE"])
def test_below_the_release_they_mean_what_sql_says(word: str, test: str) -> None:
    sql = f"SELECT COUNT(*) FROM (SELECT id % 3 AS k, {word}(x) AS a FROM t GROUP BY 1) s WHERE a {test}"
    (read,) = dp4sql.explain(ONE, sql).reads
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE t (id INTEGER, x BOOLEAN)")
        values = [(0, None), (3, None), (1, True), (4, None), (7, False), (2, True), (5, True)]
        engine.executemany("INSERT INTO t VALUES (?, ?)", values)
        assert engine.execute(read).fetchall() == engine.execute(sql).fetchall()
