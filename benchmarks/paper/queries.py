"""The paper's queries (its Appendix A and section 9) and the smallest schemas on which printed rules fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dp4sql.bench.paper import COUNTS

_SECTIONS = (
    "SELECT e2.{key}, COUNT(*) AS n FROM (SELECT e1.sid, COUNT(*) AS c FROM enrollment e1 GROUP BY e1.sid) t "
    "JOIN enrollment e2 ON t.sid = e2.sid WHERE t.c {test} GROUP BY e2.{key}"
)
_TAUGHT = "SELECT s.fid, {} AS n FROM section s JOIN enrollment e ON s.sid = e.sid GROUP BY s.fid"

QUERIES: dict[tuple[int, str], str] = {
    (8, "Q1"): _SECTIONS.format(key="uid", test="< 10"),
    (8, "Q2"): _SECTIONS.format(key="review", test="> 15"),
    (
        8,
        "Q3",
    ): "SELECT COUNT(*) AS n FROM (SELECT e.uid, COUNT(*) AS c FROM enrollment e GROUP BY e.uid) t "
    "JOIN scholarship s ON t.uid = s.uid WHERE t.c > 4",
    (8, "Q4 SUM"): _TAUGHT.format("SUM(e.review)"),
    (8, "Q4 CNT"): _TAUGHT.format("COUNT(e.review)"),
    **{(10, name): sql for name, sql in COUNTS.items()},
}


@dataclass(frozen=True)
class CounterExample:
    """`printed` is the bound of the printed rules; two databases that exceed it stand in tests/soundness."""

    policy: dict[str, Any]
    entity: str
    sql: str
    printed: int


def _university(entity: str, labels: dict[str, Any]) -> dict[str, Any]:
    number, text = {"type": "integer"}, {"type": "text"}
    tables = {
        "student": {
            "key": ["uid"],
            "rows": 9,
            "columns": {"uid": number, "major": {"type": "text", "domain": ["CS", "Math"]}},
        },
        "faculty": {
            "key": ["fid"],
            "columns": {"fid": number, "salary": {"type": "integer", "range": [0, 100]}},
        },
        "section": {
            "key": ["sid"],
            "foreign_keys": {"fid": "faculty"},
            "max_frequency": {"fid": 3},
            "columns": {
                "sid": number,
                "fid": number,
                "title": {"type": "text", "domain": ["NLP", "Calc"]},
            },
        },
        "enrollment": {
            "key": ["eid"],
            "foreign_keys": {"sid": "section", "uid": "student"},
            "max_frequency": {"sid": 20, "uid": 6},
            "columns": {
                "eid": number,
                "sid": number,
                "uid": number,
                "grade": {"type": "integer", "range": [0, 100]},
            },
        },
        "scholarship": {
            "key": ["aid"],
            "foreign_keys": {"uid": "student"},
            "max_frequency": {"uid": 2},
            "columns": {
                "aid": number,
                "uid": number,
                "kind": {"type": "integer", "domain": [0, 1]},
            },
        },
        "major": {"key": ["major"], "rows": 2, "columns": {"major": text}},
        "grade": {"key": ["grade"], "rows": 5, "columns": {"grade": number}},
        "tutor": {
            "key": ["uid"],
            "foreign_keys": {"uid": "student"},
            "max_frequency": {"major": 1},
            "columns": {"uid": number, "major": text, "grade": number},
        },
        "request": {
            "key": ["uid"],
            "foreign_keys": {"uid": "student"},
            "max_frequency": {"major": 1},
            "columns": {"uid": number, "major": text},
        },
    }
    named = {
        "student": "pub",
        "faculty": "pub",
        "section": "pub",
        "enrollment": "pub",
        "scholarship": "pub",
        "major": "pub",
        "grade": "pub",
        "tutor": "pub",
        "request": "pub",
        **labels,
    }
    return {
        "dp4sql": 1,
        "tables": tables,
        "policies": {entity: {"entity": entity, "epsilon": 1, "labels": named}},
    }


_GONE = dict.fromkeys(("student", "enrollment", "scholarship", "tutor", "request"), "del")

COUNTER_EXAMPLES = {
    "D1": CounterExample(
        _university("faculty", {"faculty": {"rep": ["salary"]}}),
        "faculty",
        "SELECT SUM(f.salary) AS n FROM section s JOIN faculty f ON s.fid = f.fid",
        0,
    ),
    "D2": CounterExample(
        _university(
            "student",
            {
                "student": "del",
                "enrollment": {"rep": ["uid", "grade", "sid"]},
                "scholarship": "del",
                "tutor": "del",
                "request": "del",
            },
        ),
        "student",
        "SELECT title, COUNT(*) AS n FROM enrollment JOIN section USING (sid) GROUP BY title",
        0,
    ),
    "D3": CounterExample(
        _university("student", {**_GONE, "scholarship": {"rep": ["uid"]}}),
        "student",
        "SELECT COUNT(*) AS n FROM scholarship JOIN (SELECT uid FROM student WHERE major = 'CS') s USING (uid)",
        0,
    ),
    "D4": CounterExample(
        _university("student", _GONE),
        "student",
        "SELECT COUNT(*) AS n FROM request r JOIN (SELECT m.major, g.grade, COUNT(t.uid) AS tutors FROM major m "
        "CROSS JOIN grade g LEFT JOIN tutor t ON t.major = m.major AND t.grade = g.grade GROUP BY m.major, g.grade) b "
        "ON r.major = b.major",
        3,
    ),
    "D5": CounterExample(
        _university("student", _GONE),
        "student",
        "SELECT COUNT(*) AS n FROM enrollment JOIN (SELECT s.uid, c.cnt FROM student s JOIN (SELECT major, COUNT(*) AS cnt "
        "FROM student GROUP BY major) c USING (major)) x USING (uid) WHERE cnt > 3",
        6,
    ),
}
