"""node-postgres, by a script of its own."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.clients.place import (
    ALL_RELEASED,
    ALL_TYPES,
    MAJORS,
    NAMES,
    PARAMETERS,
    SHOWN,
    Place,
    counting,
)

CHECKS = (
    *("connect", "parameters", "results", "error", "prepared", "introspection", "cancel"),
    *("thousand", "transaction", "pool"),
)


def _plain(value: object) -> object:
    """As JSON can hold it; node-postgres sends text."""
    if isinstance(value, dt.timedelta):
        return f"{value.total_seconds()} seconds"
    return value if value is None or isinstance(value, bool | float) else str(value)


@pytest.fixture(scope="module")
def passed(place: Place, node_modules: Path) -> tuple[list[str], str]:
    given = {
        "host": place.host, "port": place.port, "database": place.database, "user": place.user,
        "password": place.password, "root": str(place.root),
        "all_types": ALL_TYPES, "all_released": ALL_RELEASED, "shown": SHOWN, "majors": MAJORS, "names": NAMES,
        "parameters": [[counting(kind, "$1"), _plain(PARAMETERS[kind][1])] for kind in PARAMETERS],
    }  # fmt: skip
    script = Path(__file__).with_name("node_checks.js")
    done = subprocess.run(
        ["node", str(script), json.dumps(given)],
        capture_output=True, text=True, timeout=120, env=os.environ | {"NODE_PATH": str(node_modules)},
    )  # fmt: skip
    return done.stdout.split(), done.stderr


@pytest.mark.parametrize("check", CHECKS)
def test(passed: tuple[list[str], str], check: str) -> None:
    assert check in passed[0], passed[1]
