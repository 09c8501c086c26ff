"""Whole queries on the university in DuckDB: shapes, bins, charges, and nothing charged for a refusal."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dp4sql
from dp4sql.data import university
from dp4sql.errors import BudgetExceeded, CardinalityViolation, Dp4sqlError
from dp4sql.mechanisms.release import add_noise
from dp4sql.pipeline import Pipeline
from dp4sql.rows import Released
from dp4sql.settings import Settings

POLICY = Path(__file__).parents[2] / "policies" / "university.yaml"


def answer(
    pipeline: Pipeline, sql: str, *parameters: object, settings: Settings | None = None
) -> Released:
    return asyncio.run(pipeline.query(sql, parameters, settings))  # type: ignore[arg-type]


def spent(pipeline: Pipeline, policy: str = "student", entity: str = "student") -> Fraction:
    return pipeline.ledger.spent(pipeline.backend.identity, entity, policy)


def test_every_bin_of_the_domain_has_a_row(pipeline: Pipeline) -> None:
    released = answer(
        pipeline, "SELECT major, COUNT(*) AS n FROM student WHERE uid < 0 GROUP BY major"
    )
    assert [row[0] for row in released.rows] == sorted(
        pipeline.policy.schema.table("student").columns["major"].domain or ()
    )
    assert all(isinstance(n, int) and abs(n) < 60 for _, n in released.rows)


def test_an_ungrouped_aggregate_over_nothing_is_one_row_of_noise(pipeline: Pipeline) -> None:
    ((total, count, mean),) = answer(
        pipeline,
        "SELECT SUM(amount), COUNT(*), AVG(grade) FROM scholarship s JOIN enrollment e ON s.uid = e.uid WHERE 1 = 0",
    ).rows
    assert isinstance(total, int)
    assert isinstance(count, int)
    assert mean is not None
    assert 0 <= float(mean) <= 100  # type: ignore[arg-type]


def test_noise_is_near_the_truth_and_charged(pipeline: Pipeline) -> None:
    ((count,),) = answer(pipeline, "SELECT COUNT(*) FROM student").rows
    assert abs(int(count) - university.STUDENTS) < 60  # type: ignore[call-overload]
    assert spent(pipeline) == 1


def test_public_answers_are_exact_and_free(pipeline: Pipeline, database: Path) -> None:
    sql = """SELECT s.fid, AVG(e.review) AS r FROM section s JOIN enrollment e ON s.sid = e.sid
             GROUP BY s.fid ORDER BY s.fid"""
    released = answer(pipeline, sql)
    with duckdb.connect(str(database), read_only=True) as plain:
        truth = plain.execute(sql).fetchall()
    assert [f for f, _ in released.rows] == [f for f, _ in truth]
    assert [float(r) for _, r in released.rows] == pytest.approx([r for _, r in truth], rel=1e-15)  # type: ignore[arg-type]
    assert released.notices == ()
    assert spent(pipeline) == 0


@pytest.mark.parametrize("where", ["", " WHERE sid < 0"])
def test_a_scalar_subquery_has_one_row_or_none(pipeline: Pipeline, where: str) -> None:
    sql = f"SELECT (SELECT sid FROM section{where}) AS sid"
    if where:
        assert answer(pipeline, sql).rows == [(None,)]
        return
    with pytest.raises(CardinalityViolation, match="more than one row") as caught:
        answer(pipeline, sql)
    assert caught.value.sqlstate == "21000"


def test_each_policy_is_charged_what_it_lost(pipeline: Pipeline) -> None:
    answer(pipeline, "SELECT AVG(salary) FROM faculty WHERE age > 40")
    assert spent(pipeline, "faculty", "faculty") == Fraction(6, 10)
    assert spent(pipeline, "faculty_salary", "faculty") == Fraction(1, 10)
    assert spent(pipeline) == 0


def test_a_refused_query_costs_nothing(pipeline: Pipeline) -> None:
    for sql in (
        "SELECT major, COUNT(*) FROM student GROUP BY major HAVING major LIKE major",
        "SELECT SUM(uid * 1000000000 * 1000000000) FROM student",
        "SELECT COUNT(*) FROM student HAVING COUNT(*) > (SELECT COUNT(*) FROM student WHERE name LIKE name)",
        "SELECT name FROM student",
        "SELECT COUNT(*) FROM nosuch",
        "SELECT SUM(eid) FROM enrollment JOIN student USING (uid) WHERE major = 'CS'",
    ):
        with pytest.raises(Dp4sqlError):
            answer(pipeline, sql)
    assert {entry.kind for entry in pipeline.ledger.entries()} == {"open"}


def test_the_budget_ends(pipeline: Pipeline) -> None:
    small = replace(
        pipeline.policy,
        policies=tuple(
            replace(p, budget=Fraction(1), epsilon=Fraction(1, 10))
            for p in pipeline.policy.policies
        ),
    )
    pipeline = pipeline.renewed(small)
    anew = Settings(reuse="off")
    for _ in range(10):
        answer(pipeline, "SELECT COUNT(*) FROM student", settings=anew)
    with pytest.raises(BudgetExceeded) as caught:
        answer(pipeline, "SELECT COUNT(*) FROM student", settings=anew)
    assert "student" in caught.value.message
    assert spent(pipeline) == 1


def test_epsilon_can_be_lowered_by_the_session(pipeline: Pipeline) -> None:
    answer(
        pipeline,
        "SELECT COUNT(*) FROM student",
        settings=Settings().with_setting("epsilon", "0.25"),
    )
    assert spent(pipeline) == Fraction(1, 4)


def test_equal_aggregates_are_measured_once(pipeline: Pipeline) -> None:
    ((a, b),) = answer(pipeline, "SELECT COUNT(*), COUNT(uid) FROM student").rows
    assert a == b
    assert spent(pipeline) == 1


def test_post_processing_works_on_released_rows(pipeline: Pipeline) -> None:
    sql = """SELECT major, COUNT(*) AS n, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM student
             GROUP BY major HAVING COUNT(*) > 50 ORDER BY n DESC LIMIT 3"""
    rows = answer(pipeline, sql).rows
    assert len(rows) == 3
    assert [int(n) for _, n, _ in rows] == sorted((int(n) for _, n, _ in rows), reverse=True)  # type: ignore[call-overload]
    assert spent(pipeline) == 1


def test_parameters(pipeline: Pipeline) -> None:
    shape = pipeline.describe("SELECT COUNT(*) FROM enrollment WHERE grade > $1 AND review = $2")
    assert [t.kind for t in shape.parameters] == ["integer", "integer"]
    ((low,),) = answer(pipeline, "SELECT COUNT(*) FROM enrollment WHERE grade > $1", "200").rows
    assert abs(int(low)) < 400  # type: ignore[call-overload]


def test_ledger_survives_restart(database: Path, tmp_path: Path) -> None:
    for expected in (1, 2):
        opened = dp4sql.open_pipeline(
            policy=POLICY, database=f"duckdb:///{database}", ledger=tmp_path / "ledger"
        )
        answer(opened, "SELECT COUNT(*) FROM student", settings=Settings(reuse="off"))
        assert spent(opened) == expected
        asyncio.run(opened.close())


def test_paper_queries_run(pipeline: Pipeline) -> None:
    rows = answer(
        pipeline,
        """SELECT e2.uid, COUNT(*) AS n FROM (SELECT e1.sid, COUNT(*) AS c FROM enrollment e1 GROUP BY e1.sid) t
        JOIN enrollment e2 ON t.sid = e2.sid WHERE t.c < 10 GROUP BY e2.uid""",
    ).rows
    assert len(rows) == 1200


@pytest.mark.parametrize(("many", "drawn_by"), [(10_000, "duckdb"), (3, "release")])
def test_noise_is_drawn_beside_the_event_loop(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, many: int, drawn_by: str
) -> None:
    """That of many rows keeps no thread which could read meanwhile."""
    threads: list[str] = []

    def watched(*arguments: Any) -> Any:
        threads.append(threading.current_thread().name.partition("_")[0])
        return add_noise(*arguments)

    monkeypatch.setattr("dp4sql.pipeline.execution.add_noise", watched)
    monkeypatch.setattr("dp4sql.rows.PART", many)
    answer(pipeline, "SELECT major, COUNT(*) FROM student GROUP BY major")
    assert threads == [drawn_by]


def test_conditions_on_windows_come_after_them(pipeline: Pipeline) -> None:
    inner = """SELECT major, COUNT(*) AS n, ROW_NUMBER() OVER (ORDER BY COUNT(*) DESC) AS place,
               SUM(COUNT(*)) OVER () AS total FROM student GROUP BY major"""
    top = answer(pipeline, f"SELECT place, n FROM ({inner}) AS t WHERE place <= 3 ORDER BY 1").rows
    assert [place for place, _ in top] == [1, 2, 3]
    ((total,),) = answer(pipeline, f"SELECT total FROM ({inner}) AS t WHERE major = 'CS'").rows
    assert abs(int(total) - university.STUDENTS) < 200  # type: ignore[call-overload]
    ((last,),) = answer(pipeline, f"SELECT MAX(place) FROM ({inner}) AS t").rows
    assert last == 8


def test_notices_and_explain_name_aggregates_as_they_were_written(pipeline: Pipeline) -> None:
    sql = "SELECT 2 * COUNT(*) FILTER (WHERE grade > 50) / COUNT(grade) AS share FROM enrollment"
    written = "COUNT(*) FILTER(WHERE grade > 50)"
    assert f"{written}: noise scale 12, 95 % within +-36" in answer(pipeline, sql).notices
    assert f"arg: what is computed in {written}" in pipeline.explain(sql).splitlines()
