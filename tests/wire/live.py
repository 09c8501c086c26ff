"""A live proxy on the university, in a thread of its own, and the plainest of clients for it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import uvloop
import yaml

import dp4sql
from dp4sql.data import university
from dp4sql.pipeline import Pipeline
from dp4sql.server import Options, Server
from dp4sql.wire import messages as m
from dp4sql.wire import replies as r

T = TypeVar("T")
POLICY = Path(__file__).parents[2] / "policies" / "university.yaml"
DATABASE = "university"
OPTIONS = Options(database=DATABASE, trust=True)
#: Seconds after which what has not come will not come, on however slow a machine.
PATIENCE = 60


def policy() -> dict[str, Any]:
    """The university's policy without budgets, so that tests can ask as much as they like."""
    content = yaml.safe_load(POLICY.read_text())
    for one in content["policies"].values():
        one.pop("budget", None)
    return content


class Proxy:
    """A server listening on a free port of 127.0.0.1; `call` runs a coroutine on its loop."""

    def __init__(
        self, folder: Path, options: Options = OPTIONS, content: dict[str, Any] | None = None
    ) -> None:
        database = folder / "university.duckdb"
        university.generate(database)
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.pipeline = dp4sql.open_pipeline(
            policy=content or policy(),
            database=f"duckdb:///{database}",
            ledger=folder / "test.ledger",
        )
        self.server = self.call(self._make(options))
        self.port = self.call(self.server.listen("127.0.0.1", 0))

    async def _make(self, options: Options) -> Server:
        return Server(self.pipeline, options)

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=2 * PATIENCE)

    def stop(self, grace: float = 0.0) -> None:
        self.call(self.server.close(grace))
        self.call(self.pipeline.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextlib.contextmanager
def proxy(folder: Path, content: dict[str, Any] | None = None, **changes: Any) -> Iterator[Proxy]:
    running = Proxy(folder, replace(OPTIONS, **changes), content)
    try:
        yield running
    finally:
        running.stop()


def stop_clock(pipeline: Pipeline) -> None:
    """No day or month begins in its ledger: what is asked counts for the same one until the test ends."""
    moment = datetime.now(UTC)
    pipeline.ledger._clock = lambda: moment


Frame = tuple[str, bytes]


class Raw:
    """A socket that speaks frames: no driver between the test and the protocol."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self._frames = m.Frames()

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, *frames: bytes) -> None:
        self.socket.sendall(b"".join(frames))

    def frame(self) -> Frame:
        """The next message; EOFError when the server hung up."""
        while (found := self._frames.message()) is None:
            data = self.socket.recv(65536)
            if not data:
                raise EOFError
            self._frames.feed(data)
        return chr(found[0]), found[1]

    def until(self, last: str) -> list[Frame]:
        found = [self.frame()]
        while found[-1][0] != last:
            found.append(self.frame())
        return found

    def kinds(self, last: str = "Z") -> str:
        return "".join(kind for kind, _ in self.until(last))

    def rest(self) -> list[Frame]:
        """Everything up to the end of the connection."""
        found = []
        with contextlib.suppress(EOFError):
            while True:
                found.append(self.frame())
        return found

    def silent(self, seconds: float = 0.2) -> bool:
        self.socket.settimeout(seconds)
        try:
            return self.socket.recv(1, socket.MSG_PEEK) == b""
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(PATIENCE)

    def log_in(self, version: int = m.PROTOCOL_3_0, **parameters: str) -> list[Frame]:
        """Start up as ann on the university; what the server says up to ReadyForQuery."""
        self.send(startup(version, **{"user": "ann", "database": DATABASE} | parameters))
        said = self.until("Z")
        self.pid = int.from_bytes(dict(said)["K"][:4], "big")
        return said


def wait_for(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert true()


def startup(version: int = m.PROTOCOL_3_0, **parameters: str) -> bytes:
    pairs = "".join(f"{name}\0{value}\0" for name, value in parameters.items())
    body = struct.pack("!i", version) + pairs.encode() + b"\0"
    return struct.pack("!i", len(body) + 4) + body


def text(value: str) -> bytes:
    return value.encode() + b"\0"


def query(sql: str) -> bytes:
    return r.frame(b"Q", text(sql))


def parse(sql: str, name: str = "", oids: tuple[int, ...] = ()) -> bytes:
    types = struct.pack(f"!H{len(oids)}I", len(oids), *oids)
    return r.frame(b"P", text(name) + text(sql) + types)


def bind(
    *values: bytes | None,
    portal: str = "",
    statement: str = "",
    codes: tuple[int, ...] = (),
    results: tuple[int, ...] = (),
) -> bytes:
    sent = [struct.pack("!i", -1) if v is None else struct.pack("!i", len(v)) + v for v in values]
    parameters = struct.pack("!H", len(values)) + b"".join(sent)
    return r.frame(
        b"B", text(portal) + text(statement) + _codes(codes) + parameters + _codes(results)
    )


def _codes(codes: tuple[int, ...]) -> bytes:
    return struct.pack(f"!H{len(codes)}H", len(codes), *codes)


def describe(target: str, name: str = "") -> bytes:
    return r.frame(b"D", target.encode() + text(name))


def execute(limit: int = 0, portal: str = "") -> bytes:
    return r.frame(b"E", text(portal) + struct.pack("!i", limit))


SYNC, FLUSH, TERMINATE = r.frame(b"S"), r.frame(b"H"), r.frame(b"X")


def report(body: bytes) -> dict[str, str]:
    """The fields of an ErrorResponse or NoticeResponse."""
    return {part[:1].decode(): part[1:].decode() for part in body.split(b"\0") if part}


def row(body: bytes) -> list[bytes | None]:
    read = m.Body(body)
    sizes = range(read.int16())
    return [None if (size := read.int32()) == -1 else read.take(size) for _ in sizes]


def rows(frames: list[Frame]) -> list[list[bytes | None]]:
    return [row(body) for kind, body in frames if kind == "D"]


def error(frames: list[Frame]) -> dict[str, str]:
    return next(report(body) for kind, body in frames if kind == "E")
