"""One client: its socket's bytes to its connection, its session's replies to its socket.

One task takes the messages in order; replies gather and are written once a batch. A cancel request, a
timeout or a lost client stops the statement that runs, and with it the engine's work.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import TYPE_CHECKING, Final, cast

from dp4sql.catalog.service import check_role
from dp4sql.errors import (
    AuthenticationFailed,
    Dp4sqlError,
    IdleInTransaction,
    IdleTooLong,
    InvalidEncoding,
    ProtocolViolation,
    ServerError,
    ShuttingDown,
    UndefinedDatabase,
    Unsupported,
)
from dp4sql.server.options import is_local
from dp4sql.session.answers import Answers
from dp4sql.session.session import FLUSH_AT, Session
from dp4sql.session.startup import settings_of
from dp4sql.session.state import State
from dp4sql.wire import messages as m
from dp4sql.wire.auth import Scram
from dp4sql.wire.connection import Connection, Event

if TYPE_CHECKING:
    from dp4sql.server.server import Server

log = logging.getLogger(__name__)

#: Bytes that wait unread before the client is made to wait.
READ_AHEAD: Final = 1 << 18
#: Messages after which the other clients get their turn, if none of them made this one wait.
TURN: Final = 64


class Client(asyncio.Protocol):
    """A socket that may become a session."""

    def __init__(self, server: Server, direct_tls: bool) -> None:
        self._server, self._direct_tls = server, direct_tls
        self._connection = Connection(server.options.max_message)
        self._session: Session | None = None
        self._arrived: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._pid = 0
        self._lost = self._paused = False
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
            self._pause()

    def _pause(self) -> None:
        self._paused = True
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
            try:
                async with asyncio.timeout(self._server.options.login_timeout):
                    self._session = await self._login()
            finally:
                self._server.logins.release()
            if self._session is not None:
                await self._converse(self._session)
        except Dp4sqlError as error:
            self._connection.end(error)
            self._write()
        except TimeoutError:
            log.info("a client did not log in in time")
        finally:
            self._server.clients.pop(self._pid, None)
            if self._session is not None:
                self._session.close()
            self._transport.close()

    async def _converse(self, session: Session) -> None:
        handled = 0
        while True:
            try:
                event = self._connection.next_event() or await self._next()
            except InvalidEncoding as error:
                session.fail(error)
                continue
            if isinstance(event, m.Terminate):
                return
            # Openings come before the login alone.
            await session.handle(cast(m.Message, event))
            if self._connection.flush_now or self._connection.unsent > FLUSH_AT:
                await self._drain()
            handled += 1
            if handled % TURN == 0:
                await asyncio.sleep(0)

    async def _next(self) -> Event:
        while (event := self._connection.next_event()) is None:
            if self._connection.flush_now:
                await self._drain()
            await self._more()
        return event

    async def _more(self) -> None:
        """Wait for bytes."""
        self._arrived = asyncio.get_running_loop().create_future()
        if self._paused:
            self._paused = False
            self._transport.resume_reading()
        seconds = self._idle_timeout()
        try:
            if seconds is None:
                await self._arrived
            else:
                async with asyncio.timeout(seconds):
                    await self._arrived
        except TimeoutError:
            raise self._idle_too_long() from None
        finally:
            self._arrived = None

    def _idle_timeout(self) -> float | None:
        """The shorter of the server's and the session's; the login has a time of its own."""
        if self._session is None:
            return None
        own, asked = self._server.options.idle_timeout, self._session.idle_timeout
        return min(own, asked) if own and asked else own or asked

    def _idle_too_long(self) -> ServerError:
        if self._session is not None and self._session.in_transaction:
            return IdleInTransaction("terminating connection due to idle-in-transaction timeout")
        return IdleTooLong("terminating connection due to idle-session timeout")

    def _write(self) -> None:
        if self._connection.unsent and not self._lost:
            self._transport.write(self._connection.take())

    async def _drain(self) -> None:
        self._write()
        if not self._writable.is_set():
            await self._writable.wait()

    # ------------------------------------------------------------ login

    async def _login(self) -> Session | None:
        startup = await self._opening()
        if startup is None:
            return None
        user = startup.parameters.get("user", "")
        if not user:
            raise ProtocolViolation("no PostgreSQL user name specified in startup packet")
        check_role(user)
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
        self._pause()
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
        if self._server.options.trust and peer and is_local(peer[0]):
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
        answers = Answers(lambda: server.served, server.catalog, state, user)
        return Session(connection, state, answers, self._drain)


def _log_fault(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("a connection ended by a fault of the proxy", exc_info=task.exception())
