"""What the pipeline relies on, on every engine alike."""

from __future__ import annotations

import asyncio
import datetime
import hashlib
import logging
from decimal import Decimal
from typing import Any

import pytest

from dp4sql.algebra.types import BIGINT
from dp4sql.backends import Backend, open_backend
from dp4sql.errors import Dp4sqlError, EngineError
from dp4sql.policy import load_policy
from dp4sql.rows import OutputColumn
from dp4sql.sql.dialects import DIALECTS
from dp4sql.sql.render.truncation import table_source

from .conftest import PATIENCE, Engine, Run


def columns(run: Run, backend: Backend, sql: str, width: int = 1) -> list[list[Any]]:
    asked = [OutputColumn(f"c{i}", BIGINT) for i in range(width)]
    found = run(asyncio.wait_for(backend.fetch(sql, asked), PATIENCE))
    return [list(column) for column in found.open_columns()]


async def ended(task: asyncio.Future[Any]) -> None:
    """The task, cancelled, comes to its end in time. Not wait_for, whose own cancelling would hide that it
    does not."""
    await asyncio.wait([task], timeout=PATIENCE)
    assert task.cancelled()


def test_values_come_back_as_they_are(run: Run, backend: Backend) -> None:
    found = columns(run, backend, "SELECT * FROM things ORDER BY id", 8)
    assert found == [
        [1, 2, 3, 4],
        [2**63 - 1] * 3 + [None],
        [Decimal("12345678901.23"), Decimal("0.10"), Decimal("0.20"), None],
        [0.5, -2.25, 1e300, None],
        [
            datetime.date(1998, 12, 1),
            datetime.date(1992, 1, 1),
            datetime.date(2000, 2, 29),
            None,
        ],
        [
            datetime.datetime(2024, 2, 29, 13, 30, 0, 250_000),
            datetime.datetime(1999, 12, 31, 23, 59, 59),
            datetime.datetime(1970, 1, 1),
            None,
        ],
        ["café", "it's", "", None],
        [True, False, None, None],
    ]
    assert [type(column[0]) for column in found[:4]] == [int, int, Decimal, float]


def test_sums_beyond_64_bits_are_exact(run: Run, backend: Backend, engine: Engine) -> None:
    if not engine.wide_sums:
        pytest.skip("sums here are exact in the type that dp4sql casts to")
    (total,), (cents,) = columns(run, backend, "SELECT SUM(big), SUM(price) FROM things", 2)
    assert total == 3 * (2**63 - 1)
    assert int(total) == total
    assert cents == Decimal("12345678901.53")
    assert not isinstance(total, float)
    assert not isinstance(cents, float)


def test_truncation_keeps_the_rows_whose_keys_hash_lowest(run: Run, backend: Backend) -> None:
    things = load_policy(
        {
            "dp4sql": 1,
            "tables": {
                "things": {
                    "key": ["id"],
                    "max_frequency": {"big": {"rows": 2, "enforce": "truncate"}},
                    "columns": {"id": "integer", "big": {"type": "bigint", "nullable": True}},
                }
            },
            "policies": {"p": {"entity": "things", "epsilon": 1, "labels": {"things": "del"}}},
        }
    ).schema.table("things")
    source = table_source(things, DIALECTS[backend.dialect])
    ranked = sorted((1, 2, 3), key=lambda id: hashlib.md5(f"things|{id}".encode()).hexdigest())
    found = columns(run, backend, f"SELECT id FROM {source} AS t ORDER BY id")
    assert found == [sorted([*ranked[:2], 4])], "the row without a value stays"


