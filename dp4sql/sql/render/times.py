"""Dates and timestamps to engine SQL. Results outside the years 1 to 9999 are NULL."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Final

from dp4sql.algebra.expr import Call, Expr, Interval_, Lit
from dp4sql.algebra.types import TIMES, Type
from dp4sql.errors import Unsupported
from dp4sql.sql.dialects import Dialect

FIRST_DAY, LAST_DAY = "DATE '0001-01-01'", "DATE '9999-12-31'"
FIRST: Final = datetime.datetime(1, 1, 1)
FAR: Final = "290000-01-01"
"""Before the last day of Postgres's timestamps, in 294276."""
EARLY: Final = "4700-01-01"
"""After the first day of Postgres's calendar, in 4714 BC."""
LAST: Final = datetime.datetime(9999, 12, 31)


def extract(field: str, time: Expr, text: str, dialect: Dialect) -> str:
    if field == "second" and dialect.name == "duckdb":
        return f"(EXTRACT(MICROSECONDS FROM {text}) / 1000000)"
    found = f"EXTRACT({field.upper()} FROM {text})"
    if dialect.name != "postgres":
        return found
    # The year of infinity is infinity there, and NULL elsewhere.
    tests = [f"ISFINITE({text})"] if field in ("year", "isoyear", "epoch") else []
    if time.type.kind == "date":
        # Version 13 makes a timestamp of it, and fails on days beyond those.
        tests.append(f"{text} < DATE '{FAR}'")
    return f"CASE WHEN {' AND '.join(tests)} THEN {found} END" if tests else found


def call(op: str, expr: Call, texts: list[str], dialect: Dialect) -> str:
    name = dialect.type_name(expr.type)
    match op:
        case "date_trunc":
            return _truncated(expr.args[1], texts, name, dialect)
        case "date-date":
            a, b = texts
            return f"CASE WHEN {_day(a)} AND {_day(b)} THEN {a} - {b} END"
        case "date+days" | "date-days":
            return _moved(texts[0], texts[1], op[4])
        case "make_date":
            return _made(texts)
        case "time+interval":
            return _shifted(expr, texts, name, dialect)
        case "span" | "age" | "days":
            raise _not_shown(op)
        case _:
            raise Unsupported(f"{op} has no rendering for {dialect.name}")


def _truncated(time: Expr, texts: list[str], name: str, dialect: Dialect) -> str:
    """DATE_TRUNC; the engines' own fail at both ends of their calendars."""
    unit, text = texts
    found = f"CAST(DATE_TRUNC({unit}, {text}) AS {name})"
    if dialect.name == "spark":
        return found
    word = "DATE" if time.type.kind == "date" else "TIMESTAMP"
    early = f"{EARLY} BC" if dialect.name == "postgres" else f"{EARLY} (BC)"
    far = f"{text} NOT BETWEEN {word} '{early}' AND {word} '{FAR}' AND ISFINITE({text})"
    return f"CASE WHEN {far} THEN CAST('infinity' AS {name}) ELSE {found} END"


def _not_shown(op: str) -> Unsupported:
    """A span of time has no form in which all engines show it, or add it up."""
    if op == "days":
        return Unsupported(
            "a multiple of an interval stands beside a date only",
            hint="For instance d + n * INTERVAL '7 days'.",
        )
    example = "YEAR FROM AGE(a, b))" if op == "age" else "EPOCH FROM a - b) / 86400"
    return Unsupported(
        "the span between two times is an interval, which is not shown, grouped or added up",
        hint=f"Take a number of it, as in EXTRACT({example}; a::date - b::date counts days.",
    )


def _made(texts: list[str]) -> str:
    """A date of a year, a month and a day that there is."""
    y, m, d = texts
    leap = f"{y} % 4 = 0 AND ({y} % 100 <> 0 OR {y} % 400 = 0)"
    last = f"CASE WHEN {m} IN (4, 6, 9, 11) THEN 30 WHEN {m} <> 2 THEN 31 WHEN {leap} THEN 29 ELSE 28 END"
    there = f"{y} BETWEEN 1 AND 9999 AND {m} BETWEEN 1 AND 12 AND {d} BETWEEN 1 AND {last}"
    parts = ", ".join(f"CAST({text} AS INTEGER)" for text in texts)
    return f"CASE WHEN {there} THEN MAKE_DATE({parts}) END"


def _day(text: str) -> str:
    return f"{text} BETWEEN {FIRST_DAY} AND {LAST_DAY}"


def _moved(day: str, days: str, sign: str) -> str:
    """The distance to both ends of the calendar bounds how many days can be added."""
    low, high = f"({FIRST_DAY} - {day})", f"({LAST_DAY} - {day})"
    if sign == "-":
        low, high = f"({day} - {LAST_DAY})", f"({day} - {FIRST_DAY})"
    inner = (
        f"CASE WHEN {days} BETWEEN {low} AND {high} THEN {day} {sign} CAST({days} AS INTEGER) END"
    )
    return f"CASE WHEN {_day(day)} THEN {inner} END"


def _shifted(expr: Call, texts: list[str], name: str, dialect: Dialect) -> str:
    """Plus a constant interval, as far as the result is sure to stay within the calendar."""
    time, interval = texts
    if expr.args[0].type.kind == "date" and dialect.name != "postgres":
        time = cast(expr.args[0], time, expr.type, dialect)
    by = expr.args[1].value if isinstance(expr.args[1], Lit) else None
    assert isinstance(by, Interval_)
    days = abs(by.months) * 31 + abs(by.days) + abs(by.micros) // 86_400_000_000 + 1
    if days >= (LAST - FIRST).days:
        return f"CAST(NULL AS {name})"
    margin = datetime.timedelta(days=days)
    parts = (by.months, by.days, by.micros)
    first = FIRST + margin if min(parts) < 0 else FIRST
    last = LAST - margin if max(parts) > 0 else LAST
    inner = f"CAST({time} + {interval} AS {name})"
    return f"CASE WHEN {time} BETWEEN TIMESTAMP '{first}' AND TIMESTAMP '{last}' THEN {inner} END"


def comparable(args: tuple[Expr, ...], texts: list[str], dialect: Dialect) -> list[str]:
    """A date beside a timestamp becomes one where it can; DuckDB's own conversion may fail."""
    return texts if dialect.name == "postgres" else merged(args, texts, dialect)


def merged(args: Sequence[Expr], texts: list[str], dialect: Dialect) -> list[str]:
    """The same where all become one value's type, in which Postgres's own conversion may fail, too."""
    times = [arg.type for arg in args if arg.type.kind != "unknown"]
    kinds = {type.kind for type in times}
    if not kinds <= TIMES or len(kinds) < 2:
        return texts
    widest = max(times, key=lambda type: _ORDER.index(type.kind))
    return [
        text if arg.type.kind in (widest.kind, "unknown") else cast(arg, text, widest, dialect)
        for arg, text in zip(args, texts, strict=True)
    ]


def cast(arg: Expr, text: str, target: Type, dialect: Dialect) -> str:
    """NULL where a date lies beyond what timestamps can hold."""
    name = dialect.type_name(target)
    if dialect.name != "postgres":
        return f"TRY_CAST({text} AS {name})"
    if arg.type.kind != "date" or target.kind == "date":
        return f"CAST({text} AS {name})"
    near = f"{text} < DATE '{FAR}' OR {text} = DATE 'infinity'"
    return f"CASE WHEN {near} THEN CAST({text} AS {name}) END"


_ORDER: Final = ("date", "timestamp without time zone", "timestamp with time zone")
