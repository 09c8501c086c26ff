"""A clinic of a few people, small enough to enumerate, with every kind of template."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import duckdb

import dp4sql
from dp4sql.mechanisms.calls import Environment
from dp4sql.policy.labels import PolicySet
from dp4sql.rows import OutputColumn, PrivateRows
from dp4sql.sql.dialects import DUCKDB

GROUPS, KINDS = ("a", "b", "c"), ("x", "y")
MOST_VISITS = 3

POLICY: dict[str, Any] = {
    "dp4sql": 1,
    "tables": {
        "person": {
            "key": ["pid"],
            "rows": 50,
            "columns": {"pid": "integer", "grp": {"type": "text", "domain": list(GROUPS)}},
        },
        "visit": {
            "key": ["vid"],
            "foreign_keys": {"pid": "person"},
            "max_frequency": {"pid": MOST_VISITS},
            "columns": {
                "vid": "integer",
                "pid": "integer",
                "kind": {"type": "text", "domain": list(KINDS)},
                "score": {"type": "integer", "range": [0, 9], "nullable": True},
            },
        },
        "kind": {"key": ["name"], "columns": {"name": "text", "label": "text"}},
    },
    "policies": {
        "person": {
            "entity": "person",
            "epsilon": 1,
            "budget": 100,
            "labels": {"person": "del", "visit": {"rep": ["pid", "score"]}, "kind": "pub"},
        }
    },
    "certify": {
        "defaults": {"delta": 0.000001, "max_statements": 40},
        "templates": {
            "scores": {
                "text": "At least {theta} of {k.label} visits score {band.lo} to {band.hi}.",
                "population": "SELECT * FROM visit WHERE kind = {k.name}",
                "predicate": "score BETWEEN {band.lo} AND {band.hi}",
                "slots": {
                    "k": {"public_query": "SELECT name, label FROM kind ORDER BY name"},
                    "band": {
                        "values": [{"lo": 0, "hi": 4}, {"lo": 3, "hi": 9}, {"lo": 9, "hi": 9}]
                    },
                },
                "theta": [0.2, 0.5],
            },
            "groups": {
                "text": "At least {theta} of the people are in group {grp}.",
                "population": "SELECT * FROM person",
                "group_by": "grp",
                "theta": [0.2, 0.4],
            },
            "visit_groups": {
                "text": "At least {theta} of visits are by people of group {grp}.",
                "population": "SELECT v.vid, p.grp FROM visit v LEFT JOIN person p USING (pid)",
                "group_by": ["grp"],
                "theta": 0.3,
            },
            "visitors": {
                "text": "At least {theta} of the people of {g} came for {k}.",
                "population": "SELECT * FROM person WHERE grp = {g}",
                "predicate": "EXISTS (SELECT 1 FROM visit v WHERE v.pid = population.pid AND v.kind = {k})",
                "slots": {"g": {"values": ["a", "b"]}, "k": {"values": ["x"], "type": "text"}},
                "theta": 0.25,
            },
            "free": {
                "text": "At least {theta} of visits score {s} or more.",
                "population": "SELECT * FROM visit",
                "predicate": "score >= {s}",
                "slots": {"s": {"type": "integer"}},
                "theta": 0.1,
            },
            "kinds": {
                "text": "At least {theta} of kinds are called x.",
                "population": "SELECT * FROM kind",
                "predicate": "name = 'x'",
                "theta": 0.5,
            },
        },
    },
}

Person, Visit = tuple[int, str], tuple[int, int, str, int | None]


@dataclass(frozen=True)
class Clinic:
    people: tuple[Person, ...]
    visits: tuple[Visit, ...]

    def fill(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("CREATE OR REPLACE TABLE person (pid INTEGER, grp VARCHAR)")
        connection.execute(
            "CREATE OR REPLACE TABLE visit (vid INTEGER, pid INTEGER, kind VARCHAR, score INTEGER)"
        )
        connection.execute("CREATE OR REPLACE TABLE kind (name VARCHAR, label VARCHAR)")
        connection.execute("INSERT INTO kind VALUES ('x', 'short'), ('y', 'long')")
        if self.people:
            connection.executemany("INSERT INTO person VALUES (?, ?)", self.people)
        if self.visits:
            connection.executemany("INSERT INTO visit VALUES (?, ?, ?, ?)", self.visits)


def clinic(rng: random.Random, people: int = 8, visits: int = 14) -> Clinic:
    persons = tuple((pid, rng.choice(GROUPS)) for pid in range(people))
    free = [pid for pid in range(people) for _ in range(MOST_VISITS)]
    owners = rng.sample(free, visits)
    return Clinic(
        persons,
        tuple((vid, pid, rng.choice(KINDS), _score(rng)) for vid, pid in enumerate(owners)),
    )


def _score(rng: random.Random) -> int | None:
    return rng.choice((None, *range(10)))


def without(rng: random.Random, before: Clinic) -> Clinic:
    """A neighbour: the person with most visits less, these now somebody else's with other scores."""
    owners = [pid for _, pid, _, _ in before.visits]
    gone = max((pid for pid, _ in before.people), key=owners.count)
    people = tuple(p for p in before.people if p[0] != gone)
    used = [pid for _, pid, _, _ in before.visits if pid != gone]
    free = [pid for pid, _ in people for _ in range(MOST_VISITS - used.count(pid))]
    rng.shuffle(free)
    visits = tuple(
        (vid, free.pop(), kind, _score(rng)) if pid == gone else (vid, pid, kind, score)
        for vid, pid, kind, score in before.visits
    )
    return Clinic(people, visits)


@dataclass
class Memory:
    """Answers kept in memory."""

    answers: dict[str, str] = field(default_factory=dict)

    def find(self, key: str) -> str | None:
        return self.answers.get(key)

    def keep(self, key: str, content: str) -> None:
        self.answers[key] = content

    def note(self, key: str, *, role: str, purpose: str, reused: bool) -> None:
        pass


def policy() -> PolicySet:
    return dp4sql.load_policy(POLICY)


def environment(policies: PolicySet, connection: duckdb.DuckDBPyConnection) -> Environment:
    async def fetch(sql: str, columns: Sequence[OutputColumn]) -> PrivateRows:
        rows = connection.execute(sql).fetchall()
        return PrivateRows(list(zip(*rows, strict=True)) if rows else [()] * len(columns))

    epsilons = {p.name: Fraction(1) for p in policies.policies}
    return Environment(policies, epsilons, DUCKDB, "", "memory", fetch, Memory())