def test_an_empty_result_has_its_columns(run: Run, backend: Backend) -> None:
    assert columns(run, backend, "SELECT id, word FROM things WHERE id < 0", 2) == [[], []]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT CAST(word AS INTEGER) FROM things",
        "SELECT secret FROM things",
        "SELECT * FROM secrets",
        "SELECT FROM WHERE",
    ],
)
def test_what_the_engine_says_stays_in_the_log(
    run: Run, backend: Backend, sql: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(EngineError) as raised:
        columns(run, backend, sql)
    said = f"{raised.value.message} {raised.value.hint} {raised.value.detail}"
    assert "café" not in said
    assert "secret" not in said
    assert raised.value.__cause__ is None
    assert "query failed" in caplog.text


def test_failures_are_told_alike(run: Run, backend: Backend) -> None:
    told = set()
    for sql in ("SELECT CAST(word AS INTEGER) FROM things", "SELECT * FROM nowhere"):
        with pytest.raises(EngineError) as raised:
            columns(run, backend, sql)
        told.add((raised.value.message, raised.value.hint, raised.value.sqlstate))
    assert len(told) == 1


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM things",
        "INSERT INTO things (id) VALUES (9)",
        "CREATE TABLE other AS SELECT * FROM things",
        "DROP TABLE things",
        "SELECT 1; DELETE FROM things",
    ],
)
def test_nothing_can_be_written(run: Run, backend: Backend, sql: str) -> None:
    with pytest.raises(Dp4sqlError):
        columns(run, backend, sql)
    assert columns(run, backend, "SELECT COUNT(*) FROM things") == [[4]]


@pytest.mark.parametrize("seconds", [0.0, 0.2])
def test_cancelling_stops_the_engine(
    run: Run, backend: Backend, engine: Engine, seconds: float
) -> None:
    async def cancelled() -> None:
        task = asyncio.ensure_future(backend.fetch(engine.slow, [OutputColumn("n", BIGINT)]))
        await asyncio.sleep(seconds)
        task.cancel()
        await ended(task)

    run(cancelled())
    assert columns(run, backend, "SELECT COUNT(*) FROM things") == [[4]]


def test_queries_run_side_by_side_and_wait_their_turn(run: Run, backend: Backend) -> None:
    async def many() -> list[Any]:
        one = [OutputColumn("n", BIGINT)]
        queries = [backend.fetch(f"SELECT COUNT(*) + {i} FROM things", one) for i in range(25)]
        return [rows.open_columns()[0][0] for rows in await asyncio.gather(*queries)]

    assert run(many()) == [4 + i for i in range(25)]


@pytest.mark.parametrize("seconds", [0.0, 0.01, 0.1])
def test_a_dozen_are_cancelled_at_once(
    run: Run, backend: Backend, engine: Engine, seconds: float
) -> None:
    """Some run, some wait for their turn, and some are between BEGIN and the query."""

    async def crowd() -> None:
        one = [OutputColumn("n", BIGINT)]
        tasks = [asyncio.ensure_future(backend.fetch(engine.slow, one)) for _ in range(12)]
        await asyncio.sleep(seconds)
        for task in tasks:
            task.cancel()
        for task in tasks:
            await ended(task)

    run(crowd())
    assert columns(run, backend, "SELECT COUNT(*) FROM things") == [[4]]


def test_cancelling_spares_the_queries_beside(run: Run, backend: Backend, engine: Engine) -> None:
    async def beside() -> list[Any]:
        one = [OutputColumn("n", BIGINT)]
        slow = [asyncio.ensure_future(backend.fetch(engine.slow, one)) for _ in range(3)]
        quick = [backend.fetch(f"SELECT COUNT(*) + {i} FROM things", one) for i in range(40)]
        for task in slow:
            asyncio.get_running_loop().call_later(0.02, task.cancel)
        answers = await asyncio.wait_for(asyncio.gather(*quick), PATIENCE)
        found = [rows.open_columns()[0][0] for rows in answers]
        for task in slow:
            await ended(task)
        return found

    assert run(beside()) == [4 + i for i in range(40)]


def test_ping(run: Run, backend: Backend) -> None:
    run(backend.ping())


def test_identity_survives_a_restart(run: Run, url: str, backend: Backend) -> None:
    again = open_backend(url)
    assert again.identity == backend.identity
    run(again.close())


@pytest.mark.parametrize("text", ["it's", "''", "a\\'b", "a\\b\\", '"', "'\"'"])
def test_a_constant_text_is_read_as_it_is_meant(run: Run, backend: Backend, text: str) -> None:
    written = DIALECTS[backend.dialect].string(text)
    assert columns(run, backend, f"SELECT {written} AS x") == [[text]]
