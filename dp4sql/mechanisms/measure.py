"""What is measured for an aggregate: sums of integers on a public grid, their bounds, scales and losses.

Every aggregate of the language becomes one or two measurements (AVG is a sum and a count), equal ones are
taken once. A measurement is an exact integer per bin, in `unit`s, to which integer noise is added.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Final, Literal, assert_never

from dp4sql.algebra.expr import Lit
from dp4sql.algebra.nodes import Agg
from dp4sql.algebra.types import BIGINT, FLOATS, INTEGERS, NUMBERS, TIMES, Type
from dp4sql.errors import Refused, Unsupported, located
from dp4sql.infer.ranges import Fact
from dp4sql.infer.release import Summand
from dp4sql.mechanisms import ranks
from dp4sql.mechanisms.ranks import Rank
from dp4sql.noise import LIMIT

MeasurementKind = Literal[
    "count",
    "count_distinct",
    "count_true",
    "count_false",
    "sum",
    "sum_distinct",
    "sum_squares",
    "rank",
]
FINEST_SHARE: Final = 10_000
WIDEST: Final = 10**300
"""Beyond it a range has no width in double precision."""
MOST_STEPS: Final = LIMIT // 2
CHOICES: Final = frozenset({"min", "max", "quantile_cont", "quantile_disc"})
"""Aggregates that choose a value."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A column of exact integers below the noise: SUM over rows of (argument - center) / unit.

    `low` and `high` are what one row can add, in units; an absent (NULL) argument adds 0.
    """

    kind: MeasurementKind
    arg: str | None
    unit: Fraction
    center: Fraction
    low: int
    high: int
    reads: str | None
    rank: Rank | None = None

    @property
    def summand(self) -> Summand:
        distinct = self.kind in ("count_distinct", "sum_distinct")
        apart = self.rank is not None and self.rank.target is not None
        return Summand(Fraction(self.low), Fraction(self.high), self.reads, distinct, apart)

    def sql(self) -> str:
        """As an analyst would write it; shown by EXPLAIN."""
        arg = self.arg or "*"
        if self.center:
            arg = f"{arg} - {_plain(self.center)}"
        match self.kind:
            case "count":
                return f"COUNT({arg})"
            case "count_distinct":
                return f"COUNT(DISTINCT {arg})"
            case "count_true" | "count_false":
                return f"COUNT({arg} IS {self.kind.removeprefix('count_').upper()})"
            case "sum":
                return f"SUM({arg})"
            case "sum_distinct":
                return f"SUM(DISTINCT {arg})"
            case "sum_squares":
                return f"SUM(({arg})^2)"
            case "rank":
                return f"RANK({arg})"

    @property
    def loss_factor(self) -> int:
        """What a unit of sensitivity costs per scale: a selection compares two scores, a sum moves once. A row
        may bring MIN and MAX nearer at one candidate, and off at another."""
        if self.rank is not None and self.rank.target:
            return self.rank.above + self.rank.below
        return 2 if self.rank is not None else 1


def _plain(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else str(float(number))


COUNT_STAR = Quantity("count", None, Fraction(1), Fraction(0), 1, 1, None)


def count(arg: str | None, columns: Mapping[str, Fact]) -> Quantity:
    """COUNT(x) counts rows exactly like COUNT(*) when x is never NULL."""
    if arg is None or not columns[arg].nullable:
        return COUNT_STAR
    return Quantity("count", arg, Fraction(1), Fraction(0), 0, 1, arg)


def count_distinct(arg: str) -> Quantity:
    return Quantity("count_distinct", arg, Fraction(1), Fraction(0), 1, 1, arg)


def hits(agg: Agg) -> Quantity:
    """Rows that decide BOOL_OR, those that are true, or BOOL_AND, those that are false."""
    kind: MeasurementKind = "count_true" if agg.function == "bool_or" else "count_false"
    return Quantity(kind, agg.arg, Fraction(1), Fraction(0), 0, 1, agg.arg)


def total(
    arg: str,
    columns: Mapping[str, Fact],
    unit: Fraction | None,
    rows: int,
    *,
    centred: bool,
    distinct: bool = False,
    squared: bool = False,
) -> Quantity:
    """SUM(x - center) over `rows` rows at most; Refused where x has no range. `squared`: so that squares can be
    added up, too."""
    fact = columns[arg]
    low, high = fact.range
    assert low is not None
    assert high is not None
    step = unit or step_of(fact.type, low, high)
    extent = (high - low) / 2 if centred else max(abs(low), abs(high))
    step *= coarser(extent / step, rows, squared=squared)
    center = middle(low, high, step) if centred else Fraction(0)
    first = math.floor((low - center) / step)
    last = math.ceil((high - center) / step)
    if fact.nullable:
        first, last = min(first, 0), max(last, 0)
    return Quantity("sum_distinct" if distinct else "sum", arg, step, center, first, last, arg)


def squares(mean: Quantity) -> Quantity:
    """SUM((x - center)^2) beside the centred sum `mean`, on the square of its grid."""
    reach = max(abs(mean.low), abs(mean.high))
    return replace(mean, kind="sum_squares", low=0, high=reach * reach)


def rank(
    agg: Agg, columns: Mapping[str, Fact], unit: Fraction | None, grid: ranks.Grid | None
) -> Quantity:
    """MIN, MAX or a percentile: a choice among the candidates of `grid`, or of numbers in their range."""
    assert agg.arg is not None
    if grid is None:
        low, high = columns[agg.arg].range
        assert low is not None
        assert high is not None
        grid = ranks.numbers(low, high, unit or step_of(columns[agg.arg].type, low, high))
    share = Fraction(agg.fraction or 0)  # type: ignore[arg-type]
    # Scores are multiples of its denominator, and have 64 bits.
    share = share.limit_denominator(FINEST_SHARE)
    if agg.function in ("min", "max") or share in (0, 1):
        target: Literal["min", "max"] = "max" if agg.function == "max" or share == 1 else "min"
        found = Rank(grid, 1, 2, target)
        return Quantity("rank", agg.arg, Fraction(1), Fraction(0), 0, 1, agg.arg, found)
    below, above = share.denominator - share.numerator, share.numerator
    found = Rank(grid, below, above)
    return Quantity("rank", agg.arg, Fraction(1), Fraction(0), -above, below, agg.arg, found)


def _check_range(agg: Agg, columns: Mapping[str, Fact], grids: Mapping[str, ranks.Grid]) -> None:
    """What sums values, or chooses one, needs numbers between known ends; a choice also takes what has a grid."""
    if agg.arg is None or agg.function.startswith(("count", "bool")):
        return
    type, chooses = columns[agg.arg].type, agg.function in CHOICES
    if chooses and agg.arg in grids:
        return
    if type.kind not in (NUMBERS | TIMES if chooses else NUMBERS):
        raise Unsupported(
            f"{agg.text} over private {type.kind} values is not supported",
            hint=_ORDERED if chooses else _NUMBERS,
        )
    if None in columns[agg.arg].range:
        raise _no_range(agg, columns[agg.arg])


_NUMBERS: Final = "It works on numbers with a range. EXTRACT(YEAR FROM ...) turns a date into one."
_ORDERED: Final = (
    "It works on numbers, dates and timestamps with a range, and on texts of a declared domain."
)


def _no_range(agg: Agg, fact: Fact) -> Refused:
    """A row without a range could move the answer by any amount."""
    source = fact.source
    what = f"{source.table}.{source.column}" if source is not None else "what it adds up"
    what = "what it chooses from" if agg.function in CHOICES and source is None else what
    curator = f"range: [low, high] for {source.table}.{source.column}" if source else "ranges"
    limit = "LEAST(GREATEST(x, 0), 100)"
    if fact.type.kind in TIMES:
        limit = "WHERE x BETWEEN DATE '2020-01-01' AND DATE '2024-12-31'"
    return Refused(
        f"{agg.text} has no finite bound: {what} has no declared range",
        hint=f"The query can limit it, as in {limit}; the curator can declare {curator}.",
    )


def step_of(type: Type, low: Fraction, high: Fraction) -> Fraction:
    """The step that sums are measured on: 1 for integers, the last decimal of exact decimals, else a
    power of ten about a millionth of the range."""
    if type.kind in INTEGERS:
        return Fraction(1)
    if type.kind == "numeric" and type.scale is not None:
        return Fraction(1, 10**type.scale)
    width = max(high - low, abs(high), abs(low), Fraction(1, 10**9))
    if width > WIDEST:
        raise Refused(
            "a range beyond what double precision holds is too wide to be measured in",
            hint="The query can limit it, as in LEAST(GREATEST(x, 0), 100).",
        )
    return Fraction(10) ** (math.floor(math.log10(width)) - 6)


def coarser(extent: Fraction, rows: int, *, squared: bool) -> int:
    """How many times as long steps must be for a sum of so many to stay within 64 bits: 1, 2, 5, 10 and so on."""
    most = Fraction(MOST_STEPS, rows)
    power = 1
    while True:
        for factor in (power, 2 * power, 5 * power):
            if (extent / factor) ** (2 if squared else 1) <= most:
                return factor
        power *= 10


def middle(low: Fraction, high: Fraction, step: Fraction) -> Fraction:
    return math.floor((low + high) / 2 / step) * step


def constant(value: Fraction, type: Type) -> Lit:
    if value.denominator == 1 and type.kind not in FLOATS:
        return Lit(int(value), BIGINT)
    if type.kind in FLOATS:
        return Lit(float(value), Type("double precision"))
    return Lit(decimal(value), Type("numeric"))


def decimal(value: Fraction) -> Decimal:
    """Exact for finite decimal fractions, which all grids and centres are."""
    return Decimal(value.numerator) / Decimal(value.denominator)


@dataclass(frozen=True, slots=True)
class Column:
    """How one aggregate of the query is put together from measurements (by index)."""

    agg: Agg
    measurements: tuple[int, ...]


def quantities(
    aggs: Sequence[Agg],
    columns: Mapping[str, Fact],
    units: Mapping[str, Fraction],
    grids: Mapping[str, ranks.Grid],
    rows: int,
    centred: Collection[str] = (),
) -> tuple[list[Quantity], list[Column]]:
    """The measurements that a list of aggregates over `rows` rows at most needs, each once.
    `grids`: what MIN, MAX and percentiles of
    other values than numbers choose among. `centred`: SUMs to be put together from a centred sum and a count."""
    found: list[Quantity] = []
    built: list[Column] = []
    spread = {agg.arg for agg in aggs if agg.function.startswith(("var", "stddev"))}
    for agg in aggs:
        indices = []
        with located(agg.at):
            _check_range(agg, columns, grids)
        squared = agg.arg in spread
        mean = partial(_mean, squared=squared)
        needed = mean if agg.id in centred else partial(_needed, grids=grids, squared=squared)
        for quantity in needed(agg, columns, units, rows):
            if quantity not in found:
                found.append(quantity)
            indices.append(found.index(quantity))
        built.append(Column(agg, tuple(indices)))
    return found, built


def _mean(
    agg: Agg,
    columns: Mapping[str, Fact],
    units: Mapping[str, Fraction],
    rows: int,
    *,
    squared: bool,
) -> list[Quantity]:
    """A mean, or a sum: SUM(x) = SUM(x - c) + c COUNT(x)."""
    assert agg.arg is not None
    return [
        total(agg.arg, columns, units.get(agg.arg), rows, centred=True, squared=squared),
        count(agg.arg, columns),
    ]


def _needed(
    agg: Agg,
    columns: Mapping[str, Fact],
    units: Mapping[str, Fraction],
    rows: int,
    grids: Mapping[str, ranks.Grid],
    *,
    squared: bool,
) -> list[Quantity]:
    """`squared`: a variance of the same values is asked for, too, and shares their sum."""
    match agg.function:
        case "count_star" | "count":
            return [count(agg.arg, columns)]
        case "count_distinct":
            assert agg.arg is not None
            return [count_distinct(agg.arg)]
        case "bool_and" | "bool_or":
            return [hits(agg)]
        case "sum" | "sum_distinct":
            assert agg.arg is not None
            distinct = agg.function == "sum_distinct"
            unit = units.get(agg.arg)
            return [total(agg.arg, columns, unit, rows, centred=False, distinct=distinct)]
        case "avg":
            return _mean(agg, columns, units, rows, squared=squared)
        case "var_samp" | "var_pop" | "stddev_samp" | "stddev_pop":
            assert agg.arg is not None
            unit = units.get(agg.arg)
            mean = total(agg.arg, columns, unit, rows, centred=True, squared=True)
            return [mean, squares(mean), count(agg.arg, columns)]
        case "min" | "max" | "quantile_cont" | "quantile_disc":
            arg = agg.arg or ""
            return [rank(agg, columns, units.get(arg), grids.get(arg))]
        case _:
            assert_never(agg.function)
