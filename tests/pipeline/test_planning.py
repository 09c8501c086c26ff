"""A statement is planned once for all that is asked about it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dp4sql.errors import SyntaxError_
from dp4sql.pipeline import Pipeline
from dp4sql.pipeline.preparation import prepare


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []

    def noted(policies: Any, sql: str, *rest: Any) -> Any:
        found.append(sql)
        return prepare(policies, sql, *rest)

    monkeypatch.setattr("dp4sql.pipeline.prepare", noted)
    return found


def test_described_explained_and_answered_by_one_plan(
    pipeline: Pipeline, planned: list[str]
) -> None:
    sql = "SELECT COUNT(*) FROM student"
    shape = pipeline.describe(sql)
    pipeline.explain(sql)
    assert asyncio.run(pipeline.query(sql)).columns == shape.columns
    assert planned == [sql]


def test_values_are_planned_apart(pipeline: Pipeline, planned: list[str]) -> None:
    sql = "SELECT COUNT(*) FROM student WHERE major = $1"
    pipeline.describe(sql)
    for major in ("CS", "Math", "CS"):
        asyncio.run(pipeline.query(sql, (major,)))
    assert planned == [sql] * 3


def test_values_that_are_missing(pipeline: Pipeline) -> None:
    with pytest.raises(SyntaxError_, match="there is no parameter"):
        asyncio.run(pipeline.query("SELECT COUNT(*) FROM student WHERE major = $1"))
