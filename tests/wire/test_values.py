"""Values on the wire against what Postgres prints and sends."""

from __future__ import annotations

import datetime as dt
import struct
import uuid
import zoneinfo
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dp4sql.algebra import types as t
from dp4sql.algebra.expr import Interval_
from dp4sql.errors import InvalidText, ProtocolViolation, Unsupported
from dp4sql.rows import OutputColumn
from dp4sql.wire import values
from dp4sql.wire.parameters import decode

REAL = t.Type("real")
UTC = dt.UTC
SHOWN = [
    (t.BOOLEAN, True, b"t"),
    (t.INTEGER, -7, b"-7"),
    (t.NUMERIC, Decimal("1.50"), b"1.50"),
    (t.NUMERIC, Decimal("1E+3"), b"1000"),
    (t.NUMERIC, Decimal("-0.0"), b"0.0"),
    (t.NUMERIC, Decimal("NaN"), b"NaN"),
    (t.NUMERIC, Decimal("-Infinity"), b"-Infinity"),
    (t.NUMERIC, 12, b"12"),
    (t.NUMERIC, Fraction(1, 4), b"0.25"),
    (t.DOUBLE, 1e15, b"1e+15"),
    (t.DOUBLE, 123456789012345.0, b"123456789012345"),
    (t.DOUBLE, 0.0001, b"0.0001"),
    (t.DOUBLE, 0.00001, b"1e-05"),
    (t.DOUBLE, 1.2345678901234568e17, b"1.2345678901234568e+17"),
    (t.DOUBLE, -0.0, b"-0"),
    (t.DOUBLE, float("nan"), b"NaN"),
    (t.DOUBLE, float("-inf"), b"-Infinity"),
    (t.DOUBLE, 3, b"3"),
    (REAL, 0.1, b"0.1"),
    (REAL, 1234567.0, b"1.234567e+06"),
    (REAL, float("nan"), b"NaN"),
    (t.DATE, dt.date(2024, 2, 29), b"2024-02-29"),
    (t.TIMESTAMP, dt.datetime(2024, 2, 29, 1, 2, 3), b"2024-02-29 01:02:03"),
    (t.TIMESTAMP, dt.datetime(2024, 2, 29, 1, 2, 3, 450000), b"2024-02-29 01:02:03.45"),
    (t.TIMESTAMPTZ, dt.datetime(2024, 2, 29, 1, tzinfo=UTC), b"2024-02-29 01:00:00+00"),
    (t.INTERVAL, dt.timedelta(days=1, hours=2), b"1 day 02:00:00"),
    (t.INTERVAL, dt.timedelta(days=-2, microseconds=-500), b"-2 days -00:00:00.0005"),
    (t.INTERVAL, dt.timedelta(hours=-1), b"-01:00:00"),
    (t.INTERVAL, dt.timedelta(), b"00:00:00"),
    (t.UUID, uuid.UUID(int=1), b"00000000-0000-0000-0000-000000000001"),
    (t.TEXT, "héllo", "héllo".encode()),
    (t.Type("character", length=4), "hé", "hé  ".encode()),
    (t.Type("character varying", length=4), "hé", "hé".encode()),
]
SENT = [
    (t.BOOLEAN, True, "01"),
    (t.SMALLINT, -2, "fffe"),
    (t.BIGINT, 1, "0000000000000001"),
    (t.NUMERIC, Decimal("12345.678"), "0003000100000003000109291a7c"),
    (t.NUMERIC, Decimal("-0.0001"), "0001ffff400000040001"),
    (t.NUMERIC, Decimal(10000), "00010001000000000001"),
    (t.NUMERIC, Decimal("0.00"), "0000000000000002"),
    (t.NUMERIC, Decimal("NaN"), "00000000c0000000"),
    (t.DATE, dt.date(2000, 1, 2), "00000001"),
    (t.TIMESTAMP, dt.datetime(2000, 1, 1, 0, 0, 1), "00000000000f4240"),
    (t.TIMESTAMP, dt.datetime(1999, 12, 31, 23, 59, 59), "fffffffffff0bdc0"),
    (t.INTERVAL, dt.timedelta(days=1, seconds=1), "00000000000f42400000000100000000"),
    (t.Type("character", length=3), "a", "612020"),
]


@pytest.mark.parametrize(("kind", "value", "text"), SHOWN)
def test_text_is_what_postgres_prints(kind: t.Type, value: t.Value, text: bytes) -> None:
    assert values.encoder(kind, 0)(value) == text


@pytest.mark.parametrize(("kind", "value", "sent"), SENT)
def test_binary_is_what_postgres_sends(kind: t.Type, value: t.Value, sent: str) -> None:
    assert values.encoder(kind, 1)(value) == bytes.fromhex(sent)
    assert str(decode(kind, 1, bytes.fromhex(sent))) == str(_read(value))


