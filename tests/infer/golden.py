"""Golden files: derivations as EXPLAIN prints them. GOLDEN=write makes them anew, for `git diff` to review."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"


def golden(name: str, text: str) -> str:
    """What the file holds; with GOLDEN=write, `text`, which it holds from now on."""
    path = FOLDER / f"{name}.txt"
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return path.read_text()
