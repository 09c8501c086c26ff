"""Text to intervals, as Postgres reads them: '3 months', '1 day 02:00', '3 hours ago', 'P1DT2H'."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from dp4sql.algebra.expr import Interval_

#: Months, days and microseconds that one of each unit has.
_UNITS: Final = {
    **dict.fromkeys(("millennium", "millennia"), (12_000, 0, 0)),
    **dict.fromkeys(("century", "centuries"), (1200, 0, 0)),
    "decade": (120, 0, 0),
    **dict.fromkeys(("year", "yr", "y"), (12, 0, 0)),
    "quarter": (3, 0, 0),
    **dict.fromkeys(("month", "mon"), (1, 0, 0)),
    **dict.fromkeys(("week", "w"), (0, 7, 0)),
    **dict.fromkeys(("day", "d"), (0, 1, 0)),
    **dict.fromkeys(("hour", "hr", "h"), (0, 0, 3_600_000_000)),
    **dict.fromkeys(("minute", "min", "m"), (0, 0, 60_000_000)),
    **dict.fromkeys(("second", "sec", "s"), (0, 0, 1_000_000)),
    **dict.fromkeys(("millisecond", "msec", "ms"), (0, 0, 1_000)),
    **dict.fromkeys(("microsecond", "usec", "us"), (0, 0, 1)),
}
_DAYS_A_MONTH: Final = 30
_MICROS_A_DAY: Final = 86_400_000_000

_CLOCK = re.compile(r"([+-]?)(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?")
_PART = re.compile(r"([+-]?\d+(?:\.\d+)?|[+-]?\.\d+)\s*([a-z]*)")
#: '1-2' is a year and two months in Postgres, not 1 and then -2.
_YEARS_AND_MONTHS = re.compile(r"\d-\d")
_ISO = re.compile(
    r"p(?:([+-]?\d+)y)?(?:([+-]?\d+)m)?(?:([+-]?\d+)w)?(?:([+-]?\d+)d)?"
    r"(?:t(?:([+-]?\d+)h)?(?:([+-]?\d+)m)?(?:([+-]?\d+(?:\.\d+)?)s)?)?"
)
_ISO_UNITS: Final = ("year", "month", "week", "day", "hour", "minute", "second")


def interval(text: str, unit: str | None = None) -> Interval_:
    """`unit` is for numbers that have none: INTERVAL '90' DAY. ValueError for what is no interval."""
    lowered = text.lower().strip()
    if lowered.startswith("p"):
        return _sum(_iso(lowered))
    sign = -1 if lowered.endswith(" ago") else 1
    lowered = lowered.removesuffix(" ago").removeprefix("@").strip()
    parts = [(sign * number, name) for number, name in _parts(lowered, (unit or "").lower())]
    return _sum(parts)


def _parts(text: str, unit: str) -> list[tuple[Fraction, str]]:
    found, rest = [], text
    clock = _CLOCK.search(text)
    if clock:
        found.append((_micros(clock), "usec"))
        rest = text[: clock.start()] + text[clock.end() :]
    missing = unit or ("day" if clock else "second")
    found += [(Fraction(number), name or missing) for number, name in _PART.findall(rest)]
    if not found or _PART.sub("", rest).strip() or _YEARS_AND_MONTHS.search(rest):
        raise ValueError("not an interval")
    return found


def _micros(clock: re.Match[str]) -> Fraction:
    sign, hours, minutes, seconds = clock.groups()
    total = Fraction(int(hours) * 3600 + int(minutes) * 60) + Fraction(seconds or 0)
    return total * 1_000_000 * (-1 if sign == "-" else 1)


def _iso(text: str) -> list[tuple[Fraction, str]]:
    found = _ISO.fullmatch(text)
    if found is None or not any(found.groups()):
        raise ValueError("not an interval")
    return [(Fraction(n), unit) for n, unit in zip(found.groups(), _ISO_UNITS, strict=True) if n]


def _sum(parts: list[tuple[Fraction, str]]) -> Interval_:
    """A fraction of a month counts in days, a fraction of a day in microseconds."""
    months = days = micros = Fraction(0)
    for number, unit in parts:
        lengths = _UNITS.get(unit) or _UNITS.get(unit.removesuffix("s"))
        if lengths is None:
            raise ValueError("not an interval")
        months += number * lengths[0]
        days += number * lengths[1]
        micros += number * lengths[2]
    days += (months - int(months)) * _DAYS_A_MONTH
    micros += (days - int(days)) * _MICROS_A_DAY
    if max(abs(months), abs(days)) >= 2**31 or abs(micros) >= 2**63:
        raise ValueError("interval out of range")
    return Interval_(int(months), int(days), round(micros))
