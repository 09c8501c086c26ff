"""What the data shows of a table today: its size, NULLs, ranges, frequent values."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from dp4sql.backends import Backend
from dp4sql.curator.catalogue import FoundTable, asked
from dp4sql.curator.guess import source
from dp4sql.sql.dialects import DIALECTS, Dialect

#: Where text values are looked for that may be bins, and how many bins are few.
SAMPLED_ROWS: Final = 100_000
FEW_VALUES: Final = 20
NUMBERS: Final = ("smallint", "integer", "bigint", "numeric", "real", "double precision")
TIMES: Final = ("date", "timestamp", "timestamptz")


@dataclass(slots=True)
class Measured:
    """`nulls`: columns with a NULL in them. `ranges`: least and greatest value. `values`: those of text
    columns with few. `frequencies`: the most rows that share one value of each reference."""

    rows: int = 0
    nulls: set[str] = field(default_factory=set)
    ranges: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    values: dict[str, list[str]] = field(default_factory=dict)
    frequencies: dict[tuple[str, ...], int] = field(default_factory=dict)


def ranged(type: str) -> bool:
    return type.partition("(")[0] in (*NUMBERS, *TIMES)


async def measured_rows(table: FoundTable, backend: Backend, found: Measured) -> None:
    """Size, NULLs and ranges, in one scan."""
    dialect = DIALECTS[backend.dialect]
    limits = [c for c, type in table.columns.items() if ranged(type)]
    items = ["COUNT(*)", *(f"COUNT({dialect.quote(c)})" for c in table.columns)]
    items += [f"{word}({dialect.quote(c)})" for c in limits for word in ("MIN", "MAX")]
    named = ", ".join(f"{item} AS c{i}" for i, item in enumerate(items))
    sql = f"SELECT {named} FROM {source(table, dialect)}"
    ((found.rows, *numbers),) = await asked(backend, sql, len(items))
    counts, ends = numbers[: len(table.columns)], iter(numbers[len(table.columns) :])
    for column, count in zip(table.columns, counts, strict=True):
        if count < found.rows:
            found.nulls.add(column)
    found.ranges = dict(zip(limits, zip(ends, ends, strict=True), strict=True))


async def measured_values(table: FoundTable, backend: Backend, found: Measured) -> None:
    """The values of text columns that have few, in the first rows. What each row has its own of is no bin."""
    dialect = DIALECTS[backend.dialect]
    for column in (c for c, type in table.columns.items() if type == "text"):
        sql = _distinct(table, column, dialect)
        values = sorted(value for (value,) in await asked(backend, sql, 1))
        if 0 < len(values) <= min(FEW_VALUES, found.rows // 2):
            found.values[column] = values


def _distinct(table: FoundTable, column: str, dialect: Dialect) -> str:
    name = dialect.quote(column)
    return (
        f"SELECT DISTINCT v FROM (SELECT {name} AS v FROM {source(table, dialect)} "
        f"LIMIT {SAMPLED_ROWS}) AS s WHERE v IS NOT NULL LIMIT {FEW_VALUES + 1}"
    )


def shared(table: FoundTable) -> Iterator[tuple[str, ...]]:
    """The columns whose frequencies a policy asks for: references, unless they are the whole key."""
    for reference in table.references:
        if set(reference.columns) != set(table.key):
            yield reference.columns


async def measured_frequency(
    table: FoundTable, columns: tuple[str, ...], backend: Backend, found: Measured
) -> None:
    dialect = DIALECTS[backend.dialect]
    names = [dialect.quote(c) for c in columns]
    known = " AND ".join(f"{name} IS NOT NULL" for name in names)
    sql = (
        f"SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM {source(table, dialect)} WHERE {known} "
        f"GROUP BY {', '.join(names)}) AS counts"
    )
    ((most,),) = await asked(backend, sql, 1)
    found.frequencies[columns] = most or 0


# ---------------------------------------------------------------- round numbers


def rounded_up(number: int) -> int:
    """1, 2 or 5 times a power of ten that is not below; small numbers as they are."""
    if number <= 10:
        return number
    power: int = 10 ** (len(str(number)) - 1)
    return next(step * power for step in (1, 2, 5, 10) if step * power >= number)


def outward(low: Any, high: Any) -> tuple[str, str]:
    """A range around both ends, as YAML: round numbers, whole years."""
    if isinstance(low, datetime.datetime):
        return f"{low.year:04}-01-01", f"{high.year + 1:04}-01-01"
    if isinstance(low, datetime.date):
        return f"{low.year:04}-01-01", f"{high.year:04}-12-31"
    least, most = Decimal(str(low)), Decimal(str(high))
    step = Decimal(1).scaleb(max(least.adjusted(), most.adjusted()) - 1)
    return _stepped(least, step, "ROUND_FLOOR"), _stepped(most, step, "ROUND_CEILING")


def _stepped(number: Decimal, step: Decimal, rounding: str) -> str:
    """A multiple of `step`, which has two digits of the wider end: the other end shows no more of the data."""
    found = (number / step).to_integral_value(rounding=rounding) * step
    return f"{found.quantize(Decimal(1)) if found == found.to_integral_value() else found:f}"
