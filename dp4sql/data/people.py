"""Synthetic users of an assistant, as policies/people.yaml declares them; the same on every machine."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import duckdb

from dp4sql.data.files import build_once

PEOPLE, MAX_JOBS = 500, 4

TABLES = """
CREATE TABLE person (uid VARCHAR PRIMARY KEY, name VARCHAR NOT NULL, language VARCHAR NOT NULL,
    occupation VARCHAR NOT NULL, work VARCHAR, education VARCHAR, country VARCHAR, age INTEGER NOT NULL,
    marital_status VARCHAR);
CREATE TABLE job (jid INTEGER PRIMARY KEY, uid VARCHAR NOT NULL, title VARCHAR, employer VARCHAR);
"""

LANGUAGES = {
    "English": ["United Kingdom", "United States of America", "Nigeria", "India", "Australia"],
    "Spanish": ["Spain", "Mexico", "Peru", "Chile"],
    "French": ["France", "Senegal", "Canada", "Belgium"],
    "German": ["Germany", "Austria", "Switzerland"],
    "Arabic": ["Egypt", "Morocco", "Iraq"],
    "Mandarin": ["China", "Singapore"],
}

# What a person says they do, the job titles behind it, and the usual qualifications.
CAREERS = {
    "engineer": (
        "civil engineer, mechanical engineer, software developer",
        "bachelor of engineering, master of science",
    ),
    "scientist": ("chemist, biologist, statistician", "master of science, phd"),
    "teacher": (
        "primary school teacher, secondary school teacher, university lecturer",
        "bachelor of arts, master of arts, phd",
    ),
    "nurse": (
        "registered nurse, midwife, home care worker",
        "bachelor of science, higher national diploma",
    ),
    "manager": (
        "finance manager, production manager, hotel manager",
        "master of business administration, bachelor's degree",
    ),
    "office clerk": (
        "secretary, accounting clerk, call centre clerk",
        "high school diploma, vocational certificate",
    ),
    "shop worker": (
        "shop assistant, cashier, stock clerk",
        "lower secondary school, high school diploma",
    ),
    "craftsman": (
        "carpenter, electrician, plumber, baker",
        "vocational certificate, advanced vocational diploma",
    ),
    "driver": (
        "truck driver, bus driver, taxi driver",
        "lower secondary school, high school diploma",
    ),
    "farmer": ("crop farmer, dairy farmer, gardener", "primary school, vocational certificate"),
}

STATUSES = {"single": 34, "married": 46, "separated": 3, "widowed": 6, "divorced": 11}
FIRST = [
    "Ada",
    "Ben",
    "Chen",
    "Dora",
    "Emil",
    "Fay",
    "Gil",
    "Hana",
    "Ivo",
    "Jana",
    "Kofi",
    "Lea",
    "Musa",
    "Nia",
]
LAST = [
    "Abe",
    "Berg",
    "Costa",
    "Diallo",
    "Eder",
    "Fuchs",
    "Gomez",
    "Haddad",
    "Ivers",
    "Jung",
    "Kaya",
    "Okoro",
]
EMPLOYERS = ["Acme", "Borealis", "Cobalt", "Delta", "Ember", "Fjord", "Granite", "Harbor"]


def generate(path: Path) -> bool:
    """Write the DuckDB file `path`; False when it is there already."""
    return build_once(path, _fill)


def _fill(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    connection.execute(TABLES)
    for table, rows in _tables(random.Random(8192)):
        columns = [list(column) for column in zip(*rows, strict=True)]
        values = ", ".join("unnest(?)" for _ in columns)
        connection.execute(f"INSERT INTO {table} SELECT {values}", columns)


def _tables(rng: random.Random) -> Iterator[tuple[str, list[tuple[object, ...]]]]:
    people = [_person(rng, f"u{i}") for i in range(1, PEOPLE + 1)]
    yield "person", people
    yield (
        "job",
        [
            (jid, *rest)
            for jid, rest in enumerate((job for person in people for job in _jobs(rng, person)), 1)
        ],
    )


def _person(rng: random.Random, uid: str) -> tuple[object, ...]:
    language = rng.choice(list(LANGUAGES))
    occupation = rng.choice(list(CAREERS))
    titles, qualifications = (text.split(", ") for text in CAREERS[occupation])
    return (
        uid,
        f"{rng.choice(FIRST)} {rng.choice(LAST)}",
        language,
        occupation,
        _or_null(rng, rng.choice(titles)),
        _or_null(rng, rng.choice(qualifications)),
        _or_null(rng, rng.choice(LANGUAGES[language])),
        min(90, max(18, round(rng.gauss(42, 14)))),
        _or_null(rng, rng.choices(list(STATUSES), list(STATUSES.values()))[0]),
    )


def _jobs(rng: random.Random, person: tuple[object, ...]) -> Iterator[tuple[object, ...]]:
    """Earlier jobs, mostly of the same career, in free words."""
    for _ in range(rng.choices(range(MAX_JOBS + 1), [20, 34, 26, 14, 6])[0]):
        career = person[3] if rng.random() < 0.7 else rng.choice(list(CAREERS))
        title = f"{rng.choice(['junior ', 'senior ', '', ''])}{rng.choice(CAREERS[str(career)][0].split(', '))}"
        yield person[0], _or_null(rng, title), rng.choice(EMPLOYERS)


def _or_null(rng: random.Random, value: object) -> object:
    return None if rng.random() < 0.04 else value
