"""Values of settings: what Postgres would take, and of that what is honoured here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from dp4sql.errors import InvalidParameter
from dp4sql.session import zones

#: Durations that end something.
TIMEOUTS: Final = (
    "statement_timeout",
    "idle_session_timeout",
    "idle_in_transaction_session_timeout",
)


def milliseconds(name: str, text: str) -> float:
    """A duration as Postgres reads it: 500, 500ms, 30s, 5min, 1h, 1d."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise _invalid(name, text, "A number of milliseconds, or 500ms, 30s, 5min.")
    return float(found[1]) * _MILLISECONDS[found[2] or "ms"]


_DURATION: Final = re.compile(r"(\d{1,10}(?:\.\d+)?)\s*(us|ms|s|min|h|d)?")
_MILLISECONDS: Final = {
    "us": 0.001,
    "ms": 1,
    "s": 1000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}


def _invalid(name: str, text: str, hint: str) -> InvalidParameter:
    return InvalidParameter(f'invalid value for parameter "{name}": "{text}"', hint=hint)


def _duration(name: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        milliseconds(name, text)
        return text

    return check


def _encoding(text: str) -> str:
    # asyncpg sends it with quotes around.
    if text.upper().strip("'").replace("-", "").replace("_", "") not in (
        "UTF8",
        "UNICODE",
        "SQLASCII",
    ):
        raise _invalid("client_encoding", text, "UTF8 is the one encoding spoken here.")
    return "UTF8"


def _date_style(text: str) -> str:
    words = [word.strip().upper() for word in text.split(",")]
    if not set(words) <= {"ISO", "MDY", "DMY", "YMD", "US", "EUROPEAN", "NONEUROPEAN"}:
        raise _invalid("DateStyle", text, "Dates are shown as ISO.")
    orders = {"DMY": "DMY", "EUROPEAN": "DMY", "YMD": "YMD"}
    return f"ISO, {next((orders[word] for word in words if word in orders), 'MDY')}"


def _interval_style(text: str) -> str:
    if text.lower() != "postgres":
        raise _invalid("IntervalStyle", text, "Intervals are shown in the style postgres.")
    return "postgres"


def _language(text: str) -> str:
    if text.partition("_")[0].partition(".")[0] not in ("", "C", "POSIX", "en"):
        raise _invalid("lc_messages", text, "Messages are in English: C.")
    return text


def _time_zone(text: str) -> str:
    known = zones.spelled(text)
    if known is None:
        raise _invalid("TimeZone", text, "A name such as UTC or Europe/Berlin, or hours: 2, -3.5.")
    return known


def _standard_strings(text: str) -> str:
    if text.lower() not in ("on", "true", "yes", "1"):
        raise _invalid("standard_conforming_strings", text, "It is always on.")
    return "on"


CHECKS: Final[dict[str, Callable[[str], str]]] = {
    "client_encoding": _encoding,
    "datestyle": _date_style,
    "default_transaction_read_only": lambda text: "on",
    "intervalstyle": _interval_style,
    "lc_messages": _language,
    "standard_conforming_strings": _standard_strings,
    **{name: _duration(name) for name in TIMEOUTS},
    "timezone": _time_zone,
}
