"""What is read: the right integers, and sensitivities that no neighbour exceeds."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import duckdb
import pytest

from dp4sql.errors import Refused
from dp4sql.mechanisms.certify.report import Batch, batches, plan
from dp4sql.mechanisms.certify.request import read_request
from tests.certify.toys import Clinic, clinic, environment, policy, without

PEOPLE = {"statement": "...", "population": "SELECT * FROM person", "theta": 0.2}
REQUESTS: dict[str, tuple[dict[str, Any], float]] = {
    "counts": ({"template": "scores"}, 0.3),
    "steps": ({"template": "scores", "margin": "threshold"}, 1),
    "clipped to 1": ({"template": "scores", "mechanism": "hist", "cap": 1}, 0.3),
    "clipped to 2": ({"template": "scores", "mechanism": "hist", "cap": 2}, 0.3),
    "group counts": ({"template": "visit_groups"}, 0.3),
    "group weights": ({"template": "groups"}, 0.5),
    "weights": ({**PEOPLE, "predicate": "grp = 'a'"}, 1),
    "weights in two reads": ({"template": "visitors"}, 0),
}
"""Requests, and how much of the sensitivity random neighbours must reach at least."""


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def measured(
    connection: duckdb.DuckDBPyConnection, data: Clinic, request: dict[str, Any]
) -> list[tuple[Batch, Sequence[int]]]:
    data.fill(connection)
    env = environment(policy(), connection)

    async def read() -> list[tuple[Batch, Sequence[int]]]:
        found = await batches(env, plan(env.policies, read_request(env.policies, request)))
        return [(batch, await batch.integers(env)) for batch in found]

    return asyncio.run(read())


DATA = clinic(random.Random(5))


def test_counts_are_those_of_plain_sql(connection: duckdb.DuckDBPyConnection) -> None:
    found = measured(connection, DATA, {"template": "scores"})
    assert len(found) == 6
    for batch, (count,) in found:
        fields = batch.statements[0].binding
        kind, band = fields["k"]["name"], fields["band"]
        rows = [score for _, _, k, score in DATA.visits if k == kind]
        assert batch.statements[0].population == len(rows)
        assert count == sum(s is not None and band["lo"] <= s <= band["hi"] for s in rows)
        assert batch.bounds == {"person": 3}


def test_a_row_counts_for_the_first_statements_it_supports(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    found = measured(connection, DATA, {"template": "scores", "mechanism": "hist", "cap": 1})
    assert len(found) == 2
    for batch, counts in found:
        kind = batch.statements[0].binding["k"]["name"]
        rows = [s for _, _, k, s in DATA.visits if k == kind and s is not None]
        assert counts == [sum(s <= 4 for s in rows), sum(s > 4 for s in rows), 0]
        assert batch.bounds == {"person": 6}


def test_weights_of_a_private_population(connection: duckdb.DuckDBPyConnection) -> None:
    found = measured(connection, DATA, {"template": "groups", "theta": 0.4})
    ((batch, weights),) = found
    n = len(DATA.people)
    counts = [sum(g == group for _, g in DATA.people) for (group,) in batch.groups]
    assert [group for (group,) in batch.groups] == ["a", "b", "c"]
    assert weights == [5 * count - 2 * n for count in counts]
    assert batch.bounds == {"person": 5 + 3 * 2}
    assert batch.statements[0].population is None


def test_steps_of_a_private_population(connection: duckdb.DuckDBPyConnection) -> None:
    for batch, (steps,) in measured(connection, DATA, {"template": "visitors"}):
        group = batch.statements[0].binding["g"][""]
        people = [pid for pid, g in DATA.people if g == group]
        came = {pid for _, pid, kind, _ in DATA.visits if kind == "x"}
        weight = 4 * sum(pid in came for pid in people) - len(people)
        unit = batch.statements[0].form.unit  # type: ignore[union-attr]
        assert steps == -(-weight // unit)
        assert batch.bounds == {"person": 1}


@pytest.mark.parametrize("name", REQUESTS)
def test_no_neighbour_is_further_than_the_sensitivity(
    name: str, connection: duckdb.DuckDBPyConnection
) -> None:
    rng = random.Random(7)
    furthest, (request, reached) = 0.0, REQUESTS[name]
    for _ in range(10):
        before = clinic(rng, people=rng.randint(3, 8), visits=rng.randint(0, 6))
        after = without(rng, before)
        one, other = measured(connection, before, request), measured(connection, after, request)
        assert [batch.statements for batch, _ in one] == [batch.statements for batch, _ in other]
        for (batch, x), (_, y) in zip(one, other, strict=True):
            distance = sum(abs(a - b) for a, b in zip(x, y, strict=True))
            assert distance <= batch.bounds["person"]
            furthest = max(furthest, distance / max(1, batch.bounds["person"]))
    assert furthest >= reached


def test_public_statements_have_no_sensitivity(connection: duckdb.DuckDBPyConnection) -> None:
    ((batch, counts),) = measured(connection, DATA, {"template": "kinds"})
    assert (batch.public, counts) == (True, [1])


def test_a_slot_from_private_rows_is_refused() -> None:
    from dataclasses import replace

    from dp4sql.mechanisms.certify.slots import sources
    from dp4sql.policy.certify import Slot

    policies = policy()
    template = policies.extras["certify"].templates["scores"]
    for query in (
        "SELECT pid FROM person",
        "SELECT score FROM visit",
        "SELECT COUNT(*) FROM person",
    ):
        private = replace(template, slots={"k": Slot(public_query=query)})
        with pytest.raises(Refused, match="slot k: public_query reads private rows"):
            sources(policies, private, {})
    public = replace(template, slots={"k": Slot(public_query="SELECT kind FROM visit")})
    assert sources(policies, public, {})["k"].fields
