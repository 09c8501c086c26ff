"""Many random queries against many random worlds, counted."""

from __future__ import annotations

import re
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import duckdb

import dp4sql

from .claims import Case, Refusal, examine
from .climb import Climber, Laboratory
from .confirm import confirm
from .databases import random_database
from .engines import DuckDB
from .neighbours import apply
from .queries import Query, random_query
from .shrink import Violation, shrunk
from .world import Database, World
from .worlds import random_world

QUERIES_A_WORLD = 12
DATABASES_A_WORLD = 10
STEPS = 120
DEEP_STEPS = 1000
CONFIRMED = 0.4
"""Share of queries whose farthest pair also goes through DuckDB and the rendered SQL."""


@dataclass(slots=True)
class Tally:
    """What a campaign saw. `troubles` are texts to print; a sound engine leaves none."""

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
    troubles: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for name in ("tried", "accepted", "exact", "inner", "pairs", "confirmed", "engine_errors",
                     "attained", "bounds", "seconds"):  # fmt: skip
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("refused", "tightness", "constructs", "understood"):
            getattr(self, name).update(getattr(other, name))
        self.troubles += other.troubles


def campaign(seed: int, going: Callable[[Tally], bool]) -> Tally:
    """Worlds one after another from `seed`, as long as `going` says so; asked before every query."""
    rng, tally, duck, started = Random(seed), Tally(), DuckDB(), time.monotonic()
    while going(tally):
        world = random_world(rng)
        duck.use(world)
        _explore(rng, world, duck, tally, going)
    tally.seconds = time.monotonic() - started
    return tally


def _explore(rng: Random, world: World, duck: DuckDB, tally: Tally, going: Callable[[Tally], bool]) -> None:
    policies = dp4sql.load_policy(world.mapping())
    pool = [random_database(rng, world) for _ in range(DATABASES_A_WORLD)]
    laboratory = Laboratory(world)
    for _ in range(QUERIES_A_WORLD):
        if not going(tally):
            break
        query = random_query(rng, world)
        tally.tried += 1
        tally.constructs.update(query.tags)
        case = examine(world, policies, query)
        if isinstance(case, Refusal):
            tally.refused[reason(case)] += 1
            continue
        tally.understood.update(query.tags)
        tally.accepted += 1
        try:
            _challenge(rng, laboratory, duck, case, pool, tally)
        except (sqlite3.OperationalError, duckdb.Error):
            tally.engine_errors += 1
    tally.pairs += laboratory.pairs
    laboratory.close()


def _challenge(
    rng: Random, laboratory: Laboratory, duck: DuckDB, case: Case, pool: list[Database], tally: Tally
) -> None:
    tally.exact += case.explanation.public
    tally.inner += not case.probes
    climber = Climber(rng, laboratory, case, pool)
    climber.run(DEEP_STEPS if rng.random() < 0.05 else STEPS)
    _note_tightness(climber, tally)
    broken = climber.violation()
    if broken is not None:
        claim, found = broken
        violation = shrunk(Violation(case.world, case.query, claim, found.pair, found.distance))
        tally.troubles.append(f"{violation.text()}\n{case.explanation.text()}")
    elif rng.random() < CONFIRMED:
        _confirm(climber, duck, case, tally)


def _confirm(climber: Climber, duck: DuckDB, case: Case, tally: Tally) -> None:
    farthest = max(climber.best.values(), key=lambda found: found.distance, default=None)
    if farthest is None:
        return
    pair = farthest.pair
    after = apply(case.world, pair.before, pair.change)
    assert after is not None
    tally.confirmed += 1
    for trouble in confirm(duck, case, pair.change.policy, pair.before, after):
        # The claim is named for the report alone: the trouble says itself what is wrong.
        claim = case.claims(pair.change.policy)[0]
        shown = Violation(case.world, case.query, claim, pair, farthest.distance)
        tally.troubles.append(f"{trouble.kind}: {trouble.text}\n{shown.text()}")


def _note_tightness(climber: Climber, tally: Tally) -> None:
    for claim, found in climber.best.items():
        if claim.bound:
            share = found.distance / float(claim.bound)
            tally.bounds += 1
            tally.attained += share >= 1 - 1e-9
            tally.tightness[min(9, int(10 * share))] += 1


def reason(refusal: Refusal) -> str:
    """A refusal without the names and numbers of its statement."""
    text = re.sub(r'^.* has no finite bound( under policy \w+)?', "no finite bound", refusal.message)
    text = re.sub(r'"[^"]*"|\b\w+\.\w+\b|\b[p-t](_\w+)?\b|\bpol\d\b|\d+', "_", text)
    return f"{refusal.kind}: {text[:90]}"
