"""One wide answer in a process of its own, so that its memory is its own: prints JSON.

python -m benchmarks.wide.measured URL BINS STATEMENT private|plain
"""

from __future__ import annotations

import asyncio
import datetime
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar
from unittest.mock import patch

import duckdb

import dp4sql
from dp4sql.backends import Backend, open_backend
from dp4sql.budget.ledger import Ledger
from dp4sql.mechanisms import release
from dp4sql.mechanisms.stages import Release
from dp4sql.pipeline import Pipeline
from dp4sql.pipeline.preparation import prepare, stage_sql
from dp4sql.policy.labels import PolicySet
from dp4sql.rows import PrivateRows
from dp4sql.session.results import EncodedRows
from dp4sql.settings import Settings
from dp4sql.sql.dialects import DUCKDB

STATEMENTS: Final = {
    "COUNT": "SELECT slot, COUNT(*) AS n FROM event GROUP BY slot",
    "SUM, AVG": "SELECT slot, SUM(amount) AS total, AVG(amount) AS mean FROM event GROUP BY slot",
    "ORDER BY": "SELECT slot, COUNT(*) AS n FROM event GROUP BY slot ORDER BY n DESC, slot",
}
PART: Final = 256
T = TypeVar("T")


def policy(bins: int) -> PolicySet:
    return dp4sql.load_policy(
        {
            "dp4sql": 1,
            "tables": {
                "person": {"key": ["id"], "rows": 20_000, "columns": {"id": "integer"}},
                "event": {
                    "key": ["id"],
                    "foreign_keys": {"person": "person"},
                    "max_frequency": {"person": 100},
                    "columns": {
                        "id": "integer",
                        "person": "integer",
                        "slot": {"type": "integer", "domain": {"from": 0, "to": bins - 1}},
                        "amount": {"type": "numeric(12,2)", "range": [0, 100]},
                    },
                },
            },
            "policies": {
                "people": {
                    "entity": "person",
                    "epsilon": 1,
                    "labels": {"person": "del", "event": "del"},
                }
            },
        }
    )


class Timed:
    """A backend that adds up the processor time of its reads."""

    def __init__(self, backend: Backend) -> None:
        self.dialect, self.identity, self._backend = backend.dialect, backend.identity, backend
        self.seconds = 0.0

    async def fetch(self, sql: str, columns: Any, *, many: bool = False) -> PrivateRows:
        start = time.process_time()
        found = await self._backend.fetch(sql, columns, many=many)
        self.seconds += time.process_time() - start
        return found

    async def ping(self) -> None:
        await self._backend.ping()

    async def close(self) -> None:
        await self._backend.close()


class Noise:
    """The mechanism, which adds up the processor time of its draws."""

    def __init__(self) -> None:
        self.seconds, self._laplace = 0.0, release.laplace

    def __call__(self, *arguments: Any) -> Any:
        found, seconds = timed(lambda: self._laplace(*arguments))
        self.seconds += seconds
        return found


def timed(work: Callable[[], T]) -> tuple[T, float]:
    start = time.process_time()
    return work(), time.process_time() - start


def peak() -> float:
    """Megabytes that this program has held at most. The usual count begins with what its parent held."""
    status = Path("/proc/self/status").read_text().splitlines()
    (kilobytes,) = (line.split()[1] for line in status if line.startswith("VmHWM:"))
    return int(kilobytes) / 1024


async def private(url: str, bins: int, sql: str) -> dict[str, float]:
    """Processor seconds by stage, seconds in all, and megabytes, of one answer as it is encoded for a client."""
    backend = Timed(open_backend(url))
    with tempfile.TemporaryDirectory() as folder:
        pipeline = Pipeline(policy(bins), backend, Ledger(f"{folder}/ledger"))
        await pipeline.query("SELECT COUNT(*) FROM event WHERE slot = 1")
        backend.seconds, start, noise = 0.0, time.process_time(), Noise()
        begun = time.perf_counter()
        with patch.object(release, "laplace", noise):
            released = await pipeline.query(sql, settings=Settings(reuse="off"))
        total = time.process_time() - start
        _, send = timed(
            lambda: _sent(EncodedRows(released, (0,) * len(released.columns), datetime.UTC))
        )
        seconds = time.perf_counter() - begun
        await pipeline.close()
    rest = total - backend.seconds - noise.seconds
    found = {"read": backend.seconds, "noise": noise.seconds, "rest": rest, "send": send}
    return {**found, "seconds": seconds, "peak": peak()}


def _sent(rows: EncodedRows) -> None:
    for start in range(0, len(rows), PART):
        rows[start : start + PART]


async def plain(url: str, bins: int, sql: str) -> dict[str, float]:
    """Megabytes without a proxy: DuckDB by itself reads the same exact rows and lets them go; from Postgres,
    whose memory is its own, nothing is read."""
    prepared = prepare(policy(bins), sql, None)
    (stage,) = (s for s in prepared.plan.stages if isinstance(s, Release))
    if url.startswith("duckdb:"):
        with duckdb.connect(url.removeprefix("duckdb://"), read_only=True) as connection:
            connection.execute(stage_sql(stage, prepared.facts, DUCKDB, {}))
            while connection.fetchmany(10_000):
                pass
    else:
        backend = open_backend(url)
        await backend.ping()
        await backend.close()
    return {"peak": peak()}


if __name__ == "__main__":
    _, place, count, name, way = sys.argv
    asked = plain if way == "plain" else private
    print(json.dumps(asyncio.run(asked(place, int(count), STATEMENTS[name]))))
