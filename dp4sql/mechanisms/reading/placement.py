"""The number of the candidate that a value counts for (`dp4sql.mechanisms.ranks`), as the engine computes it."""

from __future__ import annotations

from typing import Final

from dp4sql.algebra.expr import Col
from dp4sql.algebra.types import Type
from dp4sql.mechanisms.measure import decimal
from dp4sql.mechanisms.ranks import Grid
from dp4sql.sql.dialects import Dialect
from dp4sql.sql.render.numbers import finite
from dp4sql.sql.render.scalars import literal

_QUOTIENT: Final = {"duckdb": "//", "postgres": "/", "spark": "DIV"}


def place(grid: Grid, column: Col, text: str, dialect: Dialect) -> tuple[str, str]:
    """The nearest candidate's number, and the condition for rows that have one. Values beyond the ends of
    the range count as those ends."""
    match grid.scale:
        case "number":
            return _number(grid, column, text, dialect), f"{text} IS NOT NULL"
        case "text":
            return _text(grid, text, column.type, dialect)
        case _:
            return _moment(grid, column.type, text, dialect), f"{text} IS NOT NULL"


def _number(grid: Grid, column: Col, text: str, dialect: Dialect) -> str:
    """No arithmetic sees a number beyond the ends: in double precision it could overflow."""
    value, top = finite(column, text, dialect), grid.candidates - 1
    low, high = decimal(grid.first), decimal(grid.point(top))
    near = f"FLOOR(({value} - {low:f}) / {decimal(grid.step):f} + 0.5)"
    place = f"CASE WHEN {value} < {low:f} THEN 0 WHEN {value} > {high:f} THEN {top} ELSE {near} END"
    return f"CAST({place} AS BIGINT)"


def _moment(grid: Grid, type: Type, text: str, dialect: Dialect) -> str:
    """Held between the first and the last candidate first: no arithmetic sees an infinite date."""
    first, last = (literal(grid.moment(i, type), type, dialect) for i in (0, grid.candidates - 1))
    since = _since(grid, f"LEAST(GREATEST({text}, {first}), {last})", first, dialect)
    half = int(grid.step) // 2 if grid.scale != "month" else 0
    return f"CAST(({since} + {half}) {_QUOTIENT[dialect.name]} {int(grid.step)} AS BIGINT)"


def _since(grid: Grid, held: str, first: str, dialect: Dialect) -> str:
    """Whole days, microseconds or months from the first candidate on."""
    match grid.scale, dialect.name:
        case "month", _:
            year, month = (
                f"CAST(EXTRACT({part} FROM {held}) AS BIGINT)" for part in ("YEAR", "MONTH")
            )
            return f"({year} * 12 + {month} - {1970 * 12 + 1 + int(grid.first)})"
        case "day", "spark":
            return f"DATEDIFF({held}, {first})"
        case "day", _:
            return f"({held} - {first})"
        case _, "postgres":
            return f"CAST(EXTRACT(EPOCH FROM ({held} - {first})) * 1000000 AS BIGINT)"
        case _, "spark":
            return f"TIMESTAMPDIFF(MICROSECOND, {first}, {held})"
        case _:
            return f"DATE_DIFF('microsecond', {first}, {held})"


def _text(grid: Grid, text: str, type: Type, dialect: Dialect) -> tuple[str, str]:
    """Texts outside the domain count as its `other`, or not at all."""
    known = [literal(value, type, dialect) for value in grid.values]
    whens = " ".join(f"WHEN {value} THEN {i}" for i, value in enumerate(known))
    if grid.other is None:
        return f"CAST(CASE {text} {whens} END AS BIGINT)", f"{text} IN ({', '.join(known)})"
    last = grid.values.index(grid.other)
    return f"CAST(CASE {text} {whens} ELSE {last} END AS BIGINT)", f"{text} IS NOT NULL"
