"""A fixed slice of the soak: random worlds, neighbours and SQL against the promised bounds."""

from __future__ import annotations

import pytest

from .campaign import campaign


@pytest.mark.parametrize("seed", [2606, 7883])
def test_no_query_moves_further_than_its_bound(seed: int) -> None:
    tally = campaign(seed, lambda sofar: sofar.tried < 500 and not sofar.violations)
    assert not tally.violations, "\n".join(tally.violations)
    assert not tally.troubles, "\n".join(tally.troubles)
    assert tally.accepted > tally.tried / 2
    assert tally.attained > 0
