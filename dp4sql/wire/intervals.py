"""interval on the wire: microseconds, days, months. A day counts 24 hours, a month has no length.

A `timedelta` cannot hold months or years, so an interval with them is refused rather than guessed.
"""

from __future__ import annotations

import datetime
import re
import struct
from fractions import Fraction
from typing import Final

from dp4sql.errors import Unsupported

_LAYOUT = struct.Struct("!qii")
_DAY: Final = 86_400_000_000
_MICROSECOND: Final = datetime.timedelta(microseconds=1)

_UNITS: Final = {
    "week": 7 * _DAY,
    "day": _DAY,
    "hour": 3_600_000_000,
    "hr": 3_600_000_000,
    "minute": 60_000_000,
    "min": 60_000_000,
    "second": 1_000_000,
    "sec": 1_000_000,
    "millisecond": 1_000,
    "msec": 1_000,
    "microsecond": 1,
    "usec": 1,
    "w": 7 * _DAY,
    "d": _DAY,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
}
_MONTHS: Final = {"month", "mon", "year", "yr", "y", "decade", "century", "millennium"}
_CLOCK = re.compile(r"([+-]?)(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?")
_PART = re.compile(r"([+-]?\d+(?:\.\d+)?|[+-]?\.\d+)\s*([a-z]+)")
_ISO = re.compile(
    r"p((?:[+-]?\d+y)?(?:[+-]?\d+m)?)(?:([+-]?\d+)w)?(?:([+-]?\d+)d)?"
    r"(?:t(?:([+-]?\d+)h)?(?:([+-]?\d+)m)?(?:([+-]?\d+(?:\.\d+)?)s)?)?"
)


def to_text(value: datetime.timedelta) -> bytes:
    """IntervalStyle postgres: `2 days 03:04:05.5`, `-1 days -02:00:00`."""
    days, micros = _split(value)
    parts = [f"{days} day{'' if days == 1 else 's'}"] if days else []
    if micros or not days:
        parts.append(_clock(micros))
    return " ".join(parts).encode()


def to_binary(value: datetime.timedelta) -> bytes:
    days, micros = _split(value)
    return _LAYOUT.pack(micros, days, 0)


def from_binary(data: bytes) -> datetime.timedelta:
    micros, days, months = _LAYOUT.unpack(data)
    if months:
        raise _no_months()
    return datetime.timedelta(days=days, microseconds=micros)


def from_text(text: str) -> datetime.timedelta:
    """`1 day 02:03:04`, `3 hours ago`, `P1DT2H`; ValueError on anything else."""
    lowered = text.lower().strip()
    if lowered.startswith("p"):
        return _iso(lowered)
    sign = -1 if lowered.endswith(" ago") else 1
    lowered = lowered.removesuffix(" ago").removeprefix("@").strip()
    total, rest = Fraction(0), lowered
    if clock := _CLOCK.search(lowered):
        total += _clock_micros(clock)
        rest = lowered[: clock.start()] + lowered[clock.end() :]
    for number, unit in _PART.findall(rest):
        total += Fraction(number) * _length(unit)
    if _PART.sub("", rest).strip() or not lowered:
        raise ValueError("not an interval")
    return datetime.timedelta(microseconds=sign * round(total))


def _split(value: datetime.timedelta) -> tuple[int, int]:
    """Days and microseconds of one sign, as Postgres keeps them."""
    micros = value // _MICROSECOND
    days = abs(micros) // _DAY * (1 if micros >= 0 else -1)
    return days, micros - days * _DAY


def _clock(micros: int) -> str:
    seconds, fraction = divmod(abs(micros), 1_000_000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    shown = f"{'-' if micros < 0 else ''}{hours:02}:{minutes:02}:{seconds:02}"
    return shown + (f".{fraction:06}".rstrip("0") if fraction else "")


def _clock_micros(clock: re.Match[str]) -> Fraction:
    sign, hours, minutes, seconds = clock.groups()
    total = Fraction(int(hours) * 3600 + int(minutes) * 60) + Fraction(seconds or 0)
    return total * 1_000_000 * (-1 if sign == "-" else 1)


def _iso(text: str) -> datetime.timedelta:
    found = _ISO.fullmatch(text)
    if found is None or not any(found.groups()):
        raise ValueError("not an interval")
    months, *parts = found.groups()
    if months:
        raise _no_months()
    numbers = [Fraction(part or 0) for part in parts]
    lengths = [_UNITS[unit] for unit in "wdhms"]
    total = sum((n * size for n, size in zip(numbers, lengths, strict=True)), Fraction(0))
    return datetime.timedelta(microseconds=round(total))


def _length(unit: str) -> int:
    singular = unit if unit in _UNITS else unit.removesuffix("s")
    if singular in _MONTHS or unit in ("centuries", "millennia"):
        raise _no_months()
    if singular not in _UNITS:
        raise ValueError("not an interval")
    return _UNITS[singular]


def _no_months() -> Unsupported:
    return Unsupported(
        "an interval parameter with months or years is not supported",
        hint="Write it in days, or in the statement itself: interval '1 month'.",
    )
