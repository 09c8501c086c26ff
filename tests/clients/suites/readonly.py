"""A pytest plugin for the clients' own tests: what fails because it writes is expected to fail."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

#: What the proxy says to everything that would change the database.
REFUSED = ("in a read-only transaction", "COPY can only take the rows of a query")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
    report = yield
    said = (
        "" if call.excinfo is None else f"{call.excinfo.value!r} {call.excinfo.value.__context__!r}"
    )
    if report.failed and any(words in said for words in REFUSED):
        report.outcome, report.wasxfail = "skipped", "it writes, and the proxy reads only"
        report.longrepr = report.wasxfail
    return report
