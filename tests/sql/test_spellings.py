"""Aggregates under other systems' names measure what Postgres's own measure."""

from __future__ import annotations

from pathlib import Path

import pytest

import dp4sql
from dp4sql.errors import Dp4sqlError
from dp4sql.mechanisms.explain import AggregateBound

POLICY = dp4sql.load_policy(Path(__file__).parents[2] / "policies" / "university.yaml")


def measured(aggregate: str) -> tuple[tuple[AggregateBound, ...], tuple[str, ...]]:
    """What is measured, and what the engine is asked."""
    found = dp4sql.explain(POLICY, f"SELECT {aggregate} AS x FROM enrollment")
    return found.aggregates, found.reads


@pytest.mark.parametrize(
    ("spelling", "written"),
    [
        ("QUANTILE_CONT(grade, 0.9)", "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY grade)"),
        ("QUANTILE_DISC(grade, 0.9)", "PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY grade)"),
        ("QUANTILE(grade, 0.9)", "PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY grade)"),
        ("APPROX_QUANTILE(grade, 0.9)", "PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY grade)"),
        ("APPROX_PERCENTILE(grade, 0.9)", "PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY grade)"),
        ("APPROX_MEDIAN(grade)", "MEDIAN(grade)"),
        ("APPROX_COUNT_DISTINCT(uid)", "COUNT(DISTINCT uid)"),
        ("EVERY(grade > 10)", "BOOL_AND(grade > 10)"),
        ("COUNT_IF(grade > 10)", "COUNT(CASE WHEN grade > 10 THEN 1 END)"),
        (
            "QUANTILE_CONT(grade, 0.9) FILTER (WHERE review > 2)",
            "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY grade) FILTER (WHERE review > 2)",
        ),
        (
            "PERCENTILE_CONT(0.9::float8) WITHIN GROUP (ORDER BY grade)",
            "PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY grade)",
        ),
    ],
)
def test_a_spelling_is_what_postgres_writes(spelling: str, written: str) -> None:
    assert measured(spelling) == measured(written)


@pytest.mark.parametrize(
    ("aggregate", "hint"),
    [
        ("PERCENTILE_CONT(ARRAY[0.5]) WITHIN GROUP (ORDER BY grade) + 1", "a column each"),
        ("PERCENTILE_CONT(ARRAY[]::float8[]) WITHIN GROUP (ORDER BY grade)", "share of epsilon"),
        ("MODE() WITHIN GROUP (ORDER BY grade)", "ORDER BY 2 DESC LIMIT 1"),
        ("MODE(grade)", "ORDER BY 2 DESC LIMIT 1"),
        ("STRING_AGG(grade::text, ',')", "single rows"),
    ],
)
def test_what_has_no_private_form_says_what_to_ask(aggregate: str, hint: str) -> None:
    with pytest.raises(Dp4sqlError) as refused:
        measured(aggregate)
    assert refused.value.sqlstate == "0A000"
    assert hint in (refused.value.hint or "")


@pytest.mark.parametrize(
    "array",
    [
        "PERCENTILE_CONT(ARRAY[0.25, 0.5]) WITHIN GROUP (ORDER BY grade)",
        "PERCENTILE_CONT('{0.25,0.5}'::float[]) WITHIN GROUP (ORDER BY grade)",
        "QUANTILE_CONT(grade, [0.25, 0.5])",
    ],
)
def test_an_array_measures_what_a_column_each_does(array: str) -> None:
    of_array, _ = measured(array)
    single, _ = measured("QUANTILE_CONT(grade, 0.25) AS y, QUANTILE_CONT(grade, 0.5)")
    assert [a.measurements for a in of_array] == [a.measurements for a in single]


@pytest.mark.parametrize("aggregate", ["QUANTILE_CONT(grade)", "EVERY()", "APPROX_MEDIAN(1, 2)"])
def test_arguments_are_counted(aggregate: str) -> None:
    with pytest.raises(Dp4sqlError, match="takes"):
        measured(aggregate)
