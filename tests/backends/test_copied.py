"""COPY's binary format, however the network cuts it."""

from __future__ import annotations

import asyncio
import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp4sql.backends.copied import Copied
from dp4sql.errors import InternalError

SMALL, WHOLE, BIG, TEXT = 21, 23, 20, 25
CODES = {SMALL: ">h", WHOLE: ">i", BIG: ">q"}
VALUES: dict[int, st.SearchStrategy[Any]] = {
    SMALL: st.integers(-(2**15), 2**15 - 1),
    WHOLE: st.integers(-(2**31), 2**31 - 1),
    BIG: st.integers(-(2**63), 2**63 - 1) | st.just(-1),
    TEXT: st.text(max_size=5),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[int], list[tuple[Any, ...]]]:
    oids = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=3))
    rarely = draw(st.sampled_from([st.none(), st.nothing()]))
    row = st.tuples(*(VALUES[oid] | rarely for oid in oids))
    return oids, draw(st.lists(row, max_size=20))


def sent(oids: list[int], rows: list[tuple[Any, ...]]) -> bytes:
    found = b"PGCOPY\n\xff\r\n\0" + bytes(8)
    for row in rows:
        fields = zip(oids, row, strict=True)
        found += struct.pack(">h", len(row)) + b"".join(field(*pair) for pair in fields)
    return found + b"\xff\xff"


def field(oid: int, value: Any) -> bytes:
    if value is None:
        return struct.pack(">i", -1)
    data = value.encode() if oid == TEXT else struct.pack(CODES[oid], value)
    return struct.pack(">i", len(data)) + data


def read(oids: list[int], data: bytes, cuts: list[int]) -> list[Any]:
    copied = Copied(oids)

    async def take() -> None:
        for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            await copied.take(data[start:end])

    asyncio.run(take())
    return copied.columns()


@given(tables(), st.lists(st.integers(0, 400), max_size=6))
@settings(max_examples=100)
def test_rows_are_those_that_were_sent(
    table: tuple[list[int], list[tuple[Any, ...]]], cuts: list[int]
) -> None:
    oids, rows = table
    data = sent(oids, rows)
    found = read(oids, data, sorted(min(cut, len(data)) for cut in cuts))
    assert list(zip(*found, strict=True)) == rows


@pytest.mark.parametrize("missing", [1, 2, 3, 12])
def test_an_end_within_a_row_is_no_end(missing: int) -> None:
    data = sent([BIG], [(1,), (2,)])
    with pytest.raises(InternalError):
        read([BIG], data[:-missing], [])
