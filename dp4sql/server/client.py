"""One client: its socket's bytes to its connection, its session's replies to its socket.

One task takes the messages in order; replies gather and are written once a batch. A cancel request, a
timeout or a lost client stops the statement that runs, and with it the engine's work.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, cast

from dp4sql.errors import (
    Dp4sqlError,
    IdleInTransaction,
    IdleTooLong,
    InvalidEncoding,
    ServerError,
    ShuttingDown,
)
from dp4sql.server.login import Login
from dp4sql.server.options import Tls
from dp4sql.session.answers import Answers
from dp4sql.session.session import FLUSH_AT, TURN, Session
from dp4sql.session.startup import settings_of
from dp4sql.session.state import State
from dp4sql.wire import messages as m
from dp4sql.wire import replies as r
from dp4sql.wire.connection import Connection, Event

if TYPE_CHECKING:
    from dp4sql.server.server import Server

log = logging.getLogger(__name__)

#: Bytes that wait unread before the client is made to wait.
READ_AHEAD: Final = 1 << 18
#: Seconds for a client to read the last that was written to it.
LINGER: Final = 10.0


class Client(asyncio.Protocol):
    """A socket that may become a session."""

    def __init__(self, server: Server, tls: Tls | None) -> None:
        self._server, self._tls = server, tls
        self._connection = Connection(server.options.max_message)
        self._session: Session | None = None
        self._arrived: asyncio.Future[None] | None = None
        self._patience: asyncio.Timeout | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._task: asyncio.Task[None] | None = None
        self._ending: asyncio.TimerHandle | None = None
        self._pid, self._role = 0, ""
        self._lost = self._paused = False
        self.secret = b""

    # ------------------------------------------------------------ called by the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio's.
        self.transport = cast(asyncio.Transport, transport)
        self._task = asyncio.get_running_loop().create_task(self._serve())
        self._task.add_done_callback(_log_fault)

    def data_received(self, data: bytes) -> None:
        if self._session is not None and self._replied_at_once(self._session, data):
            return
        self._connection.receive(data)
        if self._arrived is not None:
            if not self._arrived.done():
                self._arrived.set_result(None)
        elif self._connection.unread > READ_AHEAD:
            self.pause()

    def _replied_at_once(self, session: Session, data: bytes) -> bool:
        """Whether a client that is waited for sent what can be answered from memory alone."""
        waited = self._arrived is not None and not self._arrived.done()
        if not waited or self._connection.unread or not self._writable.is_set():
            session.interrupted()
            return False
        reply = session.remembered(data)
        if reply is None:
            return False
        self.transport.write(reply)
        if self._patience is not None and (seconds := self._idle_timeout()):
            self._patience.reschedule(asyncio.get_running_loop().time() + seconds)
        return True

    def pause(self) -> None:
        self._paused = True
        self.transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        if self._ending is not None:
            self._ending.cancel()
        self._writable.set()
        self._stop()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # ------------------------------------------------------------ called by the server

    @property
    def started(self) -> bool:
        """Whether the client has its socket: it was accepted, and a handshake of direct TLS is over."""
        return self._task is not None

    @property
    def busy(self) -> bool:
        return self._session is not None and self._session.busy

    def cancel(self) -> None:
        if self._session is not None:
            self._session.cancel()

    def shut_down(self) -> None:
        """Tell the client and hang up."""
        self._leave()
        self._connection.end(ShuttingDown("terminating connection due to administrator command"))
        self._write()
        self._hang_up()
        self._stop()

    def _stop(self) -> None:
        if self._task is not None:
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
            if self._session is None:
                self._server.refuse(self.transport.get_extra_info("peername"), error)
            self._connection.end(error)
            self._write()
        except TimeoutError:
            log.info("a client did not log in in time")
        finally:
            self._leave()
            if self._session is not None:
                self._session.close()
            self._hang_up()

    def _leave(self) -> None:
        self._server.dismiss(self._pid, self._role)

    def _hang_up(self) -> None:
        """Close once the client has read what was written, or after a while."""
        self.transport.close()
        if self._ending is None and not self._lost:
            abort = self.transport.abort
            self._ending = asyncio.get_running_loop().call_later(LINGER, abort)

    async def _converse(self, session: Session) -> None:
        handled = 0
        while True:
            try:
                event = self._connection.next_event() or await self.next()
            except InvalidEncoding as error:
                session.fail(error)
                continue
            if isinstance(event, m.Terminate):
                return
            # Openings come before the login alone.
            await session.handle(cast(m.Message, event))
            if self._connection.flush_now or self._connection.unsent > FLUSH_AT:
                await self.drain()
            handled += 1
            if handled % TURN == 0:
                await asyncio.sleep(0)

    async def next(self) -> Event:
        while (event := self._connection.next_event()) is None:
            if self._connection.flush_now:
                await self.drain()
            await self._more()
        return event

    async def _more(self) -> None:
        """Wait for bytes."""
        self._arrived = asyncio.get_running_loop().create_future()
        if self._paused:
            self._paused = False
            self.transport.resume_reading()
        seconds = self._idle_timeout()
        try:
            if seconds is None:
                await self._arrived
            else:
                async with asyncio.timeout(seconds) as self._patience:
                    await self._arrived
        except TimeoutError:
            raise self._idle_too_long() from None
        finally:
            self._arrived = self._patience = None

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
        # A failed handshake has closed it, too.
        if self._connection.unsent and not self.transport.is_closing():
            data = self._connection.take()
            self.transport.write(data)
            if self._session is not None:
                self._session.replied(data, whole=not self._connection.unread)

    async def drain(self) -> None:
        self._write()
        if not self._writable.is_set():
            await self._writable.wait()

    # ------------------------------------------------------------ login

    async def _login(self) -> Session | None:
        startup = await Login(self._server, self, self._connection, self._tls).startup()
        return None if startup is None else self._admitted(startup)

    def _admitted(self, startup: m.Startup) -> Session:
        user, state = startup.parameters["user"], State()
        state.log_in(user, self._server.catalog.version, settings_of(startup.parameters))
        server, connection = self._server, self._connection
        self._pid, self.secret = server.admit(self, user)
        self._role = user
        connection.send(r.AUTHENTICATION_OK)
        for name, value in state.reported().items():
            connection.send(r.parameter_status(name, value))
        connection.send(r.backend_key_data(self._pid, self.secret))
        connection.ready(state.status)
        answers = Answers(lambda: server.served, server.catalog, state, user)
        return Session(connection, state, answers, self.drain)


def _log_fault(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("a connection ended by a fault of the proxy", exc_info=task.exception())
