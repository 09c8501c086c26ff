"""Answers of many rows: they are held as columns, and are what short ones are."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, cast

import duckdb
import pytest

import dp4sql
from dp4sql.backends import Backend, open_backend
from dp4sql.budget.ledger import Ledger
from dp4sql.pipeline import Pipeline
from dp4sql.rows import PART, Released, Rows
from dp4sql.settings import Settings

BINS = 2 * PART + 17
#: So little noise that answers are exact.
EPSILON = 10**7
FEW = tuple(range(20))
EVENTS = [(i, i * 7919 % (BINS - 5), Decimal(i % 997) / 100) for i in range(30_000)]
POLICY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "event": {
                "key": ["id"],
                "columns": {
                    "id": "integer",
                    "slot": {"type": "integer", "domain": {"from": 0, "to": BINS - 1}},
                    "amount": {"type": "numeric(12,2)", "range": [0, 100]},
                },
            }
        },
        "policies": {
            "all": {
                "entity": "event",
                "epsilon": EPSILON,
                "max_charge": EPSILON,
                "budget": 100 * EPSILON,
                "labels": {"event": "del"},
            }
        },
    }
)
COUNTS = Counter(slot for _, slot, _ in EVENTS)
TOTALS: Counter[int] = Counter()
for _, place, amount in EVENTS:
    TOTALS[place] += int(amount * 100)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    folder: Path = tmp_path_factory.mktemp("wide")
    with duckdb.connect(str(folder / "events.duckdb")) as connection:
        connection.execute("CREATE TABLE event (id INTEGER, slot INTEGER, amount DECIMAL(12,2))")
        columns = [list(column) for column in zip(*EVENTS, strict=True)]
        insert = "INSERT INTO event SELECT UNNEST(?::INTEGER[]), UNNEST(?::INTEGER[]), UNNEST(?::DECIMAL(12,2)[])"
        connection.execute(insert, columns)
    backend = open_backend(f"duckdb:///{folder}/events.duckdb")
    pipeline = Pipeline(POLICY, backend, Ledger(folder / "ledger"))
    yield pipeline
    wait(pipeline.close())


def wait(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def ask(pipeline: Pipeline, sql: str, **settings: Any) -> Released:
    released: Released = wait(pipeline.query(sql, settings=Settings(**settings)))
    assert isinstance(released.rows, Rows)
    return released


def test_rows_are_built_as_they_are_taken(pipeline: Pipeline) -> None:
    released = ask(pipeline, "SELECT slot, COUNT(*), SUM(amount) FROM event GROUP BY slot")
    wanted = [(i, COUNTS[i], Decimal(TOTALS[i]) / 100) for i in range(BINS)]
    assert list(released.rows) == wanted
    assert released.rows[-1] == wanted[-1]
    assert released.rows[PART - 1 : PART + 1] == wanted[PART - 1 : PART + 1]
    assert {type(value) for value in released.rows[5]} == {int, Decimal}
    assert any("not kept, as it has more than" in notice for notice in released.notices)


def test_post_processing_of_many_rows(pipeline: Pipeline) -> None:
    sql = "SELECT slot + 1 AS next, COUNT(*) AS n FROM event GROUP BY slot ORDER BY n DESC, next"
    released = ask(pipeline, sql)
    wanted = sorted(((i + 1, COUNTS[i]) for i in range(BINS)), key=lambda row: (-row[1], row[0]))
    assert list(released.rows) == wanted


def test_many_rows_are_picked_by_conditions_and_sorted(pipeline: Pipeline) -> None:
    sql = (
        "SELECT slot, SUM(amount) AS total FROM event GROUP BY slot "
        "HAVING SUM(amount) > 5 OR COUNT(*) > 1 ORDER BY total DESC, slot LIMIT 12000 OFFSET 3"
    )
    held = [(i, Decimal(TOTALS[i]) / 100) for i in range(BINS) if TOTALS[i] > 500 or COUNTS[i] > 1]
    wanted = sorted(held, key=lambda row: (-row[1], row[0]))[3:12003]
    found = wait(pipeline.query(sql, settings=Settings())).rows
    assert len(found) == len(wanted)
    assert list(found) == wanted


@pytest.mark.parametrize(
    ("sql", "asked"),
    [
        ("SELECT COUNT(*) FROM event", [False]),
        ("SELECT slot, COUNT(*) FROM event GROUP BY slot", [True]),
        ("SELECT slot, COUNT(*) FROM event WHERE slot IN (1, 2) GROUP BY slot", [False]),
        (f"SELECT slot, MAX(amount) FROM event WHERE slot IN {FEW} GROUP BY slot", [False, True]),
    ],
)
def test_engines_are_told_of_many_rows(
    pipeline: Pipeline, tmp_path: Path, sql: str, asked: list[bool]
) -> None:
    seen: list[bool] = []

    class Told:
        dialect = pipeline.backend.dialect
        identity = pipeline.backend.identity

        async def fetch(self, *read: Any, many: bool = False) -> Any:
            seen.append(many)
            return await pipeline.backend.fetch(*read)

    told = Pipeline(POLICY, cast(Backend, Told()), Ledger(tmp_path / "ledger"))
    wait(told.start())
    seen.clear()
    wait(told.query(sql, settings=Settings()))
    assert seen == asked


def test_half_widths_of_many_rows(pipeline: Pipeline) -> None:
    released = ask(
        pipeline, "SELECT slot, COUNT(*) AS n FROM event GROUP BY slot", error_columns=True
    )
    assert [c.name for c in released.columns] == ["slot", "n", "n_ci95"]
    assert released.rows[BINS - 1] == (BINS - 1, 0, 0.0)
    assert len(list(released.rows)) == BINS
