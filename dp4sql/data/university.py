"""A synthetic university within the bounds of policies/university.yaml, the same on every machine."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import TypeAlias

import duckdb

from dp4sql.data.files import build_once

STUDENTS, FACULTY, SECTIONS = 1000, 90, 250
MAX_ENROLLED, MAX_IN_SECTION, MAX_TAUGHT, MAX_SCHOLARSHIPS = 6, 20, 3, 2

TABLES = """
CREATE TABLE student (
    uid INTEGER PRIMARY KEY,
    name VARCHAR NOT NULL,
    major VARCHAR NOT NULL
);
CREATE TABLE faculty (
    fid INTEGER PRIMARY KEY,
    name VARCHAR NOT NULL,
    salary INTEGER NOT NULL,
    age INTEGER NOT NULL
);
CREATE TABLE section (
    sid INTEGER PRIMARY KEY,
    fid INTEGER NOT NULL REFERENCES faculty,
    title VARCHAR NOT NULL
);
CREATE TABLE enrollment (
    eid INTEGER PRIMARY KEY,
    sid INTEGER NOT NULL REFERENCES section,
    uid INTEGER NOT NULL REFERENCES student,
    grade INTEGER,
    review INTEGER
);
CREATE TABLE scholarship (
    aid INTEGER PRIMARY KEY,
    uid INTEGER NOT NULL REFERENCES student,
    amount INTEGER NOT NULL
);
"""

MAJORS = {
    "CS": 28,
    "Economics": 21,
    "Biology": 17,
    "Math": 12,
    "Physics": 10,
    "Chemistry": 8,
    "History": 3,
    "Philosophy": 1,
}
FIRST = (
    *("Alice", "Bob", "Chris", "Dan", "Emma", "Fred", "Grace", "Hugo", "Iris", "Joe", "Kim"),
    *("Leo", "Mia", "Noah", "Olga", "Paul", "Rosa", "Sam", "Tara", "Uma", "Vera", "Wim"),
)
LAST = (
    *("Adams", "Baker", "Clark", "Diaz", "Evans", "Ford", "Garcia", "Hall", "Ito", "Jones"),
    *("Khan", "Lopez", "Meyer", "Novak", "Olsen", "Park", "Rossi", "Smith", "Tran", "Weber"),
)
TITLES = (
    *("Algebra", "Calculus", "Databases", "Ethics", "Genetics", "Medieval Europe"),
    *("Microeconomics", "NLP", "Optics", "Organic Chemistry", "Privacy", "Statistics"),
)

Row: TypeAlias = tuple[int | str | None, ...]


def generate(path: Path) -> bool:
    """Write the DuckDB file `path`; False when it is there already."""
    return build_once(path, _fill)


def _fill(connection: duckdb.DuckDBPyConnection, _: Path) -> None:
    connection.execute(TABLES)
    for table, rows in _rows(random.Random(2606)).items():
        columns = [list(column) for column in zip(*rows, strict=True)]
        values = ", ".join("unnest(?)" for _ in columns)
        connection.execute(f"INSERT INTO {table} SELECT {values}", columns)


def _rows(rng: random.Random) -> dict[str, list[Row]]:
    """The rows of each table, parents first."""
    return {
        "student": _students(rng),
        "faculty": [_faculty(rng, fid) for fid in range(1, FACULTY + 1)],
        "section": _sections(rng),
        "enrollment": _enrollments(rng),
        "scholarship": _scholarships(rng),
    }


def _name(rng: random.Random) -> str:
    return f"{rng.choice(FIRST)} {rng.choice(LAST)}"


def _students(rng: random.Random) -> list[Row]:
    majors = rng.choices(tuple(MAJORS), tuple(MAJORS.values()), k=STUDENTS)
    return [(uid, _name(rng), major) for uid, major in enumerate(majors, 1)]


def _faculty(rng: random.Random, fid: int) -> Row:
    age = rng.randint(28, 70)
    salary = min(250_000, max(30_000, round(rng.gauss(45_000 + 1_400 * age, 18_000))))
    return fid, _name(rng), salary, age


def _sections(rng: random.Random) -> list[Row]:
    teachers = [fid for fid in range(1, FACULTY + 1) for _ in range(MAX_TAUGHT)]
    taught = rng.sample(teachers, SECTIONS)
    return [(sid, fid, rng.choice(TITLES)) for sid, fid in enumerate(taught, 1)]


def _enrollments(rng: random.Random) -> list[Row]:
    """Up to six sections a student, twenty students a section; some grades and reviews missing."""
    taken: Counter[int] = Counter()
    rows: list[Row] = []
    for uid in range(1, STUDENTS + 1):
        wanted = rng.choices(range(MAX_ENROLLED + 1), (1, 3, 9, 18, 24, 24, 21))[0]
        skill = rng.gauss(76, 10)
        free = [sid for sid in range(1, SECTIONS + 1) if taken[sid] < MAX_IN_SECTION]
        for sid in rng.sample(free, min(wanted, len(free))):
            taken[sid] += 1
            rows.append((len(rows) + 1, sid, uid, _grade(rng, skill), _review(rng)))
    return rows


def _grade(rng: random.Random, skill: float) -> int | None:
    graded = rng.random() < 0.97
    return min(100, max(0, round(rng.gauss(skill, 9)))) if graded else None


def _review(rng: random.Random) -> int | None:
    reviewed = rng.random() < 0.86
    return rng.choices((1, 2, 3, 4, 5), (4, 10, 24, 38, 24))[0] if reviewed else None


def _scholarships(rng: random.Random) -> list[Row]:
    rows: list[Row] = []
    for uid in range(1, STUDENTS + 1):
        for _ in range(rng.choices(range(MAX_SCHOLARSHIPS + 1), (55, 33, 12))[0]):
            rows.append((len(rows) + 1, uid, 500 * rng.randint(2, 60)))
    return rows
