"""Many random statements on many pairs of wild neighbours, or on tame rows in two engines, counted."""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Literal, TypeAlias

from .channel import Noiseless, taken_out
from .engines import Place, Switch, inserts, places
from .expressions import CONSTANTS, SHORT
from .oracle import Compared, Reader, agreed, compared, reader
from .queries import random_statement
from .values import Engine
from .world import Database, Draws, Pair, policy, smaller

LOADED = 4
"""Pairs, or databases, that are loaded at a time."""
ASKED = 12
"""Statements until one of them is drawn anew."""
COPIED = 0.7
"""Share of statements whose rows Postgres sends by COPY."""


@dataclass(slots=True)
class Tally:
    """What a campaign saw. `compared`: pairs of answers; `attained`: bounds that neighbours reached."""

    tried: int = 0
    accepted: int = 0
    compared: int = 0
    bounds: int = 0
    attained: int = 0
    seconds: float = 0.0
    refused: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for name in ("tried", "accepted", "compared", "bounds", "attained", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.refused.update(other.refused)
        self.violations += other.violations


Kind: TypeAlias = Literal["duckdb", "postgres", "both"]
"""Neighbours in one engine, or the same rows in two."""
Going: TypeAlias = Callable[[Tally], bool]


def campaign_of(kind: Kind, seed: int, going: Going, *, shrinking: bool = True) -> Tally:
    """One of the two below; `both` engines agree on tame rows."""
    if kind == "both":
        return tame_campaign(seed, going)
    return wild_campaign(kind, seed, going, shrinking=shrinking)


def wild_campaign(engine: Engine, seed: int, going: Going, *, shrinking: bool = True) -> Tally:
    """Statements from `seed` on neighbours in `engine`, as long as `going` says so; asked before each."""
    rng = Random(seed)
    each = {"accountant": "zcdp", "delta": 1e-6} if rng.random() < 0.3 else {}
    with taken_out() as noiseless, places(engine, 2 * LOADED) as found, _folder() as folder:
        one = _reader(engine, found, noiseless, folder, each)
        pairs = Neighbours(Draws(rng, engine), one, found, shrinking)
        return asyncio.run(_run(Campaign(rng, pairs, [one]), found, going))


def tame_campaign(seed: int, going: Going) -> Tally:
    """The same rows, of which all are as declared, in DuckDB and in Postgres."""
    rng = Random(seed)
    with (
        taken_out() as noiseless,
        places("duckdb", LOADED) as ducks,
        places("postgres", LOADED) as elephants,
        _folder() as folder,
    ):
        duck = _reader("duckdb", ducks, noiseless, folder, {})
        elephant = _reader("postgres", elephants, noiseless, folder, {})
        both = Engines(Draws(rng, "duckdb", tame=True), (duck, elephant), (ducks, elephants))
        campaign = Campaign(rng, both, [duck, elephant])
        return asyncio.run(_run(campaign, [*ducks, *elephants], going))


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def _reader(
    engine: Engine,
    found: Sequence[Place],
    noiseless: Noiseless,
    folder: Path,
    each: dict[str, object],
) -> Reader:
    switch = Switch(engine, found[0].backend)
    return reader(policy(**each), switch, noiseless, str(folder / f"{engine}.ledger"))


async def _run(campaign: Campaign, found: Sequence[Place], going: Going) -> Tally:
    try:
        return await campaign.run(going)
    finally:
        for place in found:
            await place.backend.close()


# ---------------------------------------------------------------- what is compared


class Neighbours:
    """Pairs of databases in one engine."""

    constants = CONSTANTS

    def __init__(self, draws: Draws, one: Reader, found: list[Place], shrinking: bool) -> None:
        self.draws, self.one, self.found, self.shrinking = draws, one, found, shrinking
        self.pairs: list[Pair] = [draws.pair() for _ in range(LOADED)]

    def load(self, i: int) -> None:
        self.pairs[i] = self.draws.pair()
        self._load(i, self.pairs[i])

    def _load(self, i: int, pair: Pair) -> None:
        for place, database in zip(self.found[2 * i :], (pair.before, pair.after), strict=False):
            place.load(database)

    async def compare(self, sql: str, i: int) -> Compared:
        before, after = self.found[2 * i : 2 * i + 2]
        return await compared(self.one, sql, self.pairs[i].policy, before, after)

    async def text(self, sql: str, i: int, troubles: Sequence[str]) -> str:
        """What replays it, with no row more than that needs."""
        pair = self.pairs[i]
        while self.shrinking and (less := await self._smaller(sql, i, pair)) is not None:
            pair, troubles = less
        self._load(i, self.pairs[i])
        lines = [*troubles, f"-- neighbours under {pair.policy}: before", *inserts(pair.before)]
        return "\n".join((sql, *lines, "-- after", *inserts(pair.after)))

    async def _smaller(self, sql: str, i: int, pair: Pair) -> tuple[Pair, Sequence[str]] | None:
        before, after = self.found[2 * i : 2 * i + 2]
        for less in smaller(pair):
            self._load(i, less)
            found = await compared(self.one, sql, less.policy, before, after)
            if found.troubles:
                return less, found.troubles
        return None


class Engines:
    """The same database in two engines."""

    constants = SHORT

    def __init__(
        self,
        draws: Draws,
        readers: tuple[Reader, Reader],
        found: tuple[list[Place], list[Place]],
    ) -> None:
        self.draws, self.readers, self.found = draws, readers, found
        self.databases: list[Database] = [draws.database() for _ in range(LOADED)]

    def load(self, i: int) -> None:
        self.databases[i] = self.draws.database()
        for ours in self.found:
            ours[i].load(self.databases[i])

    async def compare(self, sql: str, i: int) -> Compared:
        return await agreed(*self.readers, sql, (self.found[0][i], self.found[1][i]))

    async def text(self, sql: str, i: int, troubles: Sequence[str]) -> str:
        return "\n".join((sql, *troubles, *inserts(self.databases[i])))


class Campaign:
    def __init__(self, rng: Random, of: Neighbours | Engines, readers: Sequence[Reader]) -> None:
        self.rng, self.of, self.readers, self.tally = rng, of, readers, Tally()

    async def run(self, going: Going) -> Tally:
        started = time.process_time()
        await asyncio.gather(*(one.pipeline.start() for one in self.readers))
        for i in range(LOADED):
            self.of.load(i)
        while going(self.tally):
            if self.tally.tried % ASKED == ASKED - 1:
                self.of.load(self.rng.randrange(LOADED))
            await self._ask(random_statement(self.rng, self.of.constants))
        self.tally.seconds = time.process_time() - started
        return self.tally

    async def _ask(self, sql: str) -> None:
        self.tally.tried += 1
        many = self.rng.random() < COPIED
        for one in self.readers:
            one.switch.many = many
        for i in range(LOADED):
            found = await self.of.compare(sql, i)
            if found.seen.refused and not found.troubles:
                self.tally.refused[reason(found.seen.error)] += 1
                return
            self.tally.compared += 1
            self.tally.bounds += sum(m.bound > 0 for m in found.moves)
            self.tally.attained += sum(0 < m.bound == m.distance for m in found.moves)
            if found.troubles:
                self.tally.violations.append(await self.of.text(sql, i, found.troubles))
                return
        self.tally.accepted += 1


def reason(error: str) -> str:
    """A refusal without the names and numbers of its statement."""
    return re.sub(r'"[^"]*"|\S*\d+\S*', "_", error)[:80]
