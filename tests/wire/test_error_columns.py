"""dp4sql.error_columns on the wire: every way to ask is told of the added columns before it gets them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import asyncpg
import psycopg
import pytest

from tests.wire.live import (
    SYNC,
    Proxy,
    Raw,
    bind,
    describe,
    error,
    execute,
    parse,
    query,
    rows,
)

COUNTS = "SELECT major, COUNT(*) AS n, 1.0 * COUNT(*) / 12 AS share FROM student GROUP BY major"
NAMES = ["major", "n", "n_ci95", "share", "share_ci95"]


@pytest.fixture
def client(live: Proxy) -> Iterator[psycopg.Connection[Any]]:
    place = f"host=127.0.0.1 port={live.port} dbname=university user=ann"
    with psycopg.connect(place, autocommit=True) as opened:
        opened.execute("SET dp4sql.error_columns = on")
        yield opened


def names(cursor: psycopg.Cursor[Any]) -> list[str]:
    return [column.name for column in cursor.description or ()]


def check(found: list[tuple[Any, ...]]) -> None:
    assert len(found) == 8
    for major, n, width, share, share_width in found:
        assert isinstance(major, str)
        assert isinstance(n, int)
        assert width == 3.0
        assert float(share) == pytest.approx(n / 12)
        assert 0.1 < share_width < 0.5


@pytest.mark.parametrize("binary", [False, True])
def test_queries(client: psycopg.Connection[Any], binary: bool) -> None:
    with client.cursor(binary=binary) as cursor:
        cursor.execute(COUNTS)
        assert names(cursor) == NAMES
        check(cursor.fetchall())
        cursor.execute(COUNTS + " HAVING COUNT(*) > %s", (-1000,))
        assert names(cursor) == NAMES
        check(cursor.fetchall())


def test_describe_tells_of_them_before_anything_runs(raw: Raw) -> None:
    raw.send(query("SET dp4sql.error_columns = on"))
    raw.until("Z")
    raw.send(parse(COUNTS), describe("S"), SYNC)
    described = dict(raw.until("Z"))["T"]
    assert described[:2] == b"\0\5"
    assert b"n_ci95\0" in described
    raw.send(bind(), describe("P"), execute(), SYNC)
    frames = raw.until("Z")
    assert dict(frames)["T"] == described
    assert {len(row) for row in rows(frames)} == {5}


def test_cursors(client: psycopg.Connection[Any]) -> None:
    with client.transaction(), client.cursor() as cursor:
        cursor.execute(f"DECLARE c CURSOR FOR {COUNTS}")
        cursor.execute("FETCH 5 FROM c")
        assert names(cursor) == NAMES
        first = cursor.fetchall()
        cursor.execute("FETCH ALL FROM c")
        check([*first, *cursor.fetchall()])


def test_copy(client: psycopg.Connection[Any]) -> None:
    with client.cursor() as cursor:
        with cursor.copy(f"COPY ({COUNTS}) TO STDOUT WITH (FORMAT csv, HEADER)") as copy:
            text = b"".join(copy).decode()
        lines = text.splitlines()
        assert lines[0].split(",") == NAMES
        assert {len(line.split(",")) for line in lines} == {5}


def test_explain_names_them(client: psycopg.Connection[Any]) -> None:
    lines = [line for (line,) in client.execute(f"EXPLAIN {COUNTS}").fetchall()]
    assert "error columns: n_ci95 (that of the noise), share_ci95 (simulated)" in lines


def test_public_answers_have_none(client: psycopg.Connection[Any]) -> None:
    cursor = client.execute("SELECT fid, COUNT(*) AS n FROM section GROUP BY fid")
    assert names(cursor) == ["fid", "n"]


def test_a_statement_described_without_them_is_prepared_again(raw: Raw) -> None:
    """As in Postgres when a table has changed: the client was promised other columns."""
    raw.send(parse(COUNTS, "s"), parse("SELECT COUNT(*) FROM section", "p"), SYNC)
    raw.until("Z")
    raw.send(query("SET dp4sql.error_columns = on"))
    raw.until("Z")
    raw.send(bind(statement="s"), execute(), SYNC)
    found = error(raw.until("Z"))
    assert (found["C"], found["M"]) == ("0A000", "cached plan must not change result type")
    assert found["R"] == "RevalidateCachedQuery"
    raw.send(bind(statement="p"), execute(), SYNC)
    assert rows(raw.until("Z")) == [[b"250"]]


def test_asyncpg_prepares_again_by_itself(live: Proxy) -> None:
    async def work() -> None:
        client = await asyncpg.connect(
            host="127.0.0.1", port=live.port, database="university", user="ann", ssl=False
        )
        before = await client.fetch(COUNTS)
        await client.execute("SET dp4sql.error_columns = on")
        after = await client.fetch(COUNTS)
        await client.close()
        assert list(before[0].keys()) == ["major", "n", "share"]
        assert list(after[0].keys()) == NAMES

    asyncio.run(work())
