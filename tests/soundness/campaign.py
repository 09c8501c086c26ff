"""Many random queries against many random worlds, counted."""

from __future__ import annotations

import re
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

import duckdb

import dp4sql
from dp4sql.errors import PolicyError
from dp4sql.policy.labels import PolicySet

from .claims import Case, Refusal, examine
from .climb import Climber, Laboratory, Pair
from .confirm import confirm
from .engines import DuckDB
from .neighbours import apply
from .queries import Query, random_query
from .shrink import Violation, pair_text, shrunk
from .world import World
from .worlds import random_world, trusting

QUERIES_A_WORLD = 10
"""A world costs as much as three queries; labels and keys differ between worlds alone."""
STEPS = 90
INNER = 3
"""Pairs for a query that releases further in: the oracle then only has the rendered SQL to measure."""
DEEP = 0.03
"""Share of queries that get five times the steps, and every neighbour of their farthest databases."""
CONFIRMED = 0.1
"""Share of queries whose farthest pair also goes through DuckDB and the rendered SQL."""


@dataclass(slots=True)
class Tally:
    """What a campaign saw. `violations` are bounds that two neighbours exceed; `troubles` all else that is
    wrong (bins that differ, rendered SQL that answers something else). Both are texts to print."""

    tried: int = 0
    accepted: int = 0
    exact: int = 0
    inner: int = 0
    pairs: int = 0
    confirmed: int = 0
    engine_errors: int = 0
    seconds: float = 0.0
    refused: Counter[str] = field(default_factory=Counter)
    tightness: Counter[int] = field(default_factory=Counter)
    attained: int = 0
    bounds: int = 0
    constructs: Counter[str] = field(default_factory=Counter)
    understood: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for name in ("tried", "accepted", "exact", "inner", "pairs", "confirmed", "engine_errors",
                     "attained", "bounds", "seconds"):  # fmt: skip
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("refused", "tightness", "constructs", "understood"):
            getattr(self, name).update(getattr(other, name))
        self.violations += other.violations
        self.troubles += other.troubles


Going: TypeAlias = Callable[[Tally], bool]


def campaign(
    seed: int, going: Going, *, shrinking: bool = True, confirmed: float = CONFIRMED
) -> Tally:
    """Worlds one after another from `seed`, as long as `going` says so; asked before every query."""
    rng, tally, duck, started = Random(seed), Tally(), DuckDB(), time.monotonic()
    while going(tally):
        world = accepted(random_world(rng))
        duck.use(world)
        laboratory = Laboratory(rng, world)
        Exploration(rng, world, laboratory, duck, tally, shrinking, confirmed).run(going)
        tally.pairs += laboratory.pairs
        laboratory.close()
    tally.seconds = time.monotonic() - started
    return tally


def accepted(world: World) -> World:
    """Without truncation where a policy makes it bound nothing."""
    try:
        dp4sql.load_policy(world.mapping())
    except PolicyError:
        return trusting(world)
    return world


@dataclass(slots=True)
class Exploration:
    """Queries against one world."""

    rng: Random
    world: World
    laboratory: Laboratory
    duck: DuckDB
    tally: Tally
    shrinking: bool
    confirmed: float

    def run(self, going: Going) -> None:
        policies = dp4sql.load_policy(self.world.mapping())
        for _ in range(QUERIES_A_WORLD):
            if not going(self.tally):
                break
            query = random_query(self.rng, self.world)
            self.tally.tried += 1
            self.tally.constructs.update(query.tags)
            self._ask(policies, query)

    def _ask(self, policies: PolicySet, query: Query) -> None:
        case = examine(self.world, policies, query)
        if isinstance(case, Refusal):
            self.tally.refused[reason(case)] += 1
            return
        self.tally.understood.update(query.tags)
        self.tally.accepted += 1
        try:
            self._challenge(case)
        except (sqlite3.OperationalError, duckdb.Error):
            self.tally.engine_errors += 1

    def _challenge(self, case: Case) -> None:
        self.tally.exact += case.explanation.public
        self.tally.inner += not case.probes
        if not case.probes:
            for pair in self.laboratory.some_pairs(self.rng, INNER):
                self._confirm(pair, case)
            return
        climber = Climber(self.rng, self.laboratory, case)
        if self.rng.random() < DEEP:
            climber.run(5 * STEPS)
            climber.exhaust()
        else:
            climber.run(STEPS)
        _note_tightness(climber, self.tally)
        broken = climber.violation()
        if broken is not None:
            claim, found = broken
            violation = Violation(case.world, case.query, claim, found.pair, found.distance)
            small = shrunk(violation) if self.shrinking else violation
            self.tally.violations.append(f"{small.text()}\n{case.explanation.text()}")
        elif climber.best and self.rng.random() < self.confirmed:
            farthest = max(climber.best.values(), key=lambda found: found.distance)
            self._confirm(farthest.pair, case)

    def _confirm(self, pair: Pair, case: Case) -> None:
        after = apply(self.world, pair.before, pair.change)
        assert after is not None
        self.tally.confirmed += 1
        for trouble in confirm(self.duck, case, pair.change.policy, pair.before, after):
            replay = pair_text(self.world, pair, case.query)
            found = self.tally.violations if trouble.kind == "bound" else self.tally.troubles
            found.append(f"-- {trouble.kind}: {trouble.text}\n{replay}\n{case.explanation.text()}")


def _note_tightness(climber: Climber, tally: Tally) -> None:
    for claim, found in climber.best.items():
        if claim.bound:
            share = found.distance / float(claim.bound)
            tally.bounds += 1
            tally.attained += share >= 1 - 1e-9
            tally.tightness[min(9, int(10 * share))] += 1


def reason(refusal: Refusal) -> str:
    """A refusal without the names and numbers of its statement."""
    text = re.sub(
        r"^.* has no finite bound( under policy \w+)?", "no finite bound", refusal.message
    )
    text = re.sub(r'"[^"]*"|\b\w+\.\w+\b|\b[p-t](_\w+)?\b|\bpol\d\b|\d+', "_", text)
    return f"{refusal.kind}: {text[:90]}"
