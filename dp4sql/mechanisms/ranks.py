"""What MIN, MAX and percentiles choose among: a list of public candidates, known by their numbers.

Numbers and moments lie on an even grid between the ends of the range; what DATE_TRUNC cuts to months or more has
the firsts of months; texts are those of the declared domain, in the order of their code points.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from dp4sql.algebra.expr import Call, Case, Col, Expr, Lit
from dp4sql.algebra.nodes import Aggregate, Node
from dp4sql.algebra.schema import Schema
from dp4sql.algebra.times import MICROS, MONTHS
from dp4sql.algebra.types import TEXTS, TIMES, Type, Value
from dp4sql.infer.facts import Facts
from dp4sql.infer.moments import EPOCH, Range
from dp4sql.infer.ranges import Fact
from dp4sql.mechanisms.origin import traced
from dp4sql.noise import selection_shortfall

MOST_NUMBERS: Final = 1000
MOST_TIMES: Final = 4000
"""Ten years by the day."""
DAY: Final = MICROS["day"]
_FIRST: Final = (datetime.date.min - EPOCH).days
_LAST: Final = (datetime.date.max - EPOCH).days
_ROUND: Final = (
    *(f * 10**k for k in range(6) for f in (1, 2, 5)),
    *(f * unit for unit in (MICROS["second"], MICROS["minute"]) for f in (1, 2, 5, 10, 15, 30)),
    *(f * MICROS["hour"] for f in (1, 2, 3, 6, 12)),
)
"""Steps that people count moments in, in microseconds; beyond them whole days."""
Scale = Literal["number", "day", "microsecond", "month", "text"]


@dataclass(frozen=True, slots=True)
class Grid:
    """Candidate i is first + i * step: a number, or so many days, microseconds or months since 1970-01-01;
    of texts the one at that place among `values`."""

    scale: Scale
    first: Fraction
    step: Fraction
    candidates: int
    values: tuple[str, ...] = ()
    other: str | None = None

    def point(self, place: int) -> Fraction:
        return self.first + place * self.step

    def moment(self, place: int, type: Type) -> Value:
        """A candidate that is no number, as a value of `type`."""
        point = int(self.point(place))
        match self.scale:
            case "text":
                return self.values[point]
            case "day":
                return EPOCH + datetime.timedelta(days=point)
            case "month":
                found = datetime.datetime(1970 + point // 12, point % 12 + 1, 1)
            case _:
                found = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=point)
        zoned = type.kind == "timestamp with time zone"
        return found.replace(tzinfo=datetime.UTC) if zoned else found


@dataclass(frozen=True, slots=True)
class Rank:
    """A quantile as a choice among the candidates of `grid`: the one at which the share of rows that are smaller
    passes above / (below + above). With `target` set it is MIN or MAX: a value that is as near to that end as
    the noise of the choice allows (`margin`). A row too few beyond it then counts as `above` rows, and one too
    many as `below` (docs/decisions/0013).
    """

    grid: Grid
    below: int
    above: int
    target: Literal["min", "max"] | None = None


def margins(rank: Rank, scale: Fraction) -> tuple[int, int]:
    """How many rows the choice is off the asked one towards its end, and away from it, in 95 % of selections, or
    less."""
    shortfall = selection_shortfall(rank.grid.candidates, scale) if scale else Fraction(0)
    return math.floor(shortfall / rank.above), math.floor(shortfall / rank.below)


def scores(rank: Rank, column: Sequence[int], scale: Fraction) -> list[int]:
    """For each candidate minus its distance from the asked rank, in rows; `column` are the rows of each.

    The rank is asked for among the rows of a candidate: one that is passed there is no distance away. Each of the
    two sides is a sum over rows, and one row changes it by `above` or `below` at most, so that the larger one,
    and what is left of it above 0, moves no further.
    """
    total, below = sum(column), 0
    beyond = margins(rank, scale)[0] if rank.target else 0
    found = []
    for here in column:
        above = total - below - here
        match rank.target:
            case "min" | "max":
                fewer = below if rank.target == "min" else above
                lacking = beyond + 1 - (fewer + here)
                distance = max(rank.below * (fewer - beyond), rank.above * lacking)
            case None:
                distance = max(
                    rank.below * below - rank.above * (here + above),
                    rank.above * above - rank.below * (below + here),
                )
        found.append(-max(0, distance))
        below += here
    return found


def grids(node: Aggregate, facts: Facts, schema: Schema) -> dict[str, Grid]:
    """For columns of dates, timestamps and texts that an aggregate takes: what is chosen among."""
    below = facts.columns(node.child)
    taken = dict.fromkeys(agg.arg for agg in node.aggs if agg.arg is not None)
    found = ((id, _grid(Col(id, below[id].type), node.child, below[id], schema)) for id in taken)
    return {id: grid for id, grid in found if grid is not None}


def _grid(column: Col, node: Node, fact: Fact, schema: Schema) -> Grid | None:
    if fact.type.kind in TIMES:
        return times(traced(column, node)[0], fact.range)
    if fact.type.kind not in TEXTS or fact.source is None:
        return None
    declared = schema.table(fact.source.table).columns[fact.source.column]
    if declared.domain is None:
        return None
    return texts([str(v) for v in declared.domain], declared.other)


def numbers(low: Fraction, high: Fraction, step: Fraction) -> Grid:
    """On `step`, or on a multiple of it where that would be too many."""
    step *= max(1, math.ceil((high - low) / step / MOST_NUMBERS))
    return Grid("number", low, step, math.floor((high - low) / step) + 1)


def texts(domain: Iterable[str], other: Value) -> Grid:
    last = None if other is None else str(other)
    values = tuple(sorted({*domain, *(() if last is None else (last,))}))
    return Grid("text", Fraction(0), Fraction(1), len(values), values, last)


def times(arg: Expr, span: Range) -> Grid | None:
    """For dates and timestamps: `arg` is what is ordered, as far as it is known. None without a range."""
    low, high = span
    if low is None or high is None or arg.type.kind not in TIMES:
        return None
    low, high = max(low, Fraction(_FIRST)), min(high, Fraction(_LAST))
    if arg.type.kind == "date":
        return _even("day", math.ceil(low), math.floor(high), 1)
    unit = _unit(arg)
    if unit in MONTHS:
        first, months = _month(low), MONTHS[unit]
        return _even("month", first + -first % months, _month(high), months)
    least, most = math.ceil(low * DAY), math.floor(high * DAY)
    grain = MICROS.get(unit, 1)
    step = next((s for s in _ROUND if s >= grain and (most - least) // s < MOST_TIMES), DAY)
    # Weeks begin on Mondays, as 1970-01-05 does.
    start = 4 * DAY if unit == "week" else 0
    return _even("microsecond", least + (start - least) % grain, most, max(step, grain))


def _even(scale: Scale, first: int, last: int, step: int) -> Grid:
    """From `first` on, which is on the grid, by `step` or a multiple of it."""
    last = max(first, last)
    step *= max(1, -(-(last - first + 1) // step // MOST_TIMES))
    return Grid(scale, Fraction(first), Fraction(step), (last - first) // step + 1)


def _unit(arg: Expr) -> str:
    """What the argument is cut to, also under a FILTER."""
    match arg:
        case Call("date_trunc", (Lit(str() as unit), _)):
            return unit
        case Case(((_, then),), Lit(None)):
            return _unit(then)
        case _:
            return ""


def _month(days: Fraction) -> int:
    day = EPOCH + datetime.timedelta(days=math.floor(days))
    return (day.year - 1970) * 12 + day.month - 1
