"""interval on the wire: microseconds, days, months. Parameters keep the three apart, as Postgres does;
results are `timedelta`s, whose days count 24 hours.
"""

from __future__ import annotations

import datetime
import struct
from typing import Final

from dp4sql.algebra.expr import Interval_

_LAYOUT = struct.Struct("!qii")
_DAY: Final = 86_400_000_000
_MICROSECOND: Final = datetime.timedelta(microseconds=1)


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


def from_binary(data: bytes) -> Interval_:
    micros, days, months = _LAYOUT.unpack(data)
    return Interval_(months, days, micros)


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
