"""What is measured for an aggregate: sums of integers on a public grid, their bounds, scales and losses.

Every aggregate of the language becomes one or two measurements (AVG is a sum and a count), equal ones are
taken once. A measurement is an exact integer per bin, in `unit`s, to which integer noise is added.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Literal, assert_never

from dp4sql.algebra.expr import Lit
from dp4sql.algebra.nodes import Agg
from dp4sql.algebra.types import BIGINT, FLOATS, INTEGERS, NUMBERS, Type
from dp4sql.errors import Refused, Unsupported, located
from dp4sql.infer.ranges import Fact
from dp4sql.infer.release import Summand

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
MAX_CANDIDATES = 1000


@dataclass(frozen=True, slots=True)
class Rank:
    """A quantile as a choice among the candidates first, first + step, ...: the one for which about
    `below` rows are smaller for each `above` rows that are larger. With `target` set it is MIN or MAX: the
    candidate that about `target` rows reach (MIN: at or below it; MAX: at or above it).
    """

    first: Fraction
    step: Fraction
    candidates: int
    below: int
    above: int
    target: Literal["min", "max"] | None = None


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
        return Summand(Fraction(self.low), Fraction(self.high), self.reads, distinct)

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
        """What a unit of sensitivity costs per scale: a selection compares two scores, a sum moves once."""
        return 2 if self.kind == "rank" else 1


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
    *,
    centred: bool,
    distinct: bool = False,
) -> Quantity:
    """SUM(x - center); Refused where x has no range."""
    fact = columns[arg]
    low, high = fact.range
    assert low is not None
    assert high is not None
    step = unit or grid(fact.type, low, high)
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


def rank(agg: Agg, columns: Mapping[str, Fact], unit: Fraction | None) -> Quantity:
    """MIN, MAX or a percentile of a ranged column."""
    assert agg.arg is not None
    low, high = columns[agg.arg].range
    assert low is not None
    assert high is not None
    step = unit or grid(columns[agg.arg].type, low, high)
    step *= max(1, math.ceil((high - low) / step / MAX_CANDIDATES))
    count = math.floor((high - low) / step) + 1
    if agg.function in ("min", "max"):
        target: Literal["min", "max"] = "min" if agg.function == "min" else "max"
        found = Rank(low, step, count, 0, 1, target)
        return Quantity("rank", agg.arg, Fraction(1), Fraction(0), 0, 1, agg.arg, found)
    share = Fraction(agg.fraction)  # type: ignore[arg-type]
    below, above = share.denominator - share.numerator, share.numerator
    found = Rank(low, step, count, below, above)
    return Quantity("rank", agg.arg, Fraction(1), Fraction(0), -above, below, agg.arg, found)


def _check_range(agg: Agg, columns: Mapping[str, Fact]) -> None:
    """What sums values, or chooses one, needs numbers between known ends."""
    if agg.arg is None or agg.function.startswith(("count", "bool")):
        return
    if columns[agg.arg].type.kind not in NUMBERS:
        raise Unsupported(
            f"{agg.text} over private {columns[agg.arg].type.kind} values is not supported",
            hint="It works on numbers with a range. EXTRACT(YEAR FROM ...) turns a date into one.",
        )
    if None in columns[agg.arg].range:
        raise _no_range(agg, columns[agg.arg])


def _no_range(agg: Agg, fact: Fact) -> Refused:
    """A row without a range could move the answer by any amount."""
    source = fact.source
    what = f"{source.table}.{source.column}" if source is not None else "what it adds up"
    chooses = agg.function in ("min", "max", "quantile_cont", "quantile_disc")
    what = "what it chooses from" if chooses and source is None else what
    curator = f"range: [low, high] for {source.table}.{source.column}" if source else "ranges"
    return Refused(
        f"{agg.text} has no finite bound: {what} has no declared range",
        hint=f"The query can limit it, as in LEAST(GREATEST(x, 0), 100); the curator can declare {curator}.",
    )


def grid(type: Type, low: Fraction, high: Fraction) -> Fraction:
    """The step that sums are measured on: 1 for integers, the last decimal of exact decimals, else a
    power of ten about a millionth of the range."""
    if type.kind in INTEGERS:
        return Fraction(1)
    if type.kind == "numeric" and type.scale is not None:
        return Fraction(1, 10**type.scale)
    width = max(high - low, abs(high), abs(low), Fraction(1, 10**9))
    return Fraction(10) ** (math.floor(math.log10(width)) - 6)


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
    aggs: Iterable[Agg],
    columns: Mapping[str, Fact],
    units: Mapping[str, Fraction],
    centred: Collection[str] = (),
) -> tuple[list[Quantity], list[Column]]:
    """The measurements that a list of aggregates needs, each once. `centred`: SUMs to be put together from a
    centred sum and a count."""
    found: list[Quantity] = []
    built: list[Column] = []
    for agg in aggs:
        indices = []
        with located(agg.at):
            _check_range(agg, columns)
        needed = _mean if agg.id in centred else _needed
        for quantity in needed(agg, columns, units):
            if quantity not in found:
                found.append(quantity)
            indices.append(found.index(quantity))
        built.append(Column(agg, tuple(indices)))
    return found, built


def _mean(agg: Agg, columns: Mapping[str, Fact], units: Mapping[str, Fraction]) -> list[Quantity]:
    """A mean, or a sum: SUM(x) = SUM(x - c) + c COUNT(x)."""
    assert agg.arg is not None
    return [total(agg.arg, columns, units.get(agg.arg), centred=True), count(agg.arg, columns)]


def _needed(agg: Agg, columns: Mapping[str, Fact], units: Mapping[str, Fraction]) -> list[Quantity]:
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
            return [total(agg.arg, columns, units.get(agg.arg), centred=False, distinct=distinct)]
        case "avg":
            return _mean(agg, columns, units)
        case "var_samp" | "var_pop" | "stddev_samp" | "stddev_pop":
            assert agg.arg is not None
            mean = total(agg.arg, columns, units.get(agg.arg), centred=True)
            return [mean, squares(mean), count(agg.arg, columns)]
        case "min" | "max" | "quantile_cont" | "quantile_disc":
            return [rank(agg, columns, units.get(agg.arg or ""))]
        case _:
            assert_never(agg.function)
