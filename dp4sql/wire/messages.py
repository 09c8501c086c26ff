"""Protocol 3 as data: what a client sends, decoded (`dp4sql.wire.replies` is what it is told).

No sockets and no state but the buffer of bytes that have not made a whole message yet. Source: the
PostgreSQL documentation, "Frontend/Backend Protocol", Message Formats.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from dp4sql.errors import InvalidEncoding, ProtocolViolation

PROTOCOL_3_0: Final = 3 << 16
SSL_REQUEST: Final = 80877103
GSSENC_REQUEST: Final = 80877104
CANCEL_REQUEST: Final = 80877102

MAX_STARTUP: Final = 10_000
MAX_LOGIN_MESSAGE: Final = 65_536
MAX_MESSAGE: Final = 64 << 20

Target: TypeAlias = Literal["S", "P"]

_SIZE = struct.Struct("!i")
_HEAD = struct.Struct("!Bi")


@dataclass(frozen=True, slots=True)
class SslRequest:
    pass


@dataclass(frozen=True, slots=True)
class GssEncRequest:
    pass


@dataclass(frozen=True, slots=True)
class CancelRequest:
    pid: int
    secret: bytes


@dataclass(frozen=True, slots=True)
class Startup:
    """`version` is major << 16 | minor; `parameters` as sent, `_pq_.` options included."""

    version: int
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Password:
    """Any answer to an authentication request; what is in it depends on the request."""

    payload: bytes


class Query(NamedTuple):
    sql: str


class Parse(NamedTuple):
    name: str
    sql: str
    parameter_oids: tuple[int, ...]


class Bind(NamedTuple):
    portal: str
    statement: str
    parameter_formats: tuple[int, ...]
    parameters: tuple[bytes | None, ...]
    result_formats: tuple[int, ...]


class Describe(NamedTuple):
    target: Target
    name: str


class Execute(NamedTuple):
    """`limit` 0 is no limit."""

    portal: str
    limit: int


class Close(NamedTuple):
    target: Target
    name: str


@dataclass(frozen=True, slots=True)
class Sync:
    pass


@dataclass(frozen=True, slots=True)
class Flush:
    pass


@dataclass(frozen=True, slots=True)
class Terminate:
    pass


@dataclass(frozen=True, slots=True)
class FunctionCall:
    pass


@dataclass(frozen=True, slots=True)
class CopyFromClient:
    """CopyData, CopyDone or CopyFail: dropped, as Postgres drops them outside COPY FROM STDIN."""


Opening: TypeAlias = SslRequest | GssEncRequest | CancelRequest | Startup
Message: TypeAlias = (
    Query
    | Parse
    | Bind
    | Describe
    | Execute
    | Close
    | Sync
    | Flush
    | Terminate
    | Password
    | FunctionCall
    | CopyFromClient
)


class Body:
    """A cursor over the body of one message. Every read past its end is a ProtocolViolation."""

    __slots__ = ("_at", "_bytes")

    def __init__(self, body: bytes) -> None:
        self._bytes, self._at = body, 0

    def take(self, count: int) -> bytes:
        end = self._at + count
        if count < 0 or end > len(self._bytes):
            raise ProtocolViolation("insufficient data left in message")
        part = self._bytes[self._at : end]
        self._at = end
        return part

    def int16(self) -> int:
        return int.from_bytes(self.take(2), "big")

    def int32(self) -> int:
        return int.from_bytes(self.take(4), "big", signed=True)

    def numbers(self, width: Literal[2, 4]) -> tuple[int, ...]:
        """A counted list of unsigned numbers of `width` bytes each."""
        count = self.int16()
        if not count:
            return ()
        return struct.unpack(f"!{count}{'H' if width == 2 else 'I'}", self.take(count * width))

    def text(self) -> str:
        """A string up to its NUL. InvalidEncoding leaves the connection usable, as in Postgres."""
        end = self._bytes.find(b"\0", self._at)
        if end < 0:
            raise ProtocolViolation("invalid string in message")
        raw = self._bytes[self._at : end]
        self._at = end + 1
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise InvalidEncoding(
                'invalid byte sequence for encoding "UTF8"', hint="Set client_encoding to UTF8."
            ) from None

    def rest(self) -> bytes:
        return self.take(len(self._bytes) - self._at)

    def end(self) -> None:
        if self._at != len(self._bytes):
            raise ProtocolViolation("invalid message format")


def decode_opening(body: bytes) -> Opening:
    """The first message of a connection, without its length."""
    read = Body(body)
    code = read.int32()
    if code == CANCEL_REQUEST:
        return CancelRequest(read.int32(), read.rest())
    if code in (SSL_REQUEST, GSSENC_REQUEST):
        read.end()
        return SslRequest() if code == SSL_REQUEST else GssEncRequest()
    parameters: dict[str, str] = {}
    while name := read.text():
        parameters[name] = read.text()
    read.end()
    return Startup(code, parameters)


def decode(kind: int, body: bytes) -> Message:
    """One message of an open connection: its type byte and its body.

    Raises ProtocolViolation on bytes that are no message, InvalidEncoding on text that is no UTF-8.
    """
    # Clients send the same messages again and again. What may hold a password is not remembered.
    if len(body) <= _REMEMBERED and kind != ord("p"):
        return _small(kind, body)
    return _decoded(kind, body)


def _decoded(kind: int, body: bytes) -> Message:
    decoder = _DECODERS.get(kind)
    if decoder is None:
        raise ProtocolViolation(f"invalid frontend message type {kind}")
    read = Body(body)
    message = decoder(read)
    read.end()
    return message


_REMEMBERED: Final = 256
_small = lru_cache(maxsize=4096)(_decoded)


def _parse(read: Body) -> Parse:
    return Parse(read.text(), read.text(), read.numbers(4))


def _bind(read: Body) -> Bind:
    portal, statement, formats = read.text(), read.text(), read.numbers(2)
    values = tuple(_parameter(read) for _ in range(read.int16()))
    return Bind(portal, statement, formats, values, read.numbers(2))


def _parameter(read: Body) -> bytes | None:
    size = read.int32()
    return None if size == -1 else read.take(size)


def _target(read: Body) -> Target:
    match read.take(1):
        case b"S":
            return "S"
        case b"P":
            return "P"
    raise ProtocolViolation("a message names neither a statement (S) nor a portal (P)")


def _copy(read: Body) -> CopyFromClient:
    read.rest()
    return CopyFromClient()


def _call(read: Body) -> FunctionCall:
    read.rest()
    return FunctionCall()


_SYNC, _FLUSH = Sync(), Flush()
_DECODERS: Final[Mapping[int, Callable[[Body], Message]]] = {
    ord("Q"): lambda read: Query(read.text()),
    ord("P"): _parse,
    ord("B"): _bind,
    ord("D"): lambda read: Describe(_target(read), read.text()),
    ord("E"): lambda read: Execute(read.text(), max(0, read.int32())),
    ord("C"): lambda read: Close(_target(read), read.text()),
    ord("S"): lambda read: _SYNC,
    ord("H"): lambda read: _FLUSH,
    ord("X"): lambda read: Terminate(),
    ord("p"): lambda read: Password(read.rest()),
    ord("F"): _call,
    ord("d"): _copy,
    ord("c"): _copy,
    ord("f"): _copy,
}


class Frames:
    """Bytes in, whole messages out. Holds at most one unfinished message of the allowed size."""

    __slots__ = ("_at", "_buffer")

    def __init__(self) -> None:
        self._buffer: bytes | bytearray = b""
        self._at = 0

    def feed(self, data: bytes) -> None:
        if self._at == len(self._buffer):
            self._buffer, self._at = data, 0
            return
        if not isinstance(self._buffer, bytearray):
            self._buffer = bytearray(self._buffer)
        if self._at:
            del self._buffer[: self._at]
            self._at = 0
        self._buffer += data

    def __len__(self) -> int:
        return len(self._buffer) - self._at

    def opening(self) -> bytes | None:
        """The body of the untyped first message, or None until all of it is here."""
        start = self._at
        if len(self._buffer) < start + 4:
            return None
        return self._body(start, _SIZE.unpack_from(self._buffer, start)[0], MAX_STARTUP)

    def message(self, limit: int = MAX_MESSAGE) -> tuple[int, bytes] | None:
        """Type byte and body of the next message, or None until all of it is here."""
        start = self._at
        if len(self._buffer) < start + 5:
            return None
        kind, size = _HEAD.unpack_from(self._buffer, start)
        body = self._body(start + 1, size, limit)
        return None if body is None else (kind, body)

    def _body(self, start: int, size: int, limit: int) -> bytes | None:
        if not 4 <= size <= limit:
            raise ProtocolViolation(
                "invalid message length", hint=f"Messages here have 4 to {limit} bytes."
            )
        end = start + size
        if len(self._buffer) < end:
            return None
        self._at = end
        return bytes(self._buffer[start + 4 : end])
