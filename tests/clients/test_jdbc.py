"""pgJDBC, by a program of its own."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.clients.conftest import JDBC
from tests.clients.place import ALL_RELEASED, ALL_TYPES, MAJORS, PARAMETERS, Place, counting

CHECKS = (
    *("connect", "parameters", "results", "error", "prepared", "introspection", "cancel"),
    *("thousand", "cursor", "transaction"),
)


@pytest.fixture(scope="module")
def passed(place: Place) -> tuple[list[str], str]:
    url = (
        f"jdbc:postgresql://localhost:{place.port}/{place.database}?user={place.user}"
        f"&password={place.password}&sslmode=verify-full&sslrootcert={place.root}"
    )
    counts = [counting(kind, "?") for kind in PARAMETERS]
    program = Path(__file__).with_name("JdbcChecks.java")
    done = subprocess.run(
        ["java", "-cp", str(JDBC), str(program), url, ALL_TYPES, ALL_RELEASED, MAJORS, *counts],
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.stdout.split(), done.stderr


@pytest.mark.parametrize("check", CHECKS)
def test(passed: tuple[list[str], str], check: str) -> None:
    assert check in passed[0], passed[1]
