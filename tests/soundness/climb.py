"""Hill-climbing: mutate the database and the neighbour towards the largest distance for one claim."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from .claims import Answer, Case, Claim, answer, distances, exceeds
from .databases import mutated
from .engines import SQLite
from .neighbours import Change, apply, every_change, random_change, tweaked
from .world import Database, World


@dataclass(frozen=True, slots=True)
class Pair:
    """A database and the change that makes its neighbour."""

    before: Database
    change: Change


@dataclass(frozen=True, slots=True)
class Found:
    """The farthest pair seen for a claim."""

    distance: float
    pair: Pair


@dataclass(frozen=True, slots=True)
class Measured:
    """Distances a probe, and the mass of the answer: on a plateau, more rows are the way up."""

    distances: list[float]
    mass: float


class Laboratory:
    """Measures pairs of one world in two SQLite databases, one for each side."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._left, self._right = SQLite(world), SQLite(world)
        self.pairs = 0

    def measure(self, case: Case, pair: Pair) -> Measured | None:
        """Distance of every probe; None where the pair is no pair of admissible neighbours."""
        after = apply(self.world, pair.before, pair.change)
        if after is None:
            return None
        self.pairs += 1
        left = self._answer(self._left, case, pair.before)
        right = self._answer(self._right, case, after)
        moved = distances(left, right, len(case.probes))
        return Measured(moved, sum(abs(value) for row in left.values() for value in row))

    @staticmethod
    def _answer(engine: SQLite, case: Case, database: Database) -> Answer:
        engine.load(database)
        return answer(engine.rows(case.sql), len(case.query.keys))

    def close(self) -> None:
        self._left.close()
        self._right.close()


class Climber:
    """Searches one case for the farthest pairs; `best` has an entry a claim that was measured at all."""

    def __init__(self, rng: Random, laboratory: Laboratory, case: Case, pool: list[Database]) -> None:
        self.rng, self.laboratory, self.case, self.pool = rng, laboratory, case, pool
        self.world = case.world
        self.best: dict[Claim, Found] = {}

    def run(self, steps: int) -> None:
        """About `steps` measurements a policy, in climbs that each aim at the loosest claim so far."""
        for policy in self.world.policies:
            claims = self.case.claims(policy.name)
            for _ in range(4):
                target = min(claims, key=self._tightness, default=None)
                if target is None or self._tightness(target) >= 1:
                    break
                self._climb(target, claims, steps // 4)
            self._exhaust(claims)

    def violation(self) -> tuple[Claim, Found] | None:
        for claim, found in self.best.items():
            if exceeds(found.distance, claim.bound):
                return claim, found
        return None

    def _tightness(self, claim: Claim) -> float:
        """1 where the bound is attained; a bound of 0 always is."""
        found = self.best.get(claim)
        if claim.bound == 0 and found is not None:
            return 1.0
        return found.distance / float(claim.bound) if found is not None else 0.0

    def _climb(self, target: Claim, claims: list[Claim], steps: int) -> None:
        pair, height = None, (-1.0, 0.0)
        for step in range(steps):
            candidate = self._start(target) if pair is None else self._neighbouring(pair)
            measured = None if candidate is None else self._measured(candidate, claims)
            if measured is None or candidate is None:
                continue
            reached = (measured.distances[target.column], measured.mass)
            if reached >= height or (step % 8 == 7 and reached[0] >= height[0]):
                pair, height = candidate, reached
            if 0 < target.bound <= height[0]:
                return

    def _measured(self, pair: Pair, claims: list[Claim]) -> Measured | None:
        measured = self.laboratory.measure(self.case, pair)
        if measured is not None:
            for claim in claims:
                known = self.best.get(claim)
                if known is None or measured.distances[claim.column] > known.distance:
                    self.best[claim] = Found(measured.distances[claim.column], pair)
        return measured

    def _start(self, target: Claim) -> Pair | None:
        before = self.rng.choice(self.pool)
        change = random_change(self.rng, self.world, before, self.world.policy(target.policy))
        return None if change is None else Pair(before, change)

    def _neighbouring(self, pair: Pair) -> Pair | None:
        move = self.rng.random()
        policy = self.world.policy(pair.change.policy)
        if move < 0.3:
            change = tweaked(self.rng, self.world, pair.before, pair.change)
            return None if change is None else Pair(pair.before, change)
        if move < 0.4:
            change = random_change(self.rng, self.world, pair.before, policy)
            return None if change is None else Pair(pair.before, change)
        before = mutated(self.rng, self.world, pair.before)
        if before is not None and self.rng.random() < 0.3:
            before = mutated(self.rng, self.world, before) or before
        return None if before is None else Pair(before, pair.change)

    def _exhaust(self, claims: list[Claim], most: int = 24) -> None:
        """Every change of every record of the farthest pair's database, where there are few."""
        found = max((self.best[c] for c in claims if c in self.best), key=lambda f: f.distance, default=None)
        if found is None:
            return
        policy = self.world.policy(found.pair.change.policy)
        for change in every_change(self.world, found.pair.before, policy, most):
            self._measured(Pair(found.pair.before, change), claims)
