"""Contribution-bounded histogram: a row counts for at most `cap` of the statements it supports.

All statements then share one vector query. Clipping only lowers counts, so that certificates stay valid.
"""

from __future__ import annotations

from collections.abc import Sequence


def clip(support: Sequence[bool], cap: int) -> tuple[bool, ...]:
    """The first `cap` statements, in public order, that a row supports."""
    left = cap
    kept = []
    for supported in support:
        kept.append(supported and left > 0)
        left -= supported
    return tuple(kept)


def sensitivity(rows: int, changes: int, cap: int, statements: int) -> int:
    """L1 of all counts together.

    rows: how far one count can move. changes: how many votes move when every row has one and may change
    it: a row that comes or goes is one, a row that is replaced two. Either bound holds: `cap` votes a row, or
    one count after the other.
    """
    return min(cap * changes, statements * rows)
