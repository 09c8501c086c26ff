"""Faults that the proxy survives fail a test all the same: nobody would see them in its answers."""

from __future__ import annotations

from collections.abc import Generator

import hypothesis
import pytest

from tests.faults import watched

#: The same examples on every machine, however long it takes for one of them.
hypothesis.settings.register_profile(
    "everywhere",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=(hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large),
)
hypothesis.settings.load_profile("everywhere")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None]:
    with watched():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """`@pytest.mark.faults("part of the text")` is for tests that cause one."""
    marker = item.get_closest_marker("faults")
    with watched(marker.args if marker else ()):
        yield
