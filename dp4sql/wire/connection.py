"""The server side of one connection as a state machine without sockets.

    OPENING --Startup--> LOGIN --ready--> READY
       SslRequest, GssEncRequest, CancelRequest leave it in OPENING for the caller to act on

`receive` takes bytes, `next_event` gives the next message that is to be acted on, replies gather in
a buffer that `take` empties. After an error within the extended protocol everything up to the next
Sync is dropped here, so callers never see it.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import TypeAlias

from dp4sql.errors import Dp4sqlError, ProtocolViolation, Unsupported
from dp4sql.wire import messages as m
from dp4sql.wire import replies as r

Event: TypeAlias = m.Opening | m.Message


class Phase(Enum):
    OPENING = auto()
    LOGIN = auto()
    READY = auto()


class Connection:
    """One client's half-read bytes, its phase, and the replies that wait to be written."""

    __slots__ = ("_frames", "_limit", "_out", "_skipping", "_within", "flush_now", "phase")

    def __init__(self, limit: int = m.MAX_MESSAGE) -> None:
        self._frames, self._out, self._limit = m.Frames(), bytearray(), limit
        self._skipping = False
        self._within: Event | None = None
        self.phase = Phase.OPENING
        self.flush_now = False

    # ------------------------------------------------------------ in

    def receive(self, data: bytes) -> None:
        self._frames.feed(data)

    @property
    def unread(self) -> int:
        """Bytes received that have not become events."""
        return len(self._frames)

    def next_event(self) -> Event | None:
        """The next message to act on, or None until more bytes come.

        Raises InvalidEncoding when one message is bad and the next may be good; any other error means
        that the connection must end.
        """
        if self.phase is Phase.OPENING:
            return self._opening()
        while (found := self._frames.message(self._size_limit())) is not None:
            kind, body = found
            if self._skipping and kind not in b"SX":
                continue
            self._skipping = False
            # Kept before decoding: a message that fails to decode must be answered by its kind.
            self._within = m.Query("") if kind == ord("Q") else None
            event = m.decode(kind, body)
            self._check(event)
            return event
        return None

    def _size_limit(self) -> int:
        return self._limit if self.phase is Phase.READY else m.MAX_LOGIN_MESSAGE

    def _opening(self) -> Event | None:
        body = self._frames.opening()
        if body is None:
            return None
        event = m.decode_opening(body)
        if isinstance(event, m.Startup):
            self._negotiate(event)
            self.phase = Phase.LOGIN
        return event

    def _negotiate(self, startup: m.Startup) -> None:
        """Any 3.x is answered with 3.0, as are options of the protocol that are not known."""
        major, minor = startup.version >> 16, startup.version & 0xFFFF
        if major != 3:
            raise Unsupported(f"unsupported frontend protocol {major}.{minor}: server supports 3.0")
        options = [name for name in startup.parameters if name.startswith("_pq_.")]
        if minor or options:
            self.send(r.negotiate_protocol_version(options))

    def _check(self, event: Event) -> None:
        password = isinstance(event, m.Password)
        if password != (self.phase is Phase.LOGIN) and not isinstance(event, m.Terminate):
            raise ProtocolViolation("a message came that makes no sense now")

    # ------------------------------------------------------------ out

    def send(self, *frames: bytes) -> None:
        for frame in frames:
            self._out += frame

    def take(self) -> bytes:
        data, self._out = bytes(self._out), bytearray()
        self.flush_now = False
        return data

    @property
    def unsent(self) -> int:
        return len(self._out)

    def ready(self, status: bytes) -> None:
        """The answer to Sync, to a simple Query and to a login."""
        self.phase = Phase.READY
        self._within = None
        self.send(r.ready_for_query(status))
        self.flush_now = True

    def fail(self, error: Dp4sqlError, status: bytes) -> None:
        """Report an error at once; then ready again after a Query, or deaf until Sync.

        `status` is the transaction status after the error.
        """
        self.send(r.error_response("ERROR", fields_of(error)))
        self.flush_now = True
        if isinstance(self._within, m.Query):
            self.ready(status)
        else:
            self._skipping = True

    def end(self, error: Dp4sqlError) -> None:
        """Report an error that closes the connection."""
        self.send(r.error_response("FATAL", fields_of(error)))
        self.flush_now = True

    def notice(self, text: str, *, severity: str = "NOTICE", sqlstate: str = "00000") -> None:
        self.send(r.notice_response(severity, {"C": sqlstate, "M": text}))


def fields_of(error: Dp4sqlError) -> dict[str, str]:
    fields = {"C": error.sqlstate, "M": error.message}
    optional = {"D": error.detail, "H": error.hint, "P": error.position, "R": error.routine}
    return fields | {code: str(value) for code, value in optional.items() if value is not None}
