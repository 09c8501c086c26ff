"""Time zones by name, and by their distance from UTC, which Postgres names in the way of POSIX: <+02>-02."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from functools import lru_cache
from typing import Final

_HOURS: Final = re.compile(r"[+-]?\d{1,2}(?:\.\d{1,4})?")
_CLOCK: Final = re.compile(r"([+-]?)(\d{1,2}):([0-5]\d)(?::([0-5]\d))?")
_POSIX: Final = re.compile(r"<([+-]\d{2}(?::\d{2}){0,2})>[+-]\d{2}(?::\d{2}){0,2}")
_DAY: Final = 86_400


def spelled(text: str) -> str | None:
    """The zone's name as it is shown, None where there is none: a name, hours east of UTC, or <+02>-02."""
    if _HOURS.fullmatch(text):
        return at(round(float(text) * 3600))
    if (found := _POSIX.fullmatch(text)) is not None:
        distance = seconds(found[1])
        return None if distance is None or at(distance) != text else text
    return _names().get(text.lower())


def seconds(clock: str) -> int | None:
    """+02:00, -5:30 or +02 as seconds east of UTC."""
    found = _CLOCK.fullmatch(clock if ":" in clock else f"{clock}:00")
    if found is None:
        return None
    parts = (int(part or 0) for part in found.groups()[1:])
    size = sum(part * unit for part, unit in zip(parts, (3600, 60, 1), strict=True))
    return -size if found[1] == "-" else size


def at(east: int) -> str | None:
    """The name of the zone so many seconds east of UTC, None for a day or more."""
    hours, rest = divmod(abs(east), 3600)
    shown = f"{hours:02}" + (f":{rest // 60:02}" if rest else "")
    shown += f":{rest % 60:02}" if rest % 60 else ""
    if abs(east) >= _DAY:
        return None
    return f"<-{shown}>+{shown}" if east < 0 else f"<+{shown}>-{shown}"


def zone(name: str) -> datetime.tzinfo:
    """Of a name that `spelled` gave."""
    if (found := _POSIX.fullmatch(name)) is not None:
        return datetime.timezone(datetime.timedelta(seconds=seconds(found[1]) or 0))
    return datetime.UTC if name.upper() == "UTC" else zoneinfo.ZoneInfo(name)


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    """Names as they are spelled, by their lower case."""
    named = {name.lower(): name for name in zoneinfo.available_timezones()}
    return named | {"z": "UTC", "zulu": "UTC", "gmt": "GMT", "utc": "UTC"}
