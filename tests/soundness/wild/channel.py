"""All noise of a pipeline, taken out, and what it would have been added to.

Of two neighbours the first releases its exact numbers and choices. The second releases the very same, as noise
could make it: all else that it shows is then to be the same, too, and what it would have released is to
be as near as the bounds say.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from dp4sql.mechanisms.stages import Measurement
from dp4sql.rows import listed


@dataclass(frozen=True, slots=True)
class Sent:
    """What one measurement gave the noise: an integer for each bin, or for a rank a score for each candidate."""

    measurement: Measurement
    exact: Sequence[Any]


@dataclass(slots=True)
class Channel:
    """What a statement sent; `released` is what it is to release, None its own."""

    released: list[list[int]] | None = None
    sent: list[Sent] = field(default_factory=list)
    own: list[list[int]] = field(default_factory=list)

    def pass_on(self, measurement: Measurement, exact: Sequence[Any], own: list[int]) -> list[int]:
        self.sent.append(Sent(measurement, exact))
        self.own.append(own)
        return own if self.released is None else self.released[len(self.own) - 1]


class Noiseless:
    """Where the pipelines of a block `taken_out` send to."""

    channel = Channel()

    def numbers(self, m: Measurement, exact: Any, scale: Fraction, loss: Fraction) -> list[int]:
        values = listed(exact)
        return self.channel.pass_on(m, values, values)

    def choices(
        self, m: Measurement, scored: list[list[int]], scale: Fraction, loss: Fraction
    ) -> list[int]:
        return self.channel.pass_on(m, scored, [row.index(max(row)) for row in scored])


@contextmanager
def taken_out() -> Iterator[Noiseless]:
    found = Noiseless()
    module: Any = importlib.import_module("dp4sql.mechanisms.release")
    before = module._noised, module._selected
    module._noised, module._selected = found.numbers, found.choices
    try:
        yield found
    finally:
        module._noised, module._selected = before
