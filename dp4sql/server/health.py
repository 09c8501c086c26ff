"""A few pages over HTTP for probes and monitoring: /healthz, /readyz, /metrics.

/healthz says that the proxy's loop runs, /readyz that queries can be answered now: the engine answers and
the ledger can be written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final, TypeAlias

from dp4sql.errors import Dp4sqlError
from dp4sql.server.metrics import Metrics
from dp4sql.server.server import Server

SECONDS: Final = 5.0
"""For a request to arrive, and for an engine or a ledger to answer."""

TEXT: Final = "text/plain; charset=utf-8"
Page: TypeAlias = tuple[HTTPStatus, str]


class Health:
    """Serves the pages of one proxy; `listen` starts, `close` ends."""

    def __init__(self, server: Server, metrics: Metrics) -> None:
        self._server, self._metrics = server, metrics
        self._listening: asyncio.Server | None = None
        self._pages: dict[str, Callable[[], Awaitable[Page]]] = {
            "/healthz": self._healthz,
            "/readyz": self._readyz,
            "/metrics": self._shown,
        }

    async def listen(self, host: str, port: int) -> int:
        """The port, which is a free one where 0 was asked for."""
        self._listening = await asyncio.start_server(self._answer, host, port, limit=8192)
        bound: int = self._listening.sockets[0].getsockname()[1]
        return bound

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.close()
            await self._listening.wait_closed()

    # ------------------------------------------------------------ HTTP

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            status, body = await self._page(head.split(b"\r\n", 1)[0].decode("latin-1"))
            writer.write(_response(status, body))
            await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            pass
        finally:
            writer.close()

    async def _page(self, request: str) -> Page:
        method, _, rest = request.partition(" ")
        page = self._pages.get(rest.partition(" ")[0].partition("?")[0])
        if method not in ("GET", "HEAD"):
            return HTTPStatus.METHOD_NOT_ALLOWED, "GET alone\n"
        if page is None:
            return HTTPStatus.NOT_FOUND, f"{', '.join(self._pages)}\n"
        try:
            return await page()
        except Dp4sqlError as error:
            return HTTPStatus.SERVICE_UNAVAILABLE, f"{error.message}\n"

    # ------------------------------------------------------------ pages

    async def _healthz(self) -> Page:
        return HTTPStatus.OK, "ok\n"

    async def _readyz(self) -> Page:
        if self._server.closing:
            return HTTPStatus.SERVICE_UNAVAILABLE, "shutting down\n"
        pipeline = self._server.served.pipeline
        found = {
            "engine": await _state(pipeline.backend.ping()),
            "ledger": await _state(asyncio.to_thread(pipeline.ledger.probe)),
        }
        well = all(state == "ok" for state in found.values())
        body = "".join(f"{part}: {state}\n" for part, state in found.items())
        return HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE, body

    async def _shown(self) -> Page:
        server = self._server
        shown = await asyncio.to_thread(
            self._metrics.text, server.served.pipeline, len(server.clients)
        )
        return HTTPStatus.OK, shown.decode()


async def _state(work: Awaitable[None]) -> str:
    try:
        async with asyncio.timeout(SECONDS):
            await work
    except TimeoutError:
        return f"no answer in {SECONDS:g} s"
    except Dp4sqlError as error:
        return error.message
    return "ok"


def _response(status: HTTPStatus, body: str) -> bytes:
    content = body.encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"Content-Type: {TEXT}\r\n"
        f"Content-Length: {len(content)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + content
