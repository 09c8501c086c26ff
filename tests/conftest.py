"""Faults that the proxy survives fail a test all the same: nobody would see them in its answers."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.faults import watched


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
