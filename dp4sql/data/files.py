"""Data files that appear whole or not at all."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import duckdb

Fill: TypeAlias = Callable[[duckdb.DuckDBPyConnection, Path], None]


def build_once(path: Path, fill: Fill) -> bool:
    """Create the DuckDB file `path` with `fill` unless it is there; False when it was.

    `fill` gets a connection and an empty folder to work in. Both live beside `path` until the
    finished file is renamed, so an interrupted run leaves nothing half done.
    """
    if path.exists():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
        unfinished = Path(folder) / path.name
        with duckdb.connect(str(unfinished)) as connection:
            connection.execute("SET enable_progress_bar = ?", [sys.stdout.isatty()])
            fill(connection, Path(folder))
        unfinished.rename(path)
    return True
