"""The state machine: what reaches the caller, what is dropped, what is answered."""

from __future__ import annotations

import struct

import pytest

from dp4sql.errors import DatatypeMismatch, InvalidEncoding, ProtocolViolation, Unsupported
from dp4sql.wire import messages as m
from dp4sql.wire import replies as r
from dp4sql.wire.connection import Connection, Phase


def startup(version: int = m.PROTOCOL_3_0, **parameters: str) -> bytes:
    pairs = "".join(f"{name}\0{value}\0" for name, value in parameters.items())
    body = struct.pack("!i", version) + pairs.encode() + b"\0"
    return struct.pack("!i", len(body) + 4) + body


def query(sql: str) -> bytes:
    return r.frame(b"Q", sql.encode() + b"\0")


PARSE = r.frame(b"P", b"\0select 1\0\0\0")
EXECUTE = r.frame(b"E", b"\0\0\0\0\0")
SYNC = r.frame(b"S")


def ready() -> Connection:
    connection = Connection()
    connection.receive(startup(user="ann"))
    connection.next_event()
    connection.ready(b"I")
    connection.take()
    return connection


def events(connection: Connection) -> list[object]:
    found = []
    while (event := connection.next_event()) is not None:
        found.append(event)
    return found


def test_encryption_requests_come_before_startup_and_leave_the_phase_alone() -> None:
    connection = Connection()
    for code in (m.GSSENC_REQUEST, m.SSL_REQUEST):
        connection.receive(struct.pack("!ii", 8, code))
    connection.receive(startup(user="ann"))
    assert events(connection)[:2] == [m.GssEncRequest(), m.SslRequest()]
    assert connection.phase is Phase.LOGIN
    assert connection.take() == b""


@pytest.mark.parametrize("version", [m.PROTOCOL_3_0 + 2, m.PROTOCOL_3_0 + 9999])
def test_newer_versions_and_unknown_options_are_negotiated_down(version: int) -> None:
    connection = Connection()
    connection.receive(startup(version, user="ann", **{"_pq_.grease": "1"}))
    assert isinstance(connection.next_event(), m.Startup)
    expected = struct.pack("!ii", 196608, 1) + b"_pq_.grease\0"
    assert connection.take() == r.frame(b"v", expected)


def test_protocol_2_is_refused() -> None:
    connection = Connection()
    connection.receive(startup(2 << 16, user="ann"))
    with pytest.raises(Unsupported):
        connection.next_event()


def test_before_the_login_a_query_makes_no_sense() -> None:
    connection = Connection()
    connection.receive(startup(user="ann") + query("select 1"))
    connection.next_event()
    with pytest.raises(ProtocolViolation):
        connection.next_event()


def test_before_the_login_messages_are_small() -> None:
    connection = Connection()
    connection.receive(startup(user="ann") + b"p" + struct.pack("!i", m.MAX_LOGIN_MESSAGE + 1))
    connection.next_event()
    with pytest.raises(ProtocolViolation):
        connection.next_event()


def test_after_an_error_all_is_dropped_up_to_sync_queries_too() -> None:
    connection = ready()
    connection.receive(PARSE + EXECUTE + query("select 1") + SYNC + query("select 2"))
    assert isinstance(connection.next_event(), m.Parse)
    connection.fail(DatatypeMismatch("no"), b"I")
    assert connection.flush_now
    assert events(connection) == [m.Sync(), m.Query("select 2")]


def test_an_error_in_a_simple_query_is_answered_and_over() -> None:
    connection = ready()
    connection.receive(query("select 1") + PARSE)
    connection.next_event()
    connection.fail(DatatypeMismatch("no", hint="h", position=3), b"E")
    error = r.error_response("ERROR", {"C": "42804", "M": "no", "H": "h", "P": "3"})
    assert connection.take() == error + r.ready_for_query(b"E")
    assert isinstance(connection.next_event(), m.Parse)


def test_bad_text_in_a_query_is_answered_like_any_other_error() -> None:
    connection = ready()
    connection.receive(r.frame(b"Q", b"select '\xff'\0") + query("select 1"))
    with pytest.raises(InvalidEncoding) as caught:
        connection.next_event()
    connection.fail(caught.value, b"I")
    assert connection.take().endswith(r.ready_for_query(b"I"))
    assert connection.next_event() == m.Query("select 1")


def test_terminate_is_heard_even_when_deaf() -> None:
    connection = ready()
    connection.receive(PARSE + EXECUTE + r.frame(b"X"))
    connection.next_event()
    connection.fail(DatatypeMismatch("no"), b"I")
    assert events(connection) == [m.Terminate()]
