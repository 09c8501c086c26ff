"""Cancel requests that meet their statement, however slow the machine is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def cancelling(request: Callable[[], object]) -> Iterator[None]:
    """Requests again and again until the block ends: one that comes before its statement stops nothing."""
    ended = threading.Event()

    def ask() -> None:
        while not ended.wait(0.2):
            request()

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
    finally:
        ended.set()
        asking.join()
