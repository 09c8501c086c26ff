"""What the noise does to results, by drawing it afresh: released integers plus new noise of the same law.

The released value stands in for the truth, so the spread of the replicas around it is the spread of the
answer around the truth. Means and spreads are not kept in their range here, nor counts at 0 or more: an
answer at the end of its range would seem to have no error, and one that is drawn into the range only comes
closer to the truth. All of it is post-processing of released integers; no data is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dp4sql.algebra.expr import Call, Col, Expr, Lit
from dp4sql.algebra.types import INTEGERS
from dp4sql.errors import InternalError
from dp4sql.mechanisms.measure import Column
from dp4sql.mechanisms.release import Cells, Measured, decision
from dp4sql.mechanisms.stages import Measurement, Release
from dp4sql.noise import simulated_gaussian, simulated_laplace

CONFIDENCE: Final = 0.95
MOST_DRAWS: Final = 500
LEAST_DRAWS: Final = 100
CELLS: Final = 500_000
BLOCK: Final = 2000


def draws_for(bins: int, cells: int = CELLS) -> int:
    """How many draws are worth their time for so many bins."""
    return max(LEAST_DRAWS, min(MOST_DRAWS, cells // max(1, bins)))


def replicas(
    release: Release,
    found: Measured,
    scales: Sequence[Fraction],
    draws: int,
    bins: slice = slice(None),
) -> dict[str, Any]:
    """For each simulated column an array [draw, bin] of floats, NaN for NULL; draw 0 is what was released.

    What was selected (a rank) is in none: how it would fall again depends on data.
    """
    drawn = [
        _drawn(m, values[bins], scale, draws)
        for m, values, scale in zip(release.measurements, found.noisy, scales, strict=True)
    ]
    return {
        column.agg.id: _built(column, release.measurements, drawn, scales)
        for column in release.built
        if not _is_selected(column, release.measurements)
    }


def _is_selected(column: Column, measurements: Sequence[Measurement]) -> bool:
    return measurements[column.measurements[0]].quantity.rank is not None


def _drawn(m: Measurement, values: Cells, scale: Fraction, draws: int) -> Any:
    released = np.array(values, dtype=float)
    found = np.repeat(released[np.newaxis], draws + 1, axis=0)
    if scale and m.quantity.rank is None:
        fresh = simulated_gaussian if m.gaussian else simulated_laplace
        found[1:] += fresh(scale, (draws, len(released)))
    return found


def _built(
    column: Column,
    measurements: Sequence[Measurement],
    drawn: Sequence[Any],
    scales: Sequence[Fraction],
) -> Any:
    """The formulas of `release.output_rows` on arrays, without what keeps results in range."""
    total, *rest = (drawn[i] for i in column.measurements)
    quantity = measurements[column.measurements[0]].quantity
    unit, function = float(quantity.unit), column.agg.function
    if function.startswith("count"):
        return total
    if function.startswith("bool"):
        most = decision(measurements[column.measurements[0]], scales[column.measurements[0]])
        return ((total > most) == (function == "bool_or")).astype(float)
    if function in ("sum", "sum_distinct"):
        return total * unit + (float(quantity.center) * rest[0] if rest else 0)
    if function == "avg":
        mean = float(quantity.center) + total * unit / np.maximum(rest[0], 1)
        noisy = measurements[column.measurements[1]].private
        return mean if noisy else np.where(rest[0] < 1, np.nan, mean)
    return _spread(function, total, rest[0], rest[1]) * _power(function, unit)


def _spread(function: str, s1: Any, s2: Any, count: Any) -> Any:
    """Variance, or its root; below 0 the root continues as the odd function that it is there."""
    n = np.maximum(count, 2)
    variance = (s2 - s1 * s1 / n) / (n - 1 if function.endswith("samp") else n)
    if function.startswith("stddev"):
        return np.sign(variance) * np.sqrt(np.abs(variance))
    return variance


def _power(function: str, unit: float) -> float:
    return unit if function.startswith("stddev") else unit * unit


def _most(column: Column, measurements: Sequence[Measurement]) -> float:
    """No answer is further off than its range is wide."""
    quantity = measurements[column.measurements[0]].quantity
    width = float((quantity.high - quantity.low) * quantity.unit)
    match column.agg.function:
        case "avg":
            return width
        case "stddev_samp" | "stddev_pop":
            return width / math.sqrt(2)
        case "var_samp" | "var_pop":
            return width * width / 2
        case _:
            return math.inf


def half_widths(
    release: Release,
    found: Measured,
    scales: Sequence[Fraction],
    wanted: Mapping[int, Expr],
    every: int = 1,
    cells: int = CELLS,
) -> Mapping[int, list[float | None]]:
    """Half-widths of formulas over released columns, for each bin (or each `every`-th), in blocks."""
    most = {c.agg.id: _most(c, release.measurements) for c in release.built}
    bins = len(found.noisy[0]) if found.noisy else 0
    draws = draws_for(-(-bins // every), cells)
    widths: dict[int, list[float | None]] = {key: [] for key in wanted}
    for start in range(0, bins, BLOCK * every):
        part = slice(start, start + BLOCK * every, every)
        columns = replicas(release, found, scales, draws, part)
        for key, expr in wanted.items():
            cap = most[expr.id] if isinstance(expr, Col) else math.inf
            with np.errstate(divide="ignore", invalid="ignore"):
                far = away(_values(expr, columns))
            widths[key] += [None if np.isnan(w) else rounded(min(float(w), cap)) for w in far]
    return widths


def away(values: Any) -> Any:
    """By bin, how far 95 % of draws lie from what was released at most; NaN where most have no value."""
    found = np.abs(values[1:] - values[0])
    known = np.isfinite(found)
    if known.all():
        return _quantile(found)
    few = known.sum(axis=0) * 2 <= len(found)
    found[~known] = np.nan
    found[:, few] = 0
    return np.where(few, np.nan, np.nanquantile(found, CONFIDENCE, axis=0))


def _quantile(found: Any) -> Any:
    """`np.quantile` over the draws, without its sorting bin by bin."""
    place = CONFIDENCE * (len(found) - 1)
    low = int(place)
    near = np.partition(found, (low, low + 1), axis=0)
    return near[low] + (near[low + 1] - near[low]) * (place - low)


def computable(release: Release, expr: Expr) -> bool:
    """Whether `expr` is arithmetic over what is released here, which floats do as well as SQL's numbers."""
    match expr:
        case Col(id):
            return any(column.agg.id == id for column in release.built)
        case Lit(value):
            return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        case Call("+" | "-" | "*", (a, b)):
            return computable(release, a) and computable(release, b)
        case Call("/", (a, b), type):
            inexact = type.kind not in INTEGERS
            return inexact and computable(release, a) and computable(release, b)
        case _:
            return False


def _values(expr: Expr, columns: Mapping[str, Any]) -> Any:
    match expr:
        case Col(id):
            return columns[id]
        case Lit(value):
            return float(value)  # type: ignore[arg-type]
        case Call("+", (a, b)):
            return _values(a, columns) + _values(b, columns)
        case Call("-", (a, b)):
            return _values(a, columns) - _values(b, columns)
        case Call("*", (a, b)):
            return _values(a, columns) * _values(b, columns)
        case Call("/", (a, b)):
            return np.divide(_values(a, columns), _values(b, columns))
        case _:
            raise InternalError("a formula that is not computable here")


def rounded(width: float) -> float:
    """To four significant digits: so many draws tell no more."""
    return float(f"{width:.4g}")
