"""Sockets to sessions: where the protocol, the catalog and the pipeline meet.

One task a client takes messages in order; replies gather and are written once a batch. A cancel
request, a timeout or a lost client stops the statement that runs, and with it the engine's work.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import secrets
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from dp4sql.catalog.route import router
from dp4sql.catalog.service import Catalog
from dp4sql.errors import (
    AuthenticationFailed,
    Dp4sqlError,
    InvalidParameter,
    ProtocolViolation,
    ShuttingDown,
    TooManyConnections,
    UndefinedDatabase,
    Unsupported,
)
from dp4sql.pipeline import Pipeline
from dp4sql.session.answers import Answers
from dp4sql.session.session import FLUSH_AT, Session
from dp4sql.session.startup import settings_of
from dp4sql.session.state import State
from dp4sql.wire import messages as m
from dp4sql.wire.auth import Scram, Users, Verifier, channel_binding
from dp4sql.wire.connection import Connection, Event, Phase

log = logging.getLogger(__name__)

#: Bytes that wait unread before the client is made to wait.
READ_AHEAD = 1 << 18
TLS_HANDSHAKE = 0x16
_PEM = "-----BEGIN CERTIFICATE-----"
_PEM_END = "-----END CERTIFICATE-----"


@dataclass(frozen=True, slots=True)
class Tls:
    """A server's side of TLS, and the hash of its certificate that SCRAM binds logins to."""

    context: ssl.SSLContext
    binding: bytes | None

    @classmethod
    def load(cls, certificate: str, key: str) -> Tls:
        """TLS 1.2 or later from a PEM chain and its key. Raises OSError on files that are neither."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(certificate, key)
        context.set_alpn_protocols(["postgresql"])
        chain = Path(certificate).read_text(encoding="ascii")
        first = chain[chain.index(_PEM) :].split(_PEM_END)[0] + _PEM_END
        return cls(context, channel_binding(ssl.PEM_cert_to_DER_cert(first)))


@dataclass(frozen=True, slots=True)
class Options:
    """How clients get in, and how much of everything they may use. Times are in seconds.

    `users` are SCRAM verifiers; `trust` lets anyone in, from this machine alone. `database` is the one
    name clients may ask for.
    """

    database: str = "dp4sql"
    users: Mapping[str, Verifier] | None = None
    trust: bool = False
    tls: Tls | None = None
    catalog: str | None = None
    max_connections: int = 1200
    max_message: int = m.MAX_MESSAGE
    login_timeout: float = 30.0
    idle_timeout: float | None = None


class Server:
    """Accepts clients and gives each a session. `listen` starts it, `close` ends it."""

    def __init__(self, pipeline: Pipeline, options: Options | None = None) -> None:
        self.pipeline, self.options = pipeline, options or Options()
        self.catalog = Catalog(pipeline.policy, self.options.database, self.options.catalog)
        self.route = router(pipeline.policy)
        self.users = Users(self.options.users or {})
        self.clients: dict[int, Client] = {}
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

    def _check_access(self, host: str) -> None:
        if self.options.trust and not _is_local(host):
            raise InvalidParameter(
                f"trust lets anyone in, and {host} is not this machine alone",
                hint="Listen on 127.0.0.1, or give users with dp4sql user add.",
            )
        if not (self.options.trust or self.options.users):
            raise InvalidParameter(
                "nobody could log in", hint="Add users with dp4sql user add, or ask for trust."
            )

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with listener:
            while True:
                try:
                    accepted, _ = await loop.sock_accept(listener)
                except OSError:
                    log.exception("a client could not be accepted")
                    await asyncio.sleep(0.1)
                    continue
                task = loop.create_task(self._greet(accepted))
                self._greeting.add(task)
                task.add_done_callback(self._greeting.discard)

    async def _greet(self, accepted: socket.socket) -> None:
        """Tell TLS from the startup packet by its first byte, and hand the socket over."""
        loop = asyncio.get_running_loop()
        accepted.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        tls = self.options.tls
        try:
            async with asyncio.timeout(self.options.login_timeout):
                direct = tls is not None and await _first_byte(accepted) == TLS_HANDSHAKE
                await loop.connect_accepted_socket(
                    lambda: Client(self, direct),
                    accepted,
                    ssl=tls.context if tls and direct else None,
                )
        except (OSError, ssl.SSLError, TimeoutError):
            accepted.close()

    # ------------------------------------------------------------ clients

    def admit(self, client: Client) -> tuple[int, bytes]:
        """A place for a client that has logged in: its process id and the secret for cancelling."""
        if self.closing:
            raise ShuttingDown("the server is shutting down")
        if len(self.clients) >= self.options.max_connections:
            raise TooManyConnections("sorry, too many clients already", hint="Try again later.")
        while True:
            self._next_pid = self._next_pid % (2**31 - 1) + 1
            if self._next_pid not in self.clients:
                self.clients[self._next_pid] = client
                return self._next_pid, secrets.token_bytes(4)

    def cancel(self, request: m.CancelRequest) -> None:
        client = self.clients.get(request.pid)
        if client is not None and hmac.compare_digest(client.secret, request.secret):
            client.cancel()

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


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Client(asyncio.Protocol):
    """One socket: bytes to its connection, its connection's replies to the socket."""

    def __init__(self, server: Server, direct_tls: bool) -> None:
        self._server, self._direct_tls = server, direct_tls
        self._connection = Connection(server.options.max_message)
        self._session: Session | None = None
        self._arrived: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._pid = 0
        self._lost = False
        self.secret = b""

    # ------------------------------------------------------------ called by the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = cast(asyncio.Transport, transport)
        self._task = asyncio.get_running_loop().create_task(self._serve())
        self._task.add_done_callback(_log_fault)

    def data_received(self, data: bytes) -> None:
        self._connection.receive(data)
        if self._arrived is not None:
            if not self._arrived.done():
                self._arrived.set_result(None)
        elif self._connection.unread > READ_AHEAD:
            self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._writable.set()
        self._task.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # ------------------------------------------------------------ called by the server

    @property
    def busy(self) -> bool:
        return self._session is not None and self._session.busy

    def cancel(self) -> None:
        if self._session is not None:
            self._session.cancel()

    def shut_down(self) -> None:
        """Tell the client and hang up."""
        self._server.clients.pop(self._pid, None)
        self._connection.end(ShuttingDown("terminating connection due to administrator command"))
        self._write()
        self._transport.close()
        self._task.cancel()

    # ------------------------------------------------------------ the task

    async def _serve(self) -> None:
        try:
            async with asyncio.timeout(self._server.options.login_timeout):
                self._session = await self._login()
            if self._session is not None:
                await self._converse(self._session)
        except Dp4sqlError as error:
            self._connection.end(error)
            self._write()
        except TimeoutError:
            log.info("a client was idle for too long")
        finally:
            self._server.clients.pop(self._pid, None)
            if self._session is not None:
                self._session.close()
            self._transport.close()

    async def _converse(self, session: Session) -> None:
        while True:
            try:
                event = await self._next()
            except ProtocolViolation:
                raise
            except Dp4sqlError as error:
                session.fail(error)
                continue
            if isinstance(event, m.Terminate):
                return
            # Openings come before the login alone.
            await session.handle(cast(m.Message, event))
            if self._connection.flush_now or self._connection.unsent > FLUSH_AT:
                await self._drain()

    async def _next(self) -> Event:
        while (event := self._connection.next_event()) is None:
            if self._connection.flush_now:
                await self._drain()
            self._arrived = asyncio.get_running_loop().create_future()
            self._transport.resume_reading()
            try:
                async with asyncio.timeout(self._idle_timeout()):
                    await self._arrived
            finally:
                self._arrived = None
        return event

    def _idle_timeout(self) -> float | None:
        ready = self._connection.phase is Phase.READY
        return self._server.options.idle_timeout if ready else None

    def _write(self) -> None:
        if self._connection.unsent and not self._lost:
            self._transport.write(self._connection.take())

    async def _drain(self) -> None:
        self._write()
        await self._writable.wait()

    # ------------------------------------------------------------ login

    async def _login(self) -> Session | None:
        startup = await self._opening()
        if startup is None:
            return None
        user = startup.parameters.get("user", "")
        if not user:
            raise ProtocolViolation("no PostgreSQL user name specified in startup packet")
        await self._authenticate(user)
        database = startup.parameters.get("database") or user
        if database != self._server.options.database:
            raise UndefinedDatabase(f'database "{database}" does not exist')
        if startup.parameters.get("replication", "false") not in ("false", "off", "no", "0"):
            raise Unsupported("replication is not supported")
        return self._admitted(user, startup)

    async def _opening(self) -> m.Startup | None:
        """The startup packet; None when the client wanted no more than to cancel."""
        if self._direct_tls:
            chosen = self._transport.get_extra_info("ssl_object").selected_alpn_protocol()
            if chosen != "postgresql":
                raise ProtocolViolation("direct TLS needs the ALPN protocol postgresql")
        while True:
            match await self._next():
                case m.Startup() as startup:
                    return startup
                case m.CancelRequest() as request:
                    self._server.cancel(request)
                    return None
                case m.SslRequest() if self._server.options.tls and not self._encrypted:
                    await self._start_tls(self._server.options.tls.context)
                case m.SslRequest() | m.GssEncRequest():
                    self._transport.write(b"N")
                case _:
                    raise ProtocolViolation("a message came before the startup packet")

    @property
    def _encrypted(self) -> bool:
        return self._transport.get_extra_info("ssl_object") is not None

    async def _start_tls(self, context: ssl.SSLContext) -> None:
        if self._connection.unread:
            # Sent before the handshake, it could be anybody's: CVE-2021-23214.
            raise ProtocolViolation("received unencrypted data after SSL request")
        self._transport.pause_reading()
        self._transport.write(b"S")
        loop = asyncio.get_running_loop()
        try:
            found = await loop.start_tls(self._transport, self, context, server_side=True)
        except OSError as error:
            raise ProtocolViolation("the TLS handshake failed") from error
        assert found is not None
        self._transport = found

    async def _authenticate(self, user: str) -> None:
        peer = self._transport.get_extra_info("peername")
        if self._server.options.trust and peer and _is_local(peer[0]):
            return
        if not self._server.options.users:
            raise AuthenticationFailed("this server lets in clients on its own machine alone")
        tls = self._server.options.tls
        binding = tls.binding if tls and self._encrypted else None
        scram = Scram(user, self._server.users.verifier(user), binding)
        self._connection.send(m.authentication_sasl(scram.mechanisms))
        first = scram.first(await self._answer())
        self._connection.send(m.authentication_sasl_continue(first))
        final = scram.final(await self._answer())
        self._connection.send(m.authentication_sasl_final(final))

    async def _answer(self) -> bytes:
        await self._drain()
        event = await self._next()
        if not isinstance(event, m.Password):
            raise AuthenticationFailed("the client ended the login")
        return event.payload

    def _admitted(self, user: str, startup: m.Startup) -> Session:
        state = State()
        state.log_in(user, self._server.catalog.version, settings_of(startup.parameters))
        server, connection = self._server, self._connection
        self._pid, self.secret = server.admit(self)
        connection.send(m.AUTHENTICATION_OK)
        for name, value in state.reported().items():
            connection.send(m.parameter_status(name, value))
        connection.send(m.backend_key_data(self._pid, self.secret))
        connection.ready(state.status)
        answers = Answers(server.pipeline, server.catalog, server.route, state, user)
        return Session(connection, state, answers, self._drain)


def _log_fault(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("a connection ended by a fault of the proxy", exc_info=task.exception())
