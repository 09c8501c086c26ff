"""What bounds the frame of a window ran as the client wrote it: a subquery there counted private rows exactly."""

from __future__ import annotations

import pytest

import dp4sql
from dp4sql.errors import Dp4sqlError, Unsupported

POLICY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "t": {"key": ["id"], "columns": {"id": "integer", "b": "boolean"}},
            "w": {"key": ["kind"], "columns": {"kind": "text", "n": "integer", "d": "date"}},
        },
        "policies": {"p": {"entity": "t", "epsilon": 1, "labels": {"t": "del", "w": "pub"}}},
    }
)
PUBLIC = "SELECT SUM(n) OVER (ORDER BY {} {}) FROM w"
RELEASED = (
    "SELECT SUM(n) OVER (ORDER BY {} {}) FROM (SELECT b AS d, COUNT(*) AS n FROM t GROUP BY b) q"
)


@pytest.mark.parametrize("sql", [PUBLIC, RELEASED])
@pytest.mark.parametrize(
    "frame",
    [
        "ROWS (SELECT COUNT(*) FROM t) PRECEDING",
        "ROWS BETWEEN CURRENT ROW AND (SELECT id FROM t LIMIT 1) FOLLOWING",
        "RANGE 1 + (SELECT 0 FROM t) PRECEDING",
        "ROWS ABS(1) PRECEDING",
        "ROWS n PRECEDING",
        "ROWS -1 PRECEDING",
        "ROWS 1.5 PRECEDING",
        "ROWS '1' PRECEDING",
    ],
)
def test_only_constants_bound_a_frame(sql: str, frame: str) -> None:
    with pytest.raises(Unsupported, match="constant number of rows"):
        dp4sql.explain(POLICY, sql.format("n", frame))


@pytest.mark.parametrize(
    "sql",
    [
        PUBLIC.format("n, d", "RANGE 1 PRECEDING"),
        PUBLIC.format("n NULLS FIRST", "RANGE 1 PRECEDING"),
        PUBLIC.format("kind", "RANGE 1 PRECEDING"),
        PUBLIC.format("n", "RANGE INTERVAL '1 day' PRECEDING"),
        PUBLIC.format("n", "ROWS BETWEEN CURRENT ROW AND 1 PRECEDING"),
        PUBLIC.format("n", "ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW"),
        "SELECT SUM(kind) OVER () FROM w",
        "SELECT LAG(n, n) OVER (ORDER BY n) FROM w",
        "SELECT LAG(n, 1, 'x') OVER (ORDER BY n) FROM w",
        "SELECT LAG(n, 1, 0.5) OVER (ORDER BY n) FROM w",
        "SELECT NTH_VALUE(n, 0) OVER (ORDER BY n) FROM w",
    ],
)
def test_what_engines_refuse_is_refused_before_it_is_paid_for(sql: str) -> None:
    with pytest.raises(Dp4sqlError):
        dp4sql.explain(POLICY, sql)


@pytest.mark.parametrize(
    ("by", "frame", "written"),
    [
        ("n", "ROWS 2 PRECEDING", "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW"),
        (
            "n",
            "RANGE BETWEEN 1 PRECEDING AND 3 FOLLOWING",
            "RANGE BETWEEN 1 PRECEDING AND 3 FOLLOWING",
        ),
        (
            "d",
            "RANGE BETWEEN INTERVAL '1 day' PRECEDING AND UNBOUNDED FOLLOWING",
            "RANGE BETWEEN INTERVAL '0 months 1 days 0 microseconds' PRECEDING AND UNBOUNDED FOLLOWING",
        ),
        ("n", "GROUPS CURRENT ROW", "GROUPS BETWEEN CURRENT ROW AND CURRENT ROW"),
    ],
)
def test_a_frame_is_written_anew(by: str, frame: str, written: str) -> None:
    (read,) = dp4sql.explain(POLICY, PUBLIC.format(by, frame)).reads
    assert f"NULLS LAST {written})" in read or f"{written})" in read


def test_nulls_stand_where_the_window_has_them() -> None:
    (read,) = dp4sql.explain(POLICY, PUBLIC.format("n NULLS FIRST", "")).reads
    assert 'ORDER BY (t1."n" IS NULL) DESC' in read
    (read,) = dp4sql.explain(POLICY, PUBLIC.format("n DESC NULLS LAST", "")).reads
    assert 'ORDER BY (t1."n" IS NULL) NULLS LAST, t1."n" DESC' in read
