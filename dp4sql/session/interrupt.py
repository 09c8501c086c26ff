"""Ending a statement before it is done: after its time, or when a cancel request comes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from dp4sql.errors import QueryCanceled


class Interrupt:
    """Watches over the statements of one session, which run one after the other in one task."""

    __slots__ = ("_home", "_task", "_why")

    def __init__(self) -> None:
        self._home: asyncio.Task[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._why = ""

    @property
    def busy(self) -> bool:
        return self._task is not None

    def stop(self, why: str) -> None:
        """End the running statement, if there is one."""
        if self._task is not None and not self._why:
            self._why = why
            self._task.cancel()

    async def watch(self, work: Awaitable[None], seconds: float | None) -> None:
        """Run `work`; QueryCanceled when it was stopped. asyncio.timeout would cost each message more."""
        if self._home is None:
            self._home = asyncio.current_task()
        self._task, self._why = self._home, ""
        assert self._task is not None
        timer = self._timer(seconds) if seconds else None
        try:
            await work
        except asyncio.CancelledError as cancelled:
            # Another reason besides ours, such as a lost connection, goes on.
            if not self._why or self._task.cancelling() > 1:
                raise
            # What the statement had been charged by then is noted on the cancellation.
            notes = " ".join(getattr(cancelled, "__notes__", ()))
            raise QueryCanceled(
                f"canceling statement due to {self._why}", detail=notes or None
            ) from None
        finally:
            if timer is not None:
                timer.cancel()
            if self._why:
                self._task.uncancel()
            self._task = None

    def _timer(self, seconds: float) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(seconds, self.stop, "statement timeout")
