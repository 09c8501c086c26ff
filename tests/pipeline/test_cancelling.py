"""A statement that is cancelled on its way, wherever it is: what was charged is told and ends as failed, what was
not is not read."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from dp4sql.backends.duckdb import WORKERS
from dp4sql.pipeline import MAYBE_CHARGED, Pipeline
from dp4sql.settings import Settings

COUNT = "SELECT COUNT(*) FROM student"
SLOW = "SELECT COUNT(*) FROM range(1000000) AS a, range(1000000) AS b WHERE a.range <> b.range"
#: Seconds after which what has not happened will not.
PATIENCE = 60
TOLD = "The charge stays, as data may have been read: 1 to policy student."


@pytest.fixture(params=[True, False], ids=["one thread", "beside the loop"])
def asked(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Pipeline:
    """Statements with a thread of the engine's own, and those that find none free."""
    asyncio.run(pipeline.start())
    if not request.param:
        monkeypatch.setattr(pipeline.backend, "visit", lambda: None)
    return pipeline


class Held:
    """`work` that waits to go on until it is let."""

    def __init__(self, work: Callable[..., Any]) -> None:
        self._work, self.begun, self.go_on = work, threading.Event(), threading.Event()
        self.ended = threading.Event()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        try:
            return self._work(*args, **kwargs)
        finally:
            self.ended.set()


def cancelled(
    pipeline: Pipeline, begun: threading.Event, then: Callable[[], None] = lambda: None
) -> list[str]:
    """What the cancellation says of a statement that is cancelled once `begun` is set."""

    async def run() -> list[str]:
        task = asyncio.create_task(pipeline.query(COUNT))
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        then()
        return list(getattr(caught.value, "__notes__", ()))

    return asyncio.run(run())


def kinds(pipeline: Pipeline) -> list[str]:
    return [e.kind for e in pipeline.ledger.entries() if e.kind not in ("open", "terms")]


def settled(pipeline: Pipeline, expected: list[str]) -> bool:
    """The thread goes on by itself for a moment."""
    waiting = threading.Event()
    return any(kinds(pipeline) == expected or waiting.wait(0.02) for _ in range(50 * PATIENCE))


def test_while_it_is_charged(asked: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    held, read = Held(asked.ledger.charge), []
    monkeypatch.setattr(asked.ledger, "charge", held)
    monkeypatch.setattr(asked.backend, "read", lambda *_: read.append(1))
    assert cancelled(asked, held.begun, held.go_on.set) == [MAYBE_CHARGED]
    assert held.ended.wait(PATIENCE)
    assert settled(asked, ["charge", "failed"])
    assert read == []


def test_while_it_is_read(asked: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, read = threading.Event(), asked.backend.read  # type: ignore[attr-defined]

    def slow(cursor: Any, _: str) -> Any:
        begun.set()
        return read(cursor, SLOW)

    with monkeypatch.context() as patch:
        patch.setattr(asked.backend, "read", slow)
        assert cancelled(asked, begun) == [TOLD]
    assert kinds(asked) == ["charge", "failed"]
    asyncio.run(asked.query(COUNT))
    assert kinds(asked) == ["charge", "failed", "charge", "answered"]


def test_while_its_noise_is_drawn(asked: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    from dp4sql.pipeline.execution import add_noise

    held = Held(add_noise)
    with monkeypatch.context() as patch:
        patch.setattr("dp4sql.pipeline.execution.add_noise", held)
        assert cancelled(asked, held.begun) == [TOLD]
        assert kinds(asked) == ["charge", "failed"]
        held.go_on.set()
        assert held.ended.wait(PATIENCE)
    released = asyncio.run(asked.query(COUNT))
    assert not any("shown again" in notice for notice in released.notices)
    assert kinds(asked) == ["charge", "failed", "charge", "answered"]


def test_reads_of_a_crowd_leave_room_for_what_was_answered_before(
    pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every thread of the engine reads; a repeat reads nothing, and waits for none of them."""
    read, begun = pipeline.backend.read, threading.Semaphore(0)  # type: ignore[attr-defined]

    def slowly(cursor: Any, _: str) -> Any:
        begun.release()
        return read(cursor, SLOW)

    async def crowd() -> int:
        await pipeline.query(COUNT)
        monkeypatch.setattr(pipeline.backend, "read", slowly)
        slow = [
            asyncio.create_task(pipeline.query(f"{COUNT} WHERE uid > {i}", settings=Settings()))
            for i in range(WORKERS)
        ]
        for _ in slow:
            assert await asyncio.to_thread(begun.acquire, timeout=PATIENCE)
        repeat = await asyncio.wait_for(pipeline.query(COUNT), PATIENCE)
        assert not any(task.done() for task in slow)
        for task in slow:
            task.cancel()
        await asyncio.gather(*slow, return_exceptions=True)
        return len(repeat.rows)

    assert asyncio.run(crowd()) == 1
