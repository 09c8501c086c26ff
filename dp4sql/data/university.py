"""A synthetic university that keeps the bounds of policies/university.yaml; the same on every machine."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import duckdb

from dp4sql.data.files import build_once

STUDENTS, FACULTY, SECTIONS = 1000, 60, 170
MAX_ENROLLED, MAX_IN_SECTION, MAX_TAUGHT, MAX_SCHOLARSHIPS = 6, 20, 3, 2

TABLES = """
CREATE TABLE student (uid INTEGER PRIMARY KEY, name VARCHAR NOT NULL, major VARCHAR NOT NULL);
CREATE TABLE faculty (fid INTEGER PRIMARY KEY, name VARCHAR NOT NULL, salary INTEGER NOT NULL, age INTEGER NOT NULL);
CREATE TABLE section (sid INTEGER PRIMARY KEY, fid INTEGER NOT NULL, title VARCHAR NOT NULL);
CREATE TABLE enrollment (eid INTEGER PRIMARY KEY, sid INTEGER NOT NULL, uid INTEGER NOT NULL, grade INTEGER, review INTEGER);
CREATE TABLE scholarship (aid INTEGER PRIMARY KEY, uid INTEGER NOT NULL, amount INTEGER NOT NULL);
"""

MAJORS = {
    "CS": 28,
    "Economics": 20,
    "Biology": 16,
    "Math": 12,
    "Physics": 10,
    "Chemistry": 8,
    "History": 5,
    "Philosophy": 1,
}
FIRST = "Alice Bob Chris Dan Emma Fred Grace Hugo Iris Joe Kim Leo Mia Noah Olga Paul Rosa Sam Tara Uma Vera Wim".split()
LAST = "Adams Baker Clark Diaz Evans Ford Garcia Hall Ito Jones Khan Lopez Meyer Novak Olsen Park Rossi Smith Tran".split()
TITLES = "NLP Calculus Databases Genetics Microeconomics Optics Ethics Algebra Privacy Organic Medieval Statistics".split()


def generate(path: Path) -> bool:
    """Write the DuckDB file `path`; False when it is there already."""
    return build_once(path, _fill)


def _fill(connection: duckdb.DuckDBPyConnection) -> None:
    rng = random.Random(2606)
    connection.execute(TABLES)
    for table, rows in _tables(rng):
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def _tables(rng: random.Random) -> Iterator[tuple[str, list[tuple[object, ...]]]]:
    names, weights = list(MAJORS), list(MAJORS.values())
    yield "student", [(u, _name(rng), rng.choices(names, weights)[0]) for u in range(1, STUDENTS + 1)]
    yield "faculty", [_faculty(rng, fid) for fid in range(1, FACULTY + 1)]
    teachers = [fid for fid in range(1, FACULTY + 1) for _ in range(MAX_TAUGHT)]
    rng.shuffle(teachers)
    yield "section", [(s, teachers[s - 1], rng.choice(TITLES)) for s in range(1, SECTIONS + 1)]
    yield "enrollment", _enrollments(rng)
    yield "scholarship", _scholarships(rng)


def _name(rng: random.Random) -> str:
    return f"{rng.choice(FIRST)} {rng.choice(LAST)}"


def _faculty(rng: random.Random, fid: int) -> tuple[object, ...]:
    age = rng.randint(28, 70)
    salary = min(250_000, max(30_000, round(rng.gauss(45_000 + 1_400 * age, 18_000))))
    return fid, _name(rng), salary, age


def _enrollments(rng: random.Random) -> list[tuple[object, ...]]:
    """Up to six sections a student and twenty students a section; some grades and reviews missing."""
    taken: Counter[int] = Counter()
    rows: list[tuple[object, ...]] = []
    for uid in range(1, STUDENTS + 1):
        wanted = rng.choices(range(MAX_ENROLLED + 1), [2, 6, 16, 28, 24, 15, 9])[0]
        skill = rng.gauss(76, 10)
        for sid in rng.sample(range(1, SECTIONS + 1), wanted):
            if taken[sid] < MAX_IN_SECTION:
                taken[sid] += 1
                grade = min(100, max(0, round(rng.gauss(skill, 9)))) if rng.random() < 0.97 else None
                review = rng.choices(range(1, 6), [4, 10, 24, 38, 24])[0] if rng.random() < 0.86 else None
                rows.append((len(rows) + 1, sid, uid, grade, review))
    return rows


def _scholarships(rng: random.Random) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for uid in range(1, STUDENTS + 1):
        for _ in range(rng.choices(range(MAX_SCHOLARSHIPS + 1), [60, 31, 9])[0]):
            rows.append((len(rows) + 1, uid, 500 * rng.randint(2, 60)))
    return rows
