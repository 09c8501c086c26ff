"""Faults that the proxy survives: an answer that is paid for is given even where its error bars could not be found
or it could not be kept. The log alone says so."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence

import pytest

#: Whose records are the long form of an error that the client, or who started the program, is told.
TOLD = (
    "dp4sql.backends",
    "dp4sql.budget.postgres",
    "dp4sql.catalog",
    "dp4sql.data",
    "dp4sql.serving",
)


class Faults(logging.Handler):
    """The errors in dp4sql's log that nobody is told."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if not record.name.startswith(TOLD):
            self.texts.append(f"{record.name}: {self.format(record)}")


@contextlib.contextmanager
def watched(expected: Sequence[str] = ()) -> Iterator[None]:
    """Fails unless the log's errors are those `expected`, given by a part of their text each."""
    faults, log = Faults(), logging.getLogger("dp4sql")
    log.addHandler(faults)
    try:
        yield
    finally:
        log.removeHandler(faults)
    beside = [text for text in faults.texts if not any(part in text for part in expected)]
    missing = [part for part in expected if not any(part in text for text in faults.texts)]
    if beside or missing:
        missed = [f"it does not say: {part}" for part in missing]
        pytest.fail("\n".join(["the log tells of other faults:", *beside, *missed]), pytrace=False)
