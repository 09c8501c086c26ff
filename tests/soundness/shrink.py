"""A violation made as small as it will go, and printed so that it can be replayed by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

import yaml

import dp4sql

from .claims import Case, Claim, Refusal, examine, exceeds
from .climb import Laboratory, Pair
from .neighbours import Change, apply
from .queries import Query
from .world import Database, World, create, inserts


@dataclass(frozen=True, slots=True)
class Violation:
    """Two neighbouring databases on which a query's answers lie farther apart than its bound."""

    world: World
    query: Query
    claim: Claim
    pair: Pair
    distance: float

    def text(self) -> str:
        return (
            f"-- {self.claim.sql} moves by {self.distance:g}, its bound is {self.claim.bound} "
            f"under policy {self.claim.policy}\n{pair_text(self.world, self.pair, self.query)}"
        )


def pair_text(world: World, pair: Pair, query: Query) -> str:
    """Policy file, both databases and the query."""
    after = apply(world, pair.before, pair.change)
    assert after is not None
    tables = "\n".join(create(table) for table in world.tables.values())
    return (
        f"{yaml.safe_dump(world.mapping(), sort_keys=False)}{tables}\n"
        f"-- before\n{_rows(world, pair.before)}\n-- after\n{_rows(world, after)}\n-- query\n{query.sql()};"
    )


def _rows(world: World, database: Database) -> str:
    return "\n".join(inserts(world, database))


def shrunk(violation: Violation) -> Violation:
    """Smaller variants are taken while they still violate some bound of the same policy."""
    laboratory = Laboratory(Random(0), violation.world)
    try:
        while (smaller := _smaller(violation, laboratory)) is not None:
            violation = smaller
        return violation
    finally:
        laboratory.close()


def _smaller(violation: Violation, laboratory: Laboratory) -> Violation | None:
    policies = dp4sql.load_policy(violation.world.mapping())
    for query in _smaller_queries(violation.query):
        case = examine(violation.world, policies, query)
        found = (
            None
            if isinstance(case, Refusal)
            else _violated(violation, laboratory, case, violation.pair)
        )
        if found is not None:
            return found
    case = examine(violation.world, policies, violation.query)
    assert isinstance(case, Case)
    for pair in _smaller_pairs(violation.pair):
        found = _violated(violation, laboratory, case, pair)
        if found is not None:
            return found
    return None


def _violated(
    violation: Violation, laboratory: Laboratory, case: Case, pair: Pair
) -> Violation | None:
    measured = laboratory.measure(case, pair)
    if measured is None:
        return None
    for claim in case.claims(violation.claim.policy):
        moved = measured.distances[claim.column]
        if exceeds(moved, claim.bound):
            return replace(violation, query=case.query, claim=claim, pair=pair, distance=moved)
    return None


def _smaller_queries(query: Query) -> Iterator[Query]:
    for part in query.conditions:
        yield replace(query, conditions=tuple(c for c in query.conditions if c != part))
    if len(query.aggregates) > 1:
        for aggregate in query.aggregates:
            yield replace(query, aggregates=(aggregate,))
    for key in query.keys:
        yield replace(query, keys=tuple(k for k in query.keys if k != key))


def _smaller_pairs(pair: Pair) -> Iterator[Pair]:
    for table, rows in pair.before.items():
        for row in rows:
            fewer = {**pair.before, table: tuple(other for other in rows if other != row)}
            yield Pair(fewer, pair.change)
    for slot in pair.change.values:
        kept = {other: new for other, new in pair.change.values.items() if other != slot}
        yield Pair(pair.before, Change(pair.change.policy, pair.change.record, kept))
