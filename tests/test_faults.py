"""The watch over faults that only the log tells of can fail a test."""

from __future__ import annotations

import logging

import pytest

from tests.faults import watched

ERRORBARS = logging.getLogger("dp4sql.pipeline.errorbars")
FAILED = "half-widths could not be simulated"


@pytest.mark.faults(FAILED)
def test_a_fault_in_the_log_fails_unless_it_is_expected() -> None:
    with pytest.raises(pytest.fail.Exception, match=FAILED), watched():
        ERRORBARS.error(FAILED)
    with watched([FAILED]):
        ERRORBARS.error(FAILED)


def test_an_expected_fault_has_to_come() -> None:
    with pytest.raises(pytest.fail.Exception, match="does not say"), watched([FAILED]):
        ERRORBARS.warning(FAILED)


def test_what_clients_are_told_is_no_such_fault() -> None:
    with watched():
        logging.getLogger("dp4sql.backends.duckdb").error("query failed")
