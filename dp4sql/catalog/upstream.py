"""One session on the Postgres that answers catalog queries: the client's side of protocol 3.

Answers are relayed as they came, frame by frame, so that types, binary formats, messages and error
positions are Postgres's own. Every statement goes through the extended protocol in one round trip.
"""

from __future__ import annotations

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from scramp import ScramClient, ScramException

from dp4sql.errors import CatalogUnavailable, Dp4sqlError, LimitExceeded
from dp4sql.wire import messages as m
from dp4sql.wire import replies as r

MAX_ANSWER: Final = 64 << 20
FRAME_SIZE: Final = 100
"""Bytes that a message takes beside its body, about."""
_CHUNK: Final = 1 << 16
_FIELD = struct.Struct("!ihihih")


class CatalogError(Dp4sqlError):
    """An error of that Postgres, with its own SQLSTATE. It holds no rows to quote."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        position = fields.get("P")
        super().__init__(
            fields.get("M", "the statement failed"),
            hint=fields.get("H"),
            detail=fields.get("D"),
            position=int(position) if position else None,
        )
        self.sqlstate = fields.get("C", "XX000")


@dataclass(frozen=True, slots=True)
class Described:
    """Parameter OIDs and columns; None where the statement returns no rows."""

    parameters: tuple[int, ...]
    fields: tuple[r.Field, ...] | None


@dataclass(slots=True)
class Relayed:
    """An answer: DataRow (or CopyData) frames as they came, and what came beside them."""

    tag: str = ""
    fields: tuple[r.Field, ...] | None = None
    rows: list[bytes] = field(default_factory=list)
    copy: bool = False
    notices: list[bytes] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a Postgres listens: a host and port, or the path of a socket with port 0."""

    host: str
    port: int
    user: str
    database: str
    password: str = ""
    tls: bool = False