def _read(value: t.Value) -> t.Value | Interval_:
    """What comes back of a value: parameters keep days and microseconds apart."""
    if not isinstance(value, dt.timedelta):
        return value
    sign = -1 if value < dt.timedelta() else 1
    size = abs(value)
    clock = dt.timedelta(seconds=size.seconds, microseconds=size.microseconds)
    return Interval_(0, sign * size.days, sign * (clock // values.MICROSECOND))


INSTANTS = st.datetimes(dt.datetime(1, 1, 3), dt.datetime(9999, 12, 29))
STRATEGIES = {
    t.BOOLEAN: st.booleans(),
    t.SMALLINT: st.integers(-(2**15), 2**15 - 1),
    t.INTEGER: st.integers(-(2**31), 2**31 - 1),
    t.BIGINT: st.integers(-(2**63), 2**63 - 1),
    t.NUMERIC: st.decimals(allow_nan=False, allow_infinity=False),
    t.DOUBLE: st.floats(allow_nan=False),
    REAL: st.floats(allow_nan=False, width=32),
    t.TEXT: st.text(st.characters(exclude_characters="\0", codec="utf-8")),
    t.DATE: st.dates(),
    t.TIMESTAMP: INSTANTS,
    t.TIMESTAMPTZ: INSTANTS.map(lambda value: value.replace(tzinfo=UTC)),
    t.INTERVAL: st.timedeltas(dt.timedelta(-9999999), dt.timedelta(9999999)),
    t.UUID: st.uuids(),
}


@pytest.mark.parametrize("kind", STRATEGIES, ids=str)
@pytest.mark.parametrize("code", [0, 1])
@given(data=st.data())
def test_every_type_reads_back_what_it_writes(kind: t.Type, code: int, data: st.DataObject) -> None:
    value = data.draw(STRATEGIES[kind])
    assert decode(kind, code, values.encoder(kind, code)(value)) == _read(value)


@pytest.mark.parametrize("kind", STRATEGIES, ids=str)
@pytest.mark.parametrize("code", [0, 1])
@given(data=st.binary(max_size=40))
def test_no_bytes_crash_a_decoder(kind: t.Type, code: int, data: bytes) -> None:
    try:
        value = decode(kind, code, data)
    except (InvalidText, Unsupported):
        return
    assert value is not None


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (t.SMALLINT, b"32768"),
        (t.INTEGER, b"1_000"),
        (t.BOOLEAN, b"maybe"),
        (t.NUMERIC, b"1e999999999"),
        (t.DATE, b"2024-02-30"),
        (t.TEXT, b"nul\0"),
        (t.TEXT, b"\xff"),
        (t.UUID, b"123"),
        (t.INTERVAL, b"3 parsecs"),
    ],
)
def test_bad_text_is_refused_without_being_quoted(kind: t.Type, text: bytes) -> None:
    with pytest.raises(InvalidText) as caught:
        decode(kind, 0, text)
    assert text.decode(errors="replace") not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "months", "days", "seconds"),
    [
        (b"1 day 02:03:04.5", 0, 1, 7384.5),
        (b"-01:00", 0, 0, -3600),
        (b"3 hours ago", 0, 0, -10800),
        (b"P1DT2H", 0, 1, 7200),
        (b"1.5 weeks", 0, 10, 43200),
        (b"2 hrs 5 mins", 0, 0, 7500),
        (b"1 month", 1, 0, 0),
        (b"P1Y", 12, 0, 0),
        (b"2 years 3 days", 24, 3, 0),
        (b"1 mon -1 days", 1, -1, 0),
        (b"0.5 months", 0, 15, 0),
    ],
)
def test_intervals_as_people_write_them(
    text: bytes, months: int, days: int, seconds: float
) -> None:
    found = decode(t.INTERVAL, 0, text)
    assert found == Interval_(months, days, round(seconds * 1_000_000))


def test_instants_are_shown_and_read_in_the_zone_of_the_session() -> None:
    kolkata = zoneinfo.ZoneInfo("Asia/Kolkata")
    noon = dt.datetime(2024, 6, 1, 12, tzinfo=UTC)
    assert values.encoder(t.TIMESTAMPTZ, 0, kolkata)(noon) == b"2024-06-01 17:30:00+05:30"
    assert decode(t.TIMESTAMPTZ, 0, b"2024-06-01 17:30:00", kolkata) == noon


def test_numeric_binary_keeps_its_scale() -> None:
    sent = values.encoder(t.NUMERIC, 1)(Decimal("5.00"))
    assert str(decode(t.NUMERIC, 1, sent)) == "5.00"


@pytest.mark.parametrize("groups", [1001, 65_535])
def test_no_numeric_has_digits_without_end(groups: int) -> None:
    """To read them takes time that grows with their square."""
    sent = struct.pack("!HhHH", groups, 0, 0, 0) + bytes(2 * groups)
    with pytest.raises(InvalidText):
        decode(t.NUMERIC, 1, sent)


