"""Queries that have no rows whatever the data is: their columns alone, and free."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import dp4sql
from dp4sql.data import university
from dp4sql.errors import Dp4sqlError
from dp4sql.pipeline import Pipeline

POLICY = Path(__file__).parents[2] / "policies" / "university.yaml"

EMPTY = {
    "SELECT * FROM student LIMIT 0": "uid name major",
    "SELECT uid AS u FROM student ORDER BY name OFFSET 3 LIMIT 0": "u",
    "SELECT major FROM student FETCH FIRST 0 ROWS ONLY": "major",
    "SELECT * FROM student WHERE 1 = 0": "uid name major",
    "SELECT TRUE AS found FROM public.student WHERE 1 <> 1 LIMIT 5": "found",
    "SELECT DISTINCT major FROM student WHERE uid > 3 AND FALSE": "major",
    "SELECT uid FROM student WHERE NULL": "uid",
    "SELECT * FROM (SELECT major, COUNT(*) AS n FROM student GROUP BY major) q WHERE FALSE": "major n",
    "SELECT uid, (SELECT COUNT(*) FROM student) AS n FROM student WHERE 0 = 1": "uid n",
    "SELECT uid FROM student WHERE 1 = 0 UNION ALL SELECT uid FROM enrollment LIMIT 0": "uid",
    "SELECT FROM student LIMIT 0": "",
}


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    folder = tmp_path_factory.mktemp("shapes")
    university.generate(folder / "rows.duckdb")
    return dp4sql.open_pipeline(
        policy=POLICY, database=f"duckdb:///{folder}/rows.duckdb", ledger=folder / "test.ledger"
    )


@pytest.mark.parametrize("sql", EMPTY)
def test_they_are_answered_by_their_columns_at_no_charge(pipeline: Pipeline, sql: str) -> None:
    found = asyncio.run(pipeline.query(sql))
    assert " ".join(column.name for column in found.columns) == EMPTY[sql]
    assert (list(found.rows), found.notices) == ([], ())
    assert found.columns == pipeline.describe(sql).columns
    assert not [entry for entry in pipeline.ledger.entries() if entry.kind == "charge"]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM student LIMIT 1",
        "SELECT uid FROM student WHERE 1 = 1",
        "SELECT uid FROM student WHERE 1 <> 0",
        "SELECT uid FROM student WHERE 1 = 0 OR uid = 3",
        "SELECT uid FROM student WHERE NOT (1 = 0)",
        "SELECT uid FROM student WHERE uid = 0 - uid",
        "SELECT uid FROM student UNION ALL SELECT uid FROM student WHERE FALSE",
        "SELECT s.uid FROM student s LEFT JOIN (SELECT uid FROM enrollment WHERE FALSE) e USING (uid)",
    ],
)
def test_what_may_have_rows_is_refused_as_before(pipeline: Pipeline, sql: str) -> None:
    with pytest.raises(Dp4sqlError):
        asyncio.run(pipeline.query(sql))


def test_an_aggregate_over_no_rows_has_a_row(pipeline: Pipeline) -> None:
    assert len(asyncio.run(pipeline.query("SELECT COUNT(*) FROM student WHERE 1 = 0")).rows) == 1
