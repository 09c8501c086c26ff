"""The search for the farthest neighbours: a bank of pairs to screen every query with, then hill-climbing.

The bank's databases are loaded once a world, each in a SQLite of its own, so that screening costs a few
dozen tiny queries. Climbing mutates the best pair's database and its change towards a larger distance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from .claims import Answer, Case, Claim, answer, distances, exceeds
from .databases import mutated, random_database
from .engines import SQLite
from .neighbours import Change, apply, every_change, random_change, tweaked
from .truncated import seen
from .world import Database, World

DATABASES = 16
CHANGES = 3
"""Changes a database and a policy in the bank."""
CLIMBS = 3
NEAR = 0.45
"""From this share of its bound on a claim is always climbed for; below, one time in five."""
GLANCE = 16
FAR = 0.1
"""A query all whose distances lie below this share of their bounds after so many pairs is left alone: on tables of
four rows no climb goes ten times as far."""


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
    """Distances a probe, and the mass of the answer: on a plateau more rows are the way up, or fewer."""

    distances: list[float]
    mass: float


class Bench:
    """One SQLite database that remembers what it holds and its last answer."""

    def __init__(self, world: World) -> None:
        self._engine = SQLite(world)
        self._held: Database | None = None
        self._asked: Case | None = None
        self._answer: Answer = {}

    def answer(self, case: Case, database: Database) -> Answer:
        if self._held is not database:
            self._engine.load(seen(case.world, database))
            self._held, self._asked = database, None
        if self._asked is not case:
            self._answer = answer(self._engine.rows(case.sql), len(case.query.keys))
            self._asked = case
        return self._answer

    def close(self) -> None:
        self._engine.close()


def compare(case: Case, left: Answer, right: Answer) -> Measured:
    moved = distances(left, right, len(case.probes))
    return Measured(moved, sum(abs(value) for row in left.values() for value in row))


@dataclass(frozen=True, slots=True)
class Banked:
    pair: Pair
    after: Database
    left: Bench
    right: Bench


class Laboratory:
    """Measures pairs of one world. `pairs` counts them."""

    def __init__(self, rng: Random, world: World) -> None:
        self.world = world
        self.pairs = 0
        self._left, self._right = Bench(world), Bench(world)
        self._bank = list(_bank(rng, world))

    def screen(self, case: Case) -> Iterator[tuple[Pair, Measured]]:
        """Every pair of the bank."""
        for banked in self._bank:
            self.pairs += 1
            left = banked.left.answer(case, banked.pair.before)
            yield banked.pair, compare(case, left, banked.right.answer(case, banked.after))

    def measure(self, case: Case, pair: Pair) -> Measured | None:
        """None where the pair is no pair of admissible neighbours."""
        after = apply(self.world, pair.before, pair.change)
        if after is None:
            return None
        self.pairs += 1
        left, right = self._left.answer(case, pair.before), self._right.answer(case, after)
        return compare(case, left, right)

    def some_pairs(self, rng: Random, most: int) -> list[Pair]:
        """Pairs of the bank, at most so many."""
        return [banked.pair for banked in rng.sample(self._bank, min(most, len(self._bank)))]

    def close(self) -> None:
        for bench in {
            id(b): b for banked in self._bank for b in (banked.left, banked.right)
        }.values():
            bench.close()
        self._left.close()
        self._right.close()


def _bank(rng: Random, world: World) -> Iterator[Banked]:
    for _ in range(DATABASES):
        before, left = random_database(rng, world), Bench(world)
        for policy in world.policies:
            for _ in range(CHANGES):
                change = random_change(rng, world, before, policy)
                after = None if change is None else apply(world, before, change)
                if change is not None and after is not None and after != before:
                    yield Banked(Pair(before, change), after, left, Bench(world))


class Climber:
    """Searches one case for the farthest pairs; `best` has an entry a claim that was measured at all."""

    def __init__(self, rng: Random, laboratory: Laboratory, case: Case) -> None:
        self.rng, self.laboratory, self.case = rng, laboratory, case
        self.world = case.world
        self.best: dict[Claim, Found] = {}
        self._claims = {policy.name: case.claims(policy.name) for policy in self.world.policies}

    def run(self, steps: int) -> None:
        """Screen the bank, then about `steps` measurements a policy in climbs for its loosest claims."""
        for seen_pairs, (pair, measured) in enumerate(self.laboratory.screen(self.case)):
            if seen_pairs == GLANCE and self._hopeless():
                return
            self._note(pair, measured)
        for claims in self._claims.values():
            aimed: Counter[Claim] = Counter()
            for _ in range(CLIMBS if claims else 0):
                target = min(claims, key=lambda claim: (self._attained(claim), aimed[claim]))
                if self._attained(target) or target not in self.best:
                    break
                aimed[target] += 1
                if self._near(target) or self.rng.random() < 0.2:
                    self._climb(target, steps // CLIMBS)

    def exhaust(self, most: int = 200) -> None:
        """Every change of every record in the databases of the farthest pairs, `most` a record."""
        for found in list(self.best.values()):
            policy = self.world.policy(found.pair.change.policy)
            for change in every_change(self.world, found.pair.before, policy, most):
                self._measure(Pair(found.pair.before, change))

    def violation(self) -> tuple[Claim, Found] | None:
        for claim, found in self.best.items():
            if exceeds(found.distance, claim.bound):
                return claim, found
        return None

    def _hopeless(self) -> bool:
        return all(found.distance < FAR * float(claim.bound) for claim, found in self.best.items())

    def _attained(self, claim: Claim) -> bool:
        """Beyond this only a violation lies; a bound of 0 calls for a search all the same."""
        found = self.best.get(claim)
        return found is not None and 0 < claim.bound <= found.distance

    def _near(self, claim: Claim) -> bool:
        if claim.bound == 0:
            return self.rng.random() < 0.5
        return self.best[claim].distance >= NEAR * float(claim.bound)

    def _climb(self, target: Claim, steps: int) -> None:
        pair, height = self.best[target].pair, (self.best[target].distance, 0.0)
        uphill = self.rng.choice((1, 1, -1))
        for step in range(steps):
            candidate = self._step(pair)
            measured = None if candidate is None else self._measure(candidate)
            if measured is None or candidate is None:
                continue
            reached = (measured.distances[target.column], uphill * measured.mass)
            if reached >= height or (step % 8 == 7 and reached[0] >= height[0]):
                pair, height = candidate, reached
            if 0 < target.bound <= height[0]:
                return

    def _measure(self, pair: Pair) -> Measured | None:
        measured = self.laboratory.measure(self.case, pair)
        if measured is not None:
            self._note(pair, measured)
        return measured

    def _note(self, pair: Pair, measured: Measured) -> None:
        for claim in self._claims[pair.change.policy]:
            known = self.best.get(claim)
            if known is None or measured.distances[claim.column] > known.distance:
                self.best[claim] = Found(measured.distances[claim.column], pair)

    def _step(self, pair: Pair) -> Pair | None:
        """One row of the database or of the change drawn again, or another change."""
        move = self.rng.random()
        if move < 0.4:
            policy = self.world.policy(pair.change.policy)
            change = (
                tweaked(self.rng, self.world, pair.before, pair.change)
                if move < 0.3
                else random_change(self.rng, self.world, pair.before, policy)
            )
            return None if change is None else Pair(pair.before, change)
        before = mutated(self.rng, self.world, pair.before)
        if before is not None and self.rng.random() < 0.3:
            before = mutated(self.rng, self.world, before) or before
        return None if before is None else Pair(before, pair.change)
