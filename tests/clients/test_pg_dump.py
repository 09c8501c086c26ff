"""pg_dump reads the schema, and would read the rows."""

from __future__ import annotations

import subprocess

from tests.clients.place import Place


def test_schema(place: Place) -> None:
    done = subprocess.run(
        ["pg_dump", "--schema-only", "-d", place.libpq], capture_output=True, text=True, timeout=60
    )
    assert "CREATE TABLE public.student" in done.stdout, done.stderr
