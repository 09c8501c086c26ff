"""How near an answer is to the truth, group by group."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from statistics import median
from typing import Any, TypeAlias

Row: TypeAlias = Sequence[Any]
NEAR = 0.10
"""Relative error up to which a group counts as near the truth; an answer is near with 80 % of its groups."""


def errors(truth: Sequence[Row], answer: Sequence[Row], keys: int) -> list[float]:
    """The largest relative error of each true group: 0 for a group without numbers, 1 for one that is lost."""
    found = {_key(row[:keys]): row[keys:] for row in answer}
    return [_error(row[keys:], found.get(_key(row[:keys]))) for row in truth]


def _key(values: Row) -> tuple[str, ...]:
    return tuple(_text(value) for value in values)


def _text(value: Any) -> str:
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()[:10]
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return f"{float(value):.6g}"
    return str(value).strip()


def _error(true: Row, said: Row | None) -> float:
    if said is None or len(said) < len(true):
        return 1.0
    return max((_relative(a, b) for a, b in zip(true, said, strict=False)), default=0.0)


def _relative(true: Any, said: Any) -> float:
    if true is None or isinstance(true, str):
        return 0.0 if _text(true) == _text(said) else 1.0
    if said is None:
        return 1.0
    off = abs(float(said) - float(true))
    return off / abs(float(true)) if true else off


def median_error(runs: Sequence[Sequence[float]]) -> float:
    """Over groups the median of each run, over runs the median."""
    return median(median(run) if run else 0.0 for run in runs)


def near(runs: Sequence[Sequence[float]]) -> bool:
    """Whether most runs have 80 % of the groups within NEAR."""
    good = [sum(e <= NEAR for e in run) >= 0.8 * len(run) for run in runs]
    return sum(good) * 2 > len(good)
