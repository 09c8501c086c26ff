"""Running a release: noise on its exact integers, and the rows that may be shown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from dp4sql.algebra.types import FLOATS, INTEGERS, Type, Value
from dp4sql.errors import InternalError
from dp4sql.mechanisms.fitting import fit, number, whole_number
from dp4sql.mechanisms.measure import Column, Quantity
from dp4sql.mechanisms.ranks import Rank, scores
from dp4sql.mechanisms.stages import Measurement, PublicRead, Release
from dp4sql.noise import (
    Array,
    Ints,
    gaussian_half_width,
    gaussian_of_rho,
    half_width,
    laplace,
    select,
)
from dp4sql.rows import PART, PrivateRows, Row, Rows, Where, listed, taken

# ---------------------------------------------------------------- noise


Cells: TypeAlias = Sequence[Any] | Array


@dataclass(frozen=True, slots=True)
class Measured:
    """What may be shown of a release: its public keys (by column), and each measurement's noisy integers.
    Integers of many rows are arrays."""

    keys: Sequence[Cells]
    noisy: Sequence[Cells]

    def part(self, where: Where) -> Measured:
        keys, noisy = ([taken(c, where) for c in columns] for columns in (self.keys, self.noisy))
        return Measured(keys, noisy)


def add_noise(
    release: Release,
    rows: PrivateRows,
    histograms: Mapping[int, PrivateRows],
    scales: Sequence[Fraction],
    losses: Sequence[Fraction],
) -> Measured:
    """Open the exact rows and add noise to every measurement that a policy protects.

    scales: noise scale of each measurement in its unit (0 where nothing private moves). losses: the most
    that any policy is charged for it, as the epsilon bound / scale. histograms: what `histogram_sql` read
    for each rank measurement.
    """
    opened = rows.open_columns()
    width = len(release.node.keys)
    keys = opened[:width]
    places = _places(keys) if histograms else {}
    rest = iter(opened[width:])
    noisy: list[Cells] = []
    for i, (measurement, scale, loss) in enumerate(
        zip(release.measurements, scales, losses, strict=True)
    ):
        if measurement.quantity.rank is not None:
            scored = _scores(measurement.quantity.rank, histograms[i], places, scale)
            noisy.append(_selected(measurement, scored, scale, loss))
        else:
            noisy.append(_noised(measurement, integers(next(rest)), scale, loss))
    types = [type for _, type in release.columns[:width]]
    return Measured([_shown(*pair) for pair in zip(keys, types, strict=True)], noisy)


def _places(keys: Sequence[Cells]) -> dict[tuple[Any, ...], int]:
    return (
        {key: i for i, key in enumerate(zip(*map(listed, keys), strict=True))} if keys else {(): 0}
    )


def _shown(column: Cells, type: Type) -> Cells:
    if isinstance(column, np.ndarray) and type.kind == "bigint":
        return column
    if isinstance(column, np.ndarray) and type.kind in INTEGERS:
        for end in (column.min(), column.max()):
            whole_number(int(end), type)
        return column
    return [fit(value, type) for value in listed(column)]


def output_rows(
    release: Release, found: Measured, scales: Sequence[Fraction], nonnegative: bool
) -> Sequence[Row]:
    """The output rows of a release: post-processing alone. scales: as in `add_noise`. `nonnegative` shows
    counts below 0 as 0."""

    def part(where: Where) -> list[Row]:
        return _rows(release, found.part(where), scales, nonnegative)

    count = len(found.keys[0]) if found.keys else 1
    if count <= PART:
        return part(slice(None))
    return Rows(count, part, dict(_whole_columns(release, found, nonnegative)))


def _whole_columns(
    release: Release, found: Measured, nonnegative: bool
) -> Iterator[tuple[int, tuple[Array, Fraction]]]:
    """What `_build` makes of arrays without rounding, in units."""
    for i, key in enumerate(found.keys):
        if isinstance(key, np.ndarray):
            yield i, (key, Fraction(1))
    for i, column in enumerate(release.built, len(found.keys)):
        values, function = found.noisy[column.measurements[0]], column.agg.function
        if not isinstance(values, np.ndarray) or len(column.measurements) > 1:
            continue
        if function.startswith("count"):
            yield i, (np.maximum(values, 0) if nonnegative else values, Fraction(1))
        elif function in ("sum", "sum_distinct"):
            yield i, (values, release.measurements[column.measurements[0]].quantity.unit)


def _rows(
    release: Release, found: Measured, scales: Sequence[Fraction], nonnegative: bool
) -> list[Row]:
    built = [_build(column, release, found.noisy, scales, nonnegative) for column in release.built]
    return list(zip(*found.keys, *built, strict=True)) if found.keys or built else []


def _bound(measurement: Measurement) -> int:
    return _whole(max(measurement.bounds.values(), default=Fraction(0)))


def _is_exact(m: Measurement, scale: Fraction) -> bool:
    """Whether nothing private moves, so that no noise is due."""
    if not scale and m.private:
        raise InternalError("a private measurement without noise")
    return not scale


def _noised(m: Measurement, exact: Ints, scale: Fraction, loss: Fraction) -> Ints:
    if _is_exact(m, scale):
        return exact
    if m.gaussian:
        rho = max(m.loss(policy, scale) for policy in m.concentrated)
        return gaussian_of_rho(exact, max(m.squares.values()), scale, rho)
    return laplace(exact, _bound(m), scale, loss)


def _selected(
    m: Measurement, scored: list[list[int]], scale: Fraction, loss: Fraction
) -> list[int]:
    """The chosen candidate of each bin; the best one where nothing private moves."""
    if _is_exact(m, scale):
        return [row.index(max(row)) for row in scored]
    if m.quantity.rank is not None and m.quantity.rank.target:
        return select(scored, _bound(m), scale, loss, apart=True)
    return select(scored, _bound(m) // m.quantity.loss_factor, scale, loss)


def _scores(
    rank: Rank, rows: PrivateRows, places: Mapping[Any, int], scale: Fraction
) -> list[list[int]]:
    """For each bin and candidate."""
    counts = [[0] * rank.grid.candidates for _ in places]
    *keys, candidates, numbers = map(listed, rows.open_columns())
    for row in zip(*keys, candidates, numbers, strict=True):
        place = places.get(tuple(row[:-2]))
        if place is not None:
            counts[place][int(row[-2])] += int(row[-1])
    return [scores(rank, column, scale) for column in counts]


def _whole(bound: Fraction) -> int:
    """Bounds of integer measurements are integers."""
    if bound.denominator != 1:
        raise InternalError("a bound that is not a whole number of units")
    return bound.numerator


def integers(column: Cells) -> Any:
    """Exact integers as an engine gave them."""
    return column if isinstance(column, np.ndarray) else [int(value) for value in column]


def decision(m: Measurement, scale: Fraction) -> int:
    """The most that a noisy count of no rows is, but for one answer in 40: BOOL_AND is true up to there, and
    BOOL_OR beyond it."""
    return gaussian_half_width(scale) if m.gaussian else half_width(scale)


def _build(
    column: Column,
    release: Release,
    noisy: Sequence[Cells],
    scales: Sequence[Fraction],
    nonnegative: bool,
) -> list[Value]:
    """Output values of one aggregate from its measurements; post-processing alone."""
    parts = [(release.measurements[i], noisy[i]) for i in column.measurements]
    agg = column.agg
    if agg.function.startswith("count"):
        return [max(0, n) for n in parts[0][1]] if nonnegative else list(parts[0][1])
    if agg.function.startswith("bool"):
        most = decision(parts[0][0], scales[column.measurements[0]])
        return [(n > most) == (agg.function == "bool_or") for n in parts[0][1]]
    total, values = parts[0][0].quantity, parts[0][1]
    if agg.function == "sum" and len(parts) == 2:
        grid = math.lcm(total.unit.denominator, total.center.denominator)
        one, shift = int(total.unit * grid), int(total.center * grid)
        found = [v * one + n * shift for v, n in zip(values, parts[1][1], strict=True)]
        return _sums(found, Fraction(1, grid), agg.type)
    if agg.function in ("sum", "sum_distinct"):
        return _sums(values, total.unit, agg.type)
    if total.rank is not None:
        return [_chosen(total.rank, v, agg.type) for v in values]
    if agg.function.startswith(("var", "stddev")):
        return [
            _spread(agg.function, total, s1, s2, n, agg.type)
            for s1, s2, n in zip(*(column for _, column in parts), strict=True)
        ]
    return [
        _mean(total, v, n, agg.type, parts[1][0].private)
        for v, n in zip(values, parts[1][1], strict=True)
    ]


def _sums(values: Cells, unit: Fraction, type: Type) -> list[Value]:
    """Whole units as `number` would have them, without a Fraction for each."""
    if type.kind == "numeric":
        below = Decimal(unit.denominator)
        return [Decimal(v * unit.numerator) / below for v in values]
    if unit == 1 and type.kind in INTEGERS:
        return list(values)
    return [number(v * unit, type) for v in values]


def _chosen(rank: Rank, place: int, type: Type) -> Value:
    if rank.grid.scale == "number":
        digits = 10 if type.scale is None else type.scale
        return number(rank.grid.point(place), type, digits=digits)
    return rank.grid.moment(place, type)


def _mean(total: Quantity, value: int, count: int, type: Type, noisy_count: bool) -> Value:
    """c + sum / count within the declared range; a noisy count below 1 counts as 1.

    In integers alone: a million bins would wait long for as many Fractions.
    """
    if count < 1 and not noisy_count:
        return None
    n, center, unit = max(count, 1), total.center, total.unit
    inside = min(max(value, total.low * n), total.high * n)
    above = center.numerator * unit.denominator * n + inside * unit.numerator * center.denominator
    below = center.denominator * unit.denominator * n
    if type.kind in FLOATS:
        return above / below
    return Decimal(_rounded(above * 10**10, below)).scaleb(-10)


def _rounded(above: int, below: int) -> int:
    """above / below to the nearest integer, halves to the even one, as `round` does."""
    whole, rest = divmod(above, below)
    return whole + (2 * rest > below or (2 * rest == below and whole % 2 == 1))


def _spread(function: str, total: Quantity, s1: int, s2: int, count: int, type: Type) -> Value:
    """Variance or standard deviation from the centred sum and the sum of squares, between 0 and what the
    range admits; a noisy count below 2 counts as 2."""
    n = max(count, 2)
    reach = Fraction(total.high - total.low) / 2
    squares = max(Fraction(0), s2 - Fraction(s1 * s1, n))
    divisor = n - 1 if function.endswith("samp") else n
    variance = min(squares / divisor, reach * reach * n / divisor) * total.unit**2
    if function.startswith("stddev"):
        return number(Fraction(math.sqrt(variance)), type, digits=10)
    return number(variance, type, digits=10)


# ---------------------------------------------------------------- public rows


def public_rows(read: PublicRead, rows: PrivateRows) -> list[tuple[Value, ...]]:
    """Rows of a view that no policy protects, as they are."""
    opened = rows.open_columns()
    typed = [
        [fit(value, type) for value in listed(column)]
        for column, (_, type) in zip(opened, read.columns, strict=True)
    ]
    return list(zip(*typed, strict=True))
