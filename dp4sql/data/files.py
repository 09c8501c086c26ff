"""Data files that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import duckdb


def build_once(path: Path, fill: Callable[[duckdb.DuckDBPyConnection], None]) -> bool:
    """Create the DuckDB file `path` with `fill` unless it is there; False when it was.

    It is written under another name and renamed, so an interrupted run leaves nothing half done.
    """
    if path.exists():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    unfinished.unlink(missing_ok=True)
    with duckdb.connect(str(unfinished)) as connection:
        fill(connection)
    unfinished.rename(path)
    return True
