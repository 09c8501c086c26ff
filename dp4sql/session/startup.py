"""What a startup packet sets: parameters by name, and the command line in `options`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from dp4sql.errors import ProtocolViolation

#: Parameters of the packet that are no settings.
_NOT_SETTINGS: Final = frozenset({"user", "database", "options", "replication"})
_ARGUMENT: Final = re.compile(r"(?:\\.|\S)+")
_SWITCH: Final = re.compile(r"(?:-c|--)?([A-Za-z_][\w.-]*)=(.*)", re.DOTALL)


def settings_of(parameters: Mapping[str, str]) -> dict[str, str]:
    """Settings by lower-case name; what stands by itself wins over `options`, as in Postgres."""
    named = {
        name.lower(): value
        for name, value in parameters.items()
        if name not in _NOT_SETTINGS and not name.startswith("_pq_.")
    }
    return _command_line(parameters.get("options", "")) | named


def _command_line(options: str) -> dict[str, str]:
    """`-c name=value --name=value`; a backslash keeps a blank in a value."""
    words = [re.sub(r"\\(.)", r"\1", word) for word in _ARGUMENT.findall(options)]
    found: dict[str, str] = {}
    while words:
        word = words.pop(0)
        if word == "-c" and words:
            word += words.pop(0)
        switch = _SWITCH.fullmatch(word)
        if switch is None or not word.startswith("-"):
            raise ProtocolViolation(
                "the startup packet's options cannot be read", hint="-c name=value ..."
            )
        found[switch[1].lower().replace("-", "_")] = switch[2]
    return found
