"""Listening: sockets are accepted, told apart by their first byte, and each becomes a client."""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from dp4sql.catalog.route import router
from dp4sql.catalog.service import Catalog
from dp4sql.errors import Dp4sqlError, InvalidParameter, ShuttingDown, TooManyConnections
from dp4sql.pipeline import Pipeline
from dp4sql.server.client import Client
from dp4sql.server.options import Options, Tls, is_local
from dp4sql.session.answers import Served
from dp4sql.wire import messages as m
from dp4sql.wire.auth import Users, Verifier

log = logging.getLogger(__name__)

TLS_HANDSHAKE: Final = 0x16


class Server:
    """Accepts clients and gives each a session. `listen` starts it, `close` ends it; `refused` is called for
    each login that was."""

    def __init__(
        self,
        pipeline: Pipeline,
        options: Options | None = None,
        refused: Callable[[], None] = lambda: None,
    ) -> None:
        self.options = options or Options()
        self.served = Served(pipeline, router(pipeline.policy, self.options.database))
        self.catalog = Catalog(pipeline.policy, self.options.database, self.options.catalog)
        self.users = Users(self.options.users or {})
        self.tls = self.options.tls
        self.clients: dict[int, Client] = {}
        self._roles: Counter[str] = Counter()
        self.logins = asyncio.Semaphore(self.options.max_logins)
        self._refused = refused
        self.closing = False
        self._next_pid = secrets.randbelow(1 << 30)
        self._accepting: list[asyncio.Task[None]] = []
        self._greeting: set[asyncio.Task[None]] = set()

    # ------------------------------------------------------------ listening

    async def listen(self, host: str, port: int) -> int:
        """Start to accept on `host`; gives the port, which is a free one where 0 was asked for."""
        self._check_access(host)
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for family, address in dict.fromkeys((entry[0], entry[4]) for entry in found):
            listener = socket.create_server(address[:2], family=family, backlog=1024)
            listener.setblocking(False)
            port = listener.getsockname()[1]
            self._accepting.append(loop.create_task(self._accept(listener)))
            if len(found) > 1 and family == socket.AF_INET and address[1] == 0:
                break
        return port

    def refuse(self, peer: tuple[object, ...] | None, error: Dp4sqlError) -> None:
        """The curator is told: a row of these is somebody who tries passwords."""
        where = peer[0] if peer else "a client that is gone"
        log.warning("login refused from %s: %s", where, ascii(error.message)[1:-1])
        self._refused()

    def _check_access(self, host: str) -> None:
        if self.options.trust and not is_local(host):
            raise InvalidParameter(
                f"trust lets anyone in, and {host} is not this machine alone",
                hint="Listen on 127.0.0.1, or name a users file (--users), which dp4sql user add writes.",
            )
        if not (self.options.trust or self.options.users):
            raise InvalidParameter(
                "nobody could log in", hint="Add users with dp4sql user add, or ask for trust."
            )

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with listener:
            while True:
                # Whoever has not logged in yet takes up little, and others of them wait.
                await self.logins.acquire()
                try:
                    accepted, _ = await loop.sock_accept(listener)
                except OSError as error:
                    log.error("a client could not be accepted: %s", error.strerror)
                    self.logins.release()
                    await asyncio.sleep(1)
                    continue
                task = loop.create_task(self._greet(accepted))
                self._greeting.add(task)
                task.add_done_callback(self._greeting.discard)

    async def _greet(self, accepted: socket.socket) -> None:
        """Tell TLS from the startup packet by its first byte, and hand the socket over."""
        loop = asyncio.get_running_loop()
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        client: Client | None = None
        try:
            async with asyncio.timeout(self.options.login_timeout):
                direct = self.tls and await _first_byte(accepted) == TLS_HANDSHAKE
                tls = self.tls if direct else None
                client = made = Client(self, tls)
                await loop.connect_accepted_socket(
                    lambda: made, accepted, ssl=tls.context if tls else None
                )
        except (OSError, ssl.SSLError, TimeoutError):
            # Once started, a client closes its socket and gives its place back by itself.
            if client is None or not client.started:
                accepted.close()
                self.logins.release()

    async def renew(
        self, pipeline: Pipeline, users: Mapping[str, Verifier] | None, tls: Tls | None
    ) -> None:
        """Answer by another pipeline from the next statement on, and let clients in by other users and
        another certificate from the next login on."""
        await self.catalog.renew(pipeline.policy)
        self.served = Served(pipeline, router(pipeline.policy, self.options.database))
        self.users, self.tls = Users(users or {}), tls

    # ------------------------------------------------------------ clients

    def admit(self, client: Client, role: str) -> tuple[int, bytes]:
        """A place for a client that has logged in: its process id and the secret for cancelling."""
        if self.closing:
            raise ShuttingDown("the server is shutting down")
        if len(self.clients) >= self.options.max_connections:
            raise TooManyConnections("sorry, too many clients already", hint="Try again later.")
        if self._roles[role] >= (self.options.max_role_connections or self.options.max_connections):
            raise TooManyConnections(
                f'too many connections for role "{role}"', hint="Close some of them."
            )
        self._roles[role] += 1
        while True:
            self._next_pid = self._next_pid % (2**31 - 1) + 1
            if self._next_pid not in self.clients:
                self.clients[self._next_pid] = client
                return self._next_pid, secrets.token_bytes(4)

    def dismiss(self, pid: int, role: str) -> None:
        """Give the place of a client that was admitted back."""
        if self.clients.pop(pid, None) is not None:
            self._roles -= Counter((role,))

    def cancel(self, request: m.CancelRequest) -> bool:
        """Stop what a client runs; False where the secret is not that client's."""
        client = self.clients.get(request.pid)
        if client is None or not hmac.compare_digest(client.secret, request.secret):
            return False
        client.cancel()
        return True

    async def close(self, grace: float = 5.0) -> None:
        """Accept no more, let running statements finish for `grace` seconds, end all sessions."""
        self.closing = True
        for task in (*self._accepting, *self._greeting):
            task.cancel()
        deadline = asyncio.get_running_loop().time() + grace
        while self.clients and asyncio.get_running_loop().time() < deadline:
            for client in [c for c in self.clients.values() if not c.busy]:
                client.shut_down()
            await asyncio.sleep(0.02)
        for client in list(self.clients.values()):
            client.shut_down()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        await self.catalog.close()


async def _first_byte(accepted: socket.socket) -> int:
    """Look at the first byte without taking it."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(accepted, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(accepted)
    data = accepted.recv(1, socket.MSG_PEEK)
    return data[0] if data else 0
