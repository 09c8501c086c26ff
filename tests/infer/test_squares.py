"""Bounds in L2: where they are less than those in L1, and where nothing says that they are.

That no pair of neighbours passes them is for the oracle in tests/soundness.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import dp4sql

TABLES: dict[str, Any] = {
    "student": {
        "key": ["uid"],
        "columns": {"uid": "integer", "major": {"type": "text", "domain": ["a", "b", "c"]}},
    },
    "section": {"key": ["sid"], "columns": {"sid": "integer", "title": "text"}},
    "enrollment": {
        "key": ["uid", "sid"],
        "foreign_keys": {"uid": "student", "sid": "section"},
        "max_frequency": {"uid": 6, "sid": 4},
        "columns": {
            "uid": "integer",
            "sid": "integer",
            "grade": {"type": "integer", "range": [-10, 10]},
            "kind": {"type": "text", "domain": ["x", "y"]},
        },
    },
}
GONE = {"student": "del", "enrollment": "del", "section": "pub"}
MOVED = {
    "student": {"rep": ["major"]},
    "enrollment": {"rep": ["kind", "grade"]},
    "section": "pub",
}


def squares(labels: dict[str, Any], sql: str) -> list[Fraction]:
    policy = {"entity": "student", "epsilon": 1, "accountant": "zcdp", "delta": 0.000001}
    content = {"tables": TABLES, "policies": {"student": policy | {"labels": labels}}}
    found = dp4sql.explain(content, sql)
    return [m.squares["student"] for a in found.aggregates for m in a.measurements]


@pytest.mark.parametrize(
    ("sql", "square"),
    [
        ("SELECT COUNT(*) FROM enrollment", 36),
        # One enrolment of a student in a section: six groups, one row each.
        ("SELECT sid, COUNT(*) FROM enrollment GROUP BY sid", 6),
        ("SELECT sid, COUNT(*) FROM enrollment WHERE grade > 0 GROUP BY sid", 6),
        # Grades are up to 10, so 6 * 10 in L1.
        ("SELECT sid, SUM(grade) FROM enrollment GROUP BY sid", 600),
        # Both tables go, but they are the same rows.
        ("SELECT e.sid, COUNT(*) FROM enrollment e JOIN student s ON s.uid = e.uid GROUP BY 1", 6),
        ("SELECT e.sid, COUNT(*) FROM student s JOIN enrollment e USING (uid) GROUP BY 1", 6),
        ("SELECT e.sid, COUNT(*) FROM enrollment e JOIN section USING (sid) GROUP BY 1", 6),
        ("SELECT e.sid, COUNT(*) FROM enrollment e LEFT JOIN section USING (sid) GROUP BY 1", 6),
        # All six may be of one kind.
        ("SELECT kind, COUNT(*) FROM enrollment GROUP BY kind", 36),
        # At most four rows to a section: a student's pairs with others, twice (as either side).
        (
            "SELECT a.sid, COUNT(*) FROM enrollment a JOIN enrollment b ON a.sid = b.sid GROUP BY 1",
            48 * 8,
        ),
        # A subquery without the owner: four rows to a section all the same.
        ("SELECT sid, COUNT(*) FROM (SELECT sid, kind FROM enrollment) e GROUP BY sid", 6),
        # What is computed tells nothing.
        ("SELECT sid, COUNT(DISTINCT grade) FROM enrollment GROUP BY sid", 36),
    ],
)
def test_rows_that_come_or_go(sql: str, square: int) -> None:
    assert squares(GONE, sql) == [square]


@pytest.mark.parametrize(
    ("sql", "square"),
    [
        # From one group to another: (-1, 1).
        ("SELECT major, COUNT(*) FROM student GROUP BY major", 2),
        ("SELECT kind, COUNT(*) FROM enrollment GROUP BY kind", 36 * 2),
        # Where it stays, its grade may go from -10 to 10.
        ("SELECT kind, SUM(grade) FROM enrollment GROUP BY kind", 36 * 400),
        ("SELECT sid, SUM(grade) FROM enrollment GROUP BY sid", 36 * 400),
        ("SELECT sid, COUNT(*) FROM enrollment WHERE grade > 0 GROUP BY sid", 36),
    ],
)
def test_rows_that_change(sql: str, square: int) -> None:
    assert squares(MOVED, sql) == [square]


def test_explain_tells_both_bounds() -> None:
    policy = {
        "entity": "student",
        "epsilon": 1,
        "accountant": "zcdp",
        "delta": 0.000001,
        "labels": GONE,
    }
    content: dict[str, Any] = {"tables": TABLES, "policies": {"student": policy}}
    sql = "SELECT sid, COUNT(*) FROM enrollment GROUP BY sid"
    shown = dp4sql.explain(content, sql).text()
    assert "COUNT(*): 6, in L2 2.449 under policy student" in shown
    assert "COUNT(*): Gaussian noise scale 2.449, 95 % within +-5" in shown
    assert "price (rho): student 0.5" in shown
    del policy["accountant"], policy["delta"]
    assert "COUNT(*): 6 under policy student" in dp4sql.explain(content, sql).text()
