"""Long work on what a client sent, beside the event loop: one client's long statement is not everybody's wait.

The threads are of their own, so that those which write the ledger and read files stay free.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

LONG: Final = 2000
"""Characters of a statement from which on it is read and planned in a thread. Below, that would cost more
than it saves."""

_threads: Final = ThreadPoolExecutor(2, "dp4sql-aside")


async def aside(text: str, work: Callable[[Unpack[Ts]], T], *args: *Ts) -> T:
    """`work(*args)`, a pure function of `text`. A wait that is cancelled leaves the work to end by itself."""
    if len(text) <= LONG:
        return work(*args)
    return await asyncio.get_running_loop().run_in_executor(_threads, work, *args)