class Upstream:
    """A connection. After CatalogUnavailable or a cancelled wait it is closed and of no more use."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer, self._frames = reader, writer, m.Frames()
        self.settings: dict[str, str] = {}

    @classmethod
    async def connect(cls, address: Address, settings: Mapping[str, str]) -> Upstream:
        """Open a session; `settings` are its defaults, as a startup packet gives them."""
        try:
            session = cls(*await _open(address))
            await session._login(address, settings)
        except (OSError, asyncio.IncompleteReadError) as error:
            raise _unavailable() from error
        return session

    @property
    def closed(self) -> bool:
        return self._writer.is_closing()

    def close(self) -> None:
        self._writer.close()

    # ------------------------------------------------------------ statements

    async def describe(self, sql: str, oids: Sequence[int]) -> Described:
        """Parameter types and columns; runs nothing."""
        request = _parse(sql, oids) + r.frame(b"D", b"S\0") + r.frame(b"S")
        parameters: tuple[int, ...] = ()
        fields: tuple[r.Field, ...] | None = None
        for kind, body in await self._exchange(request):
            if kind == b"t":
                parameters = m.Body(body).numbers(4)
            elif kind == b"T":
                fields = _fields(body)
        return Described(parameters, fields)

    async def run(
        self,
        sql: str,
        oids: Sequence[int] = (),
        parameters: Sequence[bytes | None] = (),
        parameter_formats: Sequence[int] = (),
        result_formats: Sequence[int] = (),
        local: Mapping[str, str] | None = None,
    ) -> Relayed:
        """Parse, bind, describe and execute in one round trip. `local` are settings for this alone: until
        the Sync all of it is one transaction."""
        first = b"".join(_set_local(name, value) for name, value in (local or {}).items())
        bind = b"\0\0" + _codes(parameter_formats) + _values(parameters) + _codes(result_formats)
        execute = r.frame(b"B", bind) + r.frame(b"D", b"P\0") + r.frame(b"E", b"\0\0\0\0\0")
        answer = await self._exchange(first + _parse(sql, oids) + execute + r.frame(b"S"))
        return _relayed(_after(answer, len(local or ())))

    async def script(self, sql: str) -> None:
        """Several statements in one simple Query, their answers dropped."""
        await self._exchange(r.frame(b"Q", sql.encode() + b"\0"))

    async def _exchange(self, request: bytes) -> list[tuple[bytes, bytes]]:
        """Everything up to ReadyForQuery. An error in it is raised once all of it is read."""
        answer = []
        try:
            self._writer.write(request)
            async for frame in self._until(b"Z"):
                answer.append(frame)
        except OSError as error:
            raise _unavailable() from error
        finally:
            # Half an answer would be taken for the start of the next one.
            if not answer or answer[-1][0] != b"Z":
                self.close()
        for kind, body in answer:
            if kind == b"E":
                raise CatalogError(_report(body))
        return answer

    async def _until(self, last: bytes) -> AsyncIterator[tuple[bytes, bytes]]:
        size = 0
        while True:
            kind, body = await self._frame()
            size += len(body) + FRAME_SIZE
            if size > MAX_ANSWER:
                raise LimitExceeded(
                    f"the answer is larger than {MAX_ANSWER >> 20} MB", hint="Ask for fewer rows."
                )
            yield kind, body
            if kind == last:
                return

    async def _frame(self) -> tuple[bytes, bytes]:
        while (found := self._frames.message(MAX_ANSWER)) is None:
            data = await self._reader.read(_CHUNK)
            if not data:
                raise ConnectionResetError
            self._frames.feed(data)
        return bytes((found[0],)), found[1]

    # ------------------------------------------------------------ login

    async def _login(self, address: Address, settings: Mapping[str, str]) -> None:
        pairs = {"user": address.user, "database": address.database, **settings}
        self._writer.write(_startup(pairs))
        scram: ScramClient | None = None
        async for kind, body in self._until(b"Z"):
            match kind:
                case b"E":
                    raise CatalogError(_report(body))
                case b"R":
                    scram = self._authenticate(body, address, scram)
                case b"S":
                    self.settings |= _setting(body)

    def _authenticate(
        self, body: bytes, address: Address, scram: ScramClient | None
    ) -> ScramClient | None:
        code, data = int.from_bytes(body[:4], "big"), body[4:]
        try:
            match code:
                case 0:
                    pass
                case 10:
                    scram = ScramClient(["SCRAM-SHA-256"], address.user, address.password)
                    first = scram.get_client_first().encode()
                    size = struct.pack("!i", len(first))
                    self._writer.write(r.frame(b"p", b"SCRAM-SHA-256\0" + size + first))
                case 11 if scram is not None:
                    scram.set_server_first(data.decode())
                    self._writer.write(r.frame(b"p", scram.get_client_final().encode()))
                case 12 if scram is not None:
                    scram.set_server_final(data.decode())
                case _:
                    raise _no_login()
        except ScramException:
            raise _no_login() from None
        return scram


def _no_login() -> CatalogUnavailable:
    return CatalogUnavailable(
        "the catalog database does not let the proxy in",
        hint="It needs trust or scram-sha-256 and the user and password of --catalog.",
    )


def _unavailable() -> CatalogUnavailable:
    return CatalogUnavailable(
        "the database that answers catalog queries cannot be reached",
        hint="Queries on policy tables work without it.",
    )


async def _open(address: Address) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    if address.port == 0:
        return await asyncio.open_unix_connection(address.host)
    reader, writer = await asyncio.open_connection(address.host, address.port)
    if address.tls:
        writer.write(struct.pack("!ii", 8, m.SSL_REQUEST))
        if await reader.readexactly(1) != b"S":
            raise ConnectionResetError
        await writer.start_tls(ssl.create_default_context(), server_hostname=address.host)
    return reader, writer


# ------------------------------------------------------------------ bytes


def _startup(pairs: Mapping[str, str]) -> bytes:
    body = struct.pack("!i", m.PROTOCOL_3_0)
    body += b"".join(f"{name}\0{value}\0".encode() for name, value in pairs.items()) + b"\0"
    return struct.pack("!i", len(body) + 4) + body


def _parse(sql: str, oids: Sequence[int]) -> bytes:
    return r.frame(
        b"P", b"\0" + sql.encode() + b"\0" + struct.pack(f"!H{len(oids)}I", len(oids), *oids)
    )


def _set_local(name: str, value: str) -> bytes:
    values = _values((name.encode(), value.encode()))
    bind = b"\0\0" + _codes(()) + values + _codes(())
    sql = "SELECT set_config($1, $2, true)"
    return _parse(sql, (25, 25)) + r.frame(b"B", bind) + r.frame(b"E", b"\0\0\0\0\0")


def _after(answer: list[tuple[bytes, bytes]], commands: int) -> list[tuple[bytes, bytes]]:
    """What comes after the first so many commands have been completed."""
    ends = [i for i, (kind, _) in enumerate(answer) if kind == b"C"]
    return answer[ends[commands - 1] + 1 :] if commands else answer


def _codes(codes: Sequence[int]) -> bytes:
    return struct.pack(f"!H{len(codes)}H", len(codes), *codes)


def _values(values: Sequence[bytes | None]) -> bytes:
    sizes = ((-1, b"") if v is None else (len(v), v) for v in values)
    return struct.pack("!H", len(values)) + b"".join(struct.pack("!i", n) + v for n, v in sizes)


def _relayed(answer: Iterable[tuple[bytes, bytes]]) -> Relayed:
    found = Relayed()
    for kind, body in answer:
        match kind:
            case b"D" | b"d":
                found.rows.append(r.frame(kind, body))
                found.copy = kind == b"d"
            case b"H":
                found.rows.append(r.frame(kind, body))
            case b"c":
                found.rows.append(r.COPY_DONE)
            case b"T":
                found.fields = _fields(body)
            case b"C":
                found.tag = m.Body(body).text()
            case b"N":
                found.notices.append(r.frame(kind, body))
            case b"S":
                found.settings |= _setting(body)
    return found


def _fields(body: bytes) -> tuple[r.Field, ...]:
    read = m.Body(body)
    return tuple(_field(read) for _ in range(read.int16()))


def _field(read: m.Body) -> r.Field:
    name = read.text()
    _, _, oid, size, modifier, _ = _FIELD.unpack(read.take(_FIELD.size))
    return r.Field(name, oid, size, modifier)


def _setting(body: bytes) -> dict[str, str]:
    read = m.Body(body)
    name = read.text()
    return {name: read.text()}


def _report(body: bytes) -> dict[str, str]:
    read, fields = m.Body(body), {}
    while (code := read.take(1)) != b"\0":
        fields[code.decode()] = read.text()
    return fields
