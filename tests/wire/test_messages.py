"""The codec: every message a client sends decodes, everything else is a protocol violation."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp4sql.errors import InvalidEncoding, ProtocolViolation
from dp4sql.wire import messages as m
from dp4sql.wire import replies as r


def body(*parts: bytes | str | int) -> bytes:
    """str is NUL-terminated, int is int16, bytes are themselves."""
    out = b""
    for part in parts:
        match part:
            case str():
                out += part.encode() + b"\0"
            case int():
                out += struct.pack("!H", part)
            case bytes():
                out += part
    return out


def framed(kind: bytes, content: bytes = b"") -> bytes:
    return kind + struct.pack("!i", len(content) + 4) + content


CONVERSATION = [
    (b"Q", body("select 1"), m.Query("select 1")),
    (b"P", body("s", "select $1", 1, b"\0\0\0\x17"), m.Parse("s", "select $1", (23,))),
    (
        b"B",
        body("p", "s", 1, 1, 2, b"\0\0\0\x01x", b"\xff\xff\xff\xff", 1, 0),
        m.Bind("p", "s", (1,), (b"x", None), (0,)),
    ),
    (b"D", body(b"S", "s"), m.Describe("S", "s")),
    (b"D", body(b"P", "p"), m.Describe("P", "p")),
    (b"E", body("p", b"\0\0\0\x05"), m.Execute("p", 5)),
    (b"C", body(b"P", "p"), m.Close("P", "p")),
    (b"S", b"", m.Sync()),
    (b"H", b"", m.Flush()),
    (b"X", b"", m.Terminate()),
    (b"p", b"secret\0", m.Password(b"secret\0")),
    (b"d", b"anything", m.CopyFromClient()),
]


@pytest.mark.parametrize(("kind", "content", "expected"), CONVERSATION)
def test_each_message_decodes(kind: bytes, content: bytes, expected: m.Message) -> None:
    assert m.decode(kind[0], content) == expected


@given(st.lists(st.integers(1, 40), min_size=1, max_size=40))
def test_messages_are_found_however_the_bytes_are_cut(cuts: list[int]) -> None:
    stream = b"".join(framed(kind, content) for kind, content, _ in CONVERSATION)
    frames, found = m.Frames(), []
    at = 0
    for size in [*cuts, len(stream)]:
        frames.feed(stream[at : at + size])
        at += size
        while (message := frames.message()) is not None:
            found.append(m.decode(*message))
    assert found == [expected for _, _, expected in CONVERSATION]


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (b"Q", b"no end"),
        (b"Q", body("select 1", b"more")),
        (b"P", body("s", "select", 3, b"\0\0\0\x17")),
        (b"B", body("p", "s", 0, 1, b"\0\0\xff\xff", b"short")),
        (b"B", body("p", "s", 0, 1, b"\xff\xff\xff\xfe", 0)),
        (b"D", body(b"X", "s")),
        (b"E", body("p")),
        (b"S", b"x"),
        (b"?", b""),
    ],
)
def test_malformed_messages_are_protocol_violations(kind: bytes, content: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        m.decode(kind[0], content)


def test_text_that_is_not_utf8_is_an_error_of_the_statement() -> None:
    with pytest.raises(InvalidEncoding):
        m.decode(ord("Q"), b"select '\xff'\0")


@pytest.mark.parametrize("size", [-1, 0, 3, 101, 2**31 - 1])
def test_lengths_outside_the_limit_are_refused_before_their_bytes_arrive(size: int) -> None:
    frames = m.Frames()
    frames.feed(b"Q" + struct.pack("!i", size))
    with pytest.raises(ProtocolViolation):
        frames.message(limit=100)


def test_a_startup_packet_has_ten_kilobytes_at_most() -> None:
    frames = m.Frames()
    frames.feed(struct.pack("!i", m.MAX_STARTUP + 1))
    with pytest.raises(ProtocolViolation):
        frames.opening()


def test_openings() -> None:
    number = struct.Struct("!i").pack
    assert m.decode_opening(number(m.SSL_REQUEST)) == m.SslRequest()
    assert m.decode_opening(number(m.GSSENC_REQUEST)) == m.GssEncRequest()
    cancel = number(m.CANCEL_REQUEST) + number(7) + b"abcd"
    assert m.decode_opening(cancel) == m.CancelRequest(7, b"abcd")
    startup = number(m.PROTOCOL_3_0) + body("user", "ann", "database", "uni", b"\0")
    expected = m.Startup(m.PROTOCOL_3_0, {"user": "ann", "database": "uni"})
    assert m.decode_opening(startup) == expected


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_opening(data: bytes) -> None:
    frames = m.Frames()
    frames.feed(data)
    try:
        while (found := frames.opening()) is not None:
            m.decode_opening(found)
    except (ProtocolViolation, InvalidEncoding):
        return
    assert len(frames) <= len(data)


@given(st.binary(max_size=300), st.sampled_from(b"QPBDECSHXpFdcf"))
def test_no_body_crashes_the_decoder(data: bytes, kind: int) -> None:
    try:
        message = m.decode(kind, data)
    except (ProtocolViolation, InvalidEncoding):
        return
    assert isinstance(message, m.Message)


@given(st.binary(max_size=500))
def test_no_stream_crashes_or_stalls_the_reader(data: bytes) -> None:
    frames = m.Frames()
    frames.feed(data)
    found = 0
    try:
        while (message := frames.message(limit=1000)) is not None:
            found += 1
            m.decode(*message)
    except (ProtocolViolation, InvalidEncoding):
        return
    assert found * 5 + len(frames) <= len(data)


def test_row_description_and_rows_are_laid_out_as_documented() -> None:
    described = r.row_description((r.Field("n", 20, 8),), (1,))
    assert described == framed(b"T", body(1, "n", b"\0" * 6, b"\0\0\0\x14", 8, b"\xff" * 4, 1))
    assert r.data_row([b"ab", None]) == framed(b"D", body(2, b"\0\0\0\x02ab", b"\xff" * 4))


def test_reports_carry_severity_twice_and_end_with_a_nul() -> None:
    found = r.error_response("ERROR", {"C": "42601", "M": "nul \0 dropped", "P": "8"})
    fields = body("SERROR", "VERROR", "C42601", "Mnul  dropped", "P8", b"\0")
    assert found == framed(b"E", fields)
