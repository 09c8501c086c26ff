"""What may not be about a statement on two neighbours, or on two engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dp4sql.budget.journal import Asked, Outcome
from dp4sql.budget.ledger import Ledger
from dp4sql.errors import CardinalityViolation, Dp4sqlError, InternalError
from dp4sql.pipeline import Pipeline
from dp4sql.policy.labels import PolicySet
from dp4sql.settings import Settings

from .channel import Channel, Noiseless, Sent
from .engines import Place, Switch, described, one_thread

ANEW = Settings(reuse="off")


@dataclass(frozen=True, slots=True)
class Seen:
    """All that a client, the ledger and the engine learn of a statement."""

    error: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    charges: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    failed: bool = False

    @property
    def refused(self) -> bool:
        return bool(self.error) and not self.failed and not self.asked


@dataclass(slots=True)
class Watch:
    """A journal: what the statement that ended last was charged, and how it ended."""

    charges: tuple[str, ...] = ()

    def priced(self, asked: Asked) -> None:
        pass

    def ended(self, asked: Asked, outcome: Outcome, error: BaseException | None) -> None:
        self.charges = () if outcome == "refused" else (*map(repr, asked.charges), outcome)


@dataclass(slots=True)
class Reader:
    """One engine's pipeline, whose database changes."""

    switch: Switch
    pipeline: Pipeline
    noiseless: Noiseless
    watch: Watch = field(default_factory=Watch)

    async def see(self, place: Place, sql: str, channel: Channel) -> Seen:
        self.switch.backend, self.switch.asked = place.backend, []
        self.noiseless.channel, self.watch.charges = channel, ()
        try:
            found = await self.pipeline.query(sql, settings=ANEW)
        except Dp4sqlError as error:
            return self._ended(f"{error.message} {error.hint} {error.detail}", error)
        except Exception as error:  # A crash is what is looked for, too.
            return self._ended(str(error), error)
        # What is simulated is drawn anew each time.
        notices = tuple(n for n in found.notices if "(simulated" not in n)
        columns = tuple(f"{c.name} {c.type}" for c in found.columns)
        rows, asked = described(found.rows), tuple(self.switch.asked)
        return Seen("", columns, rows, notices, self.watch.charges, asked)

    def _ended(self, told: str, error: Exception) -> Seen:
        asked, charges = tuple(self.switch.asked), self.watch.charges
        text = f"{type(error).__name__} {told}"
        expected = isinstance(error, Dp4sqlError) and not isinstance(error, InternalError)
        # Of what is released there may be several values where one is asked for.
        late = bool(asked or charges) and not isinstance(error, CardinalityViolation)
        return Seen(text, charges=charges, asked=asked, failed=late or not expected)


def reader(policies: PolicySet, switch: Switch, noiseless: Noiseless, ledger: str) -> Reader:
    watch = Watch()
    with one_thread():
        pipeline = Pipeline(policies, switch, Ledger(ledger), journals=[watch])
    return Reader(switch, pipeline, noiseless, watch)


# ---------------------------------------------------------------- two neighbours


@dataclass(frozen=True, slots=True)
class Move:
    """How far a measurement moved between neighbours, and how far it may."""

    what: str
    distance: Fraction
    bound: Fraction


@dataclass(frozen=True, slots=True)
class Compared:
    """`troubles`: what is wrong about two neighbours. `seen`: what the first of them showed."""

    troubles: tuple[str, ...]
    seen: Seen
    moves: tuple[Move, ...]


async def compared(reader: Reader, sql: str, policy: str, before: Place, after: Place) -> Compared:
    """Neighbours under `policy`."""
    first = Channel()
    here = await reader.see(before, sql, first)
    second = Channel(first.own)
    there = await reader.see(after, sql, second)
    sent = list(zip(first.sent, second.sent, strict=False))
    moves = tuple(move for a, b in sent for move in _moves(policy, a, b))
    far = (
        f"{m.what} moves by {m.distance}, bound {m.bound}" for m in moves if m.distance > m.bound
    )
    return Compared((*_parted(here, there), *_bins(sent), *far), here, moves)


def _parted(here: Seen, there: Seen) -> Iterator[str]:
    for name in ("error", "columns", "rows", "notices", "charges", "asked"):
        mine, other = getattr(here, name), getattr(there, name)
        if mine != other:
            yield f"{name} differ: {_parting(mine, other)}"
    if here.failed:
        yield f"fails: {here.error}"


def _parting(mine: Any, other: Any) -> str:
    if isinstance(mine, str):
        return f"{mine!r} and {other!r}"
    pairs = [(a, b) for a, b in zip(mine, other, strict=False) if a != b]
    return f"{pairs[:2]} of {len(mine)} and {len(other)}"


def _bins(sent: Sequence[tuple[Sent, Sent]]) -> Iterator[str]:
    for a, b in sent:
        if len(a.exact) != len(b.exact):
            yield f"{a.measurement.quantity.kind} has {len(a.exact)} and {len(b.exact)} bins"


def _moves(policy: str, a: Sent, b: Sent) -> Iterator[Move]:
    """The L1 distance over all bins, and the square of the L2 distance."""
    m, pairs = a.measurement, list(zip(a.exact, b.exact, strict=False))
    bound, kind = m.bounds.get(policy, Fraction(0)), m.quantity.kind
    if m.quantity.rank is not None:
        aside = m.quantity.rank.target is not None
        lost = sum(_lost([v - u for u, v in zip(*pair, strict=True)], aside) for pair in pairs)
        yield Move(kind, Fraction(lost), bound)
        return
    steps = [abs(int(u) - int(v)) for u, v in pairs]
    yield Move(kind, Fraction(sum(steps)), bound)
    square = m.squares.get(policy, Fraction(0))
    yield Move(f"{kind} squared", Fraction(sum(s * s for s in steps)), square)


def _lost(steps: Sequence[int], aside: bool) -> int:
    """What a choice loses where its scores make these steps, in units of its scale. Steps that all are alike
    (`aside`: how far apart they lie) change no choice."""
    return max(steps) - min(steps) if aside else 2 * max(map(abs, steps))


# ---------------------------------------------------------------- two engines


async def agreed(one: Reader, other: Reader, sql: str, places: tuple[Place, Place]) -> Compared:
    """The same rows in two engines give the same answer. What one of them has no safe SQL for is refused there."""
    mine, others = Channel(), Channel()
    here = await one.see(places[0], sql, mine)
    there = await other.see(places[1], sql, others)
    if here.refused or there.refused:
        return Compared((), here if here.refused else there, ())
    names = [n for n in ("error", "columns", "rows") if getattr(here, n) != getattr(there, n)]
    found = [f"{n} differ: {_parting(getattr(here, n), getattr(there, n))}" for n in names]
    for a, b in zip(mine.sent, others.sent, strict=False):
        pairs = [(u, v) for u, v in zip(a.exact, b.exact, strict=False) if u != v]
        if pairs:
            found.append(f"{a.measurement.quantity.kind} is {pairs[:2]}")
    return Compared(tuple(found), here, ())
