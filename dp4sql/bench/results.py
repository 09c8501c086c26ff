"""What was measured, kept as JSON after each run, so that a run that was cut short goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dp4sql.errors import InvalidParameter


@dataclass(slots=True)
class Measured:
    """One query: why it is refused, or seconds of each run by stage (`plain` is the query without privacy,
    `total` a repeated private answer, `first` the first one) and quantiles of each run's relative errors."""

    refused: str | None = None
    private: bool = True
    seconds: list[dict[str, float]] = field(default_factory=list)
    errors: list[list[float]] = field(default_factory=list)


@dataclass(slots=True)
class Results:
    """`about` says what was run; other runs belong into another file."""

    about: dict[str, Any]
    queries: dict[str, Measured] = field(default_factory=dict)
    resident_megabytes: int = 0

    def save(self, path: Path) -> None:
        unfinished = path.with_suffix(".part")
        unfinished.write_text(json.dumps(asdict(self), indent=1) + "\n")
        os.replace(unfinished, path)


def load(path: Path, about: Mapping[str, Any]) -> Results:
    """What `path` holds of the same run, or nothing yet. InvalidParameter where it holds another, or one
    that an earlier version measured otherwise."""
    if not path.exists():
        return Results(dict(about))
    found = json.loads(path.read_text())
    if found["about"] != dict(about):
        raise InvalidParameter(
            f"{path} holds the results of another run",
            hint="--fresh starts anew; --out names another folder.",
        )
    queries = {name: Measured(**of) for name, of in found["queries"].items()}
    if not all("first" in run for measured in queries.values() for run in measured.seconds):
        raise InvalidParameter(
            f"{path} does not tell first answers from repeated ones: an earlier version measured it",
            hint="--fresh starts anew; --out names another folder.",
        )
    return Results(found["about"], queries, found["resident_megabytes"])
