"""Rows that an outer join pads count in COUNT(*) alone; equalities of what two relations compute are join keys."""

from __future__ import annotations

import pytest

import dp4sql

from .clinic import POLICY

SERIES = "generate_series(1, 5) AS s(d)"


def bound(policy: str, sql: str) -> int:
    (found,) = dp4sql.explain(POLICY, sql).aggregates
    assert found.bounds[policy].denominator == 1
    return int(found.bounds[policy])


@pytest.mark.parametrize(
    ("argument", "counted"),
    [
        # Two visits of a person go; where they were the only ones two padded rows come.
        ("COUNT(*)", 4),
        ("COUNT(vid)", 2),
        ("COUNT(vid + 1)", 2),
        ("COUNT(vid) FILTER (WHERE cost > 3)", 2),
        ("SUM(cost)", 18),
        ("COUNT(CASE WHEN cost > 3 THEN vid ELSE d END)", 4),
        ("COUNT(COALESCE(vid, 0))", 4),
        ("COUNT(DISTINCT vid)", 4),
    ],
)
def test_what_is_null_beside_no_match_adds_nothing(argument: str, counted: int) -> None:
    joined = f"{SERIES} LEFT JOIN visit v ON v.did = s.d"
    assert bound("goes", f"SELECT d, {argument} FROM {joined} GROUP BY d") == counted


@pytest.mark.parametrize("kind", ["JOIN", "LEFT JOIN"])
@pytest.mark.parametrize(
    "condition", ["v.did = s.d", "v.did + 1 = s.d", "v.did / 2 = s.d", "s.d = ABS(v.did - 3)"]
)
def test_a_row_meets_one_number_of_a_series(kind: str, condition: str) -> None:
    joined = f"{SERIES} {kind} visit v ON {condition}"
    assert bound("goes", f"SELECT d, COUNT(vid) FROM {joined} GROUP BY d") == 2


@pytest.mark.parametrize(
    ("column", "first", "last", "step"),
    [
        (
            "DATE_TRUNC('month', day)",
            "DATE '2024-01-01'",
            "DATE '2024-12-01'",
            "INTERVAL '1 month'",
        ),
        ("day", "DATE '2024-01-01'", "DATE '2024-12-31'", "INTERVAL '1 day'"),
        ("EXTRACT(MONTH FROM day)", "1", "12", "1"),
    ],
)
def test_a_day_meets_one_step_of_a_calendar(column: str, first: str, last: str, step: str) -> None:
    policy = {
        "dp4sql": 1,
        "tables": {
            "t": {"key": ["id"], "rows": 9, "columns": {"id": "integer", "day": "date"}},
        },
        "policies": {"all": {"entity": "t", "epsilon": 1, "labels": {"t": {"rep": ["day"]}}}},
    }
    spine = f"generate_series({first}, {last}, {step}) AS s(x)"
    sql = f"SELECT x, COUNT(id) FROM {spine} LEFT JOIN t ON {column} = s.x GROUP BY x"
    (found,) = dp4sql.explain(policy, sql).aggregates
    assert found.bounds["all"] == 2


@pytest.mark.parametrize(
    "condition",
    [
        # The series may be any other number then.
        "v.did = s.d % 2",
        # Each of two relations is read by one side.
        "v.did + s.d = 5",
        "v.did = s.d + v.cost",
    ],
)
def test_what_the_series_computes_is_no_key(condition: str) -> None:
    joined = f"{SERIES} JOIN visit v ON {condition}"
    assert bound("goes", f"SELECT COUNT(vid) FROM {joined}") == 10
