"""Everything that the benchmark measures, before it is written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.certify import databases, mechanisms, proxy, sweep


@dataclass(frozen=True)
class Results:
    cells: Sequence[sweep.Cell]
    mechanisms: Sequence[mechanisms.Row]
    reports: Sequence[mechanisms.Row]
    plain: Sequence[mechanisms.Budget]
    exact: Sequence[mechanisms.Budget]
    databases: Sequence[databases.Row]
    boundary: Sequence[proxy.Row]