@pytest.mark.parametrize(
    ("codes", "count", "expected"),
    [((), 3, (0, 0, 0)), ((1,), 2, (1, 1)), ((0, 1, 0), 3, (0, 1, 0)), ((), 0, ())],
)
def test_format_codes(codes: tuple[int, ...], count: int, expected: tuple[int, ...]) -> None:
    assert values.formats_for(codes, count, "result") == expected


@pytest.mark.parametrize(("codes", "count"), [((0, 1), 1), ((2,), 1), ((0, 0, 0), 2)])
def test_format_codes_that_fit_nothing(codes: tuple[int, ...], count: int) -> None:
    with pytest.raises(ProtocolViolation):
        values.formats_for(codes, count, "result")


def test_columns_carry_oid_size_and_modifier() -> None:
    field = values.field_of(OutputColumn("price", t.Type("numeric", precision=10, scale=2)))
    assert (field.oid, field.size, field.modifier) == (1700, -1, (10 << 16 | 2) + 4)
    short = values.field_of(OutputColumn("c", t.Type("character varying", length=5)))
    assert (short.oid, short.modifier) == (1043, 9)
    assert values.field_of(OutputColumn("?column?", t.UNKNOWN)).oid == 25


INTEGERS = t.Type("integer", array=True)
TEXTS = t.Type("text", array=True)


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (INTEGERS, b"{}", ()),
        (INTEGERS, b" { 1 ,NULL, -3 } ", (1, None, -3)),
        (
            TEXTS,
            b'{a,"b, c","\\"q\\"",null,"NULL",x\\,y}',
            ("a", "b, c", '"q"', None, "NULL", "x,y"),
        ),
        (TEXTS, b'{""}', ("",)),
    ],
)
def test_arrays_as_text(type: t.Type, text: bytes, value: object) -> None:
    assert decode(type, 0, text) == value


@pytest.mark.parametrize(
    "text", [b"1,2", b"{1,2", b"{1,,2}", b"{1,}", b"{{1},{2}}", b"{a}", b'{"1}', b'{"1"2}', b""]
)
def test_text_that_is_no_array(text: bytes) -> None:
    with pytest.raises(InvalidText):
        decode(INTEGERS, 0, text)


def test_arrays_as_binary() -> None:
    head = struct.pack("!iiIii", 1, 1, 23, 3, 1)
    data = head + struct.pack("!iiiii", 4, 7, -1, 4, -9)
    assert decode(INTEGERS, 1, data) == (7, None, -9)
    assert decode(INTEGERS, 1, struct.pack("!iiI", 0, 0, 23)) == ()
    two = struct.pack("!iiIiiii", 2, 0, 23, 1, 1, 1, 1) + struct.pack("!ii", 4, 7)
    for broken in (data[:-1], data[:-8], head, two, data + b"\0\0\0\4", b"", b"\0"):
        with pytest.raises(InvalidText):
            decode(INTEGERS, 1, broken)


def test_the_oids_of_arrays_are_those_of_postgres() -> None:
    assert values.oid_of(INTEGERS) == 1007
    assert values.type_of(1009) == TEXTS


ARRAYS = [
    (t.DOUBLE, (0.5, None, -3.0), b"{0.5,NULL,-3}"),
    (t.NUMERIC, (Decimal("1.50"),), b"{1.50}"),
    (t.DATE, (dt.date(2024, 2, 29), dt.date(1999, 1, 1)), b"{2024-02-29,1999-01-01}"),
    (t.TIMESTAMP, (dt.datetime(2024, 2, 29, 1, 2, 3),), b'{"2024-02-29 01:02:03"}'),
    (
        t.TEXT,
        ("a b", "null", "", 'q"\\', "x,{y}", "é"),
        b'{"a b","null","","q\\"\\\\","x,{y}",\xc3\xa9}',
    ),
    (t.BIGINT, (), b"{}"),
]


@pytest.mark.parametrize(("element", "array", "shown"), ARRAYS)
def test_arrays_are_written_as_postgres_writes_them(
    element: t.Type, array: tuple[t.Value, ...], shown: bytes
) -> None:
    kind = t.Type(element.kind, array=True)
    assert values.encoder(kind, 0)(array) == shown
    for code in (0, 1):
        assert decode(kind, code, values.encoder(kind, code)(array)) == array
    field = values.field_of(OutputColumn("q", kind))
    assert (field.oid, field.size) == (values.oid_of(kind), -1)


def test_an_array_in_binary() -> None:
    sent = values.encoder(t.Type("integer", array=True), 1)((7, None))
    assert sent.hex() == "00000001000000010000001700000002000000010000000400000007ffffffff"
