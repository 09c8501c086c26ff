"""Clients that ask as fast as they get answers: pgbench, and asyncpg in a process of its own."""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import uvloop

from benchmarks.wire.servers import USER, Place


def pgbench(place: Place, sql: str, mode: str, clients: int, seconds: float) -> float:
    """Statements a second over the protocol `mode`: simple, extended or prepared."""
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(sql)
        script.flush()
        said = subprocess.run(
            ["pgbench", "-n", "-f", script.name, "-M", mode, "-c", str(clients), "-j", "1",
             "-T", str(round(seconds)), "-h", "127.0.0.1", "-p", str(place.port), "-U", USER,
             place.database],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
    found = re.search(r"tps = ([\d.]+)", said.stdout)
    assert found is not None, said.stderr
    return float(found[1])


@dataclass(frozen=True)
class Measured:
    """How many statements were answered, and how many seconds the median one took."""

    count: int
    median: float


def asked(
    place: Place, sql: str, clients: int, seconds: float, settings: Sequence[str] = ()
) -> Measured:
    """One prepared statement over asyncpg, again and again on `clients` connections at once."""
    given = [place.url, sql, clients, seconds, *settings]
    said = subprocess.run(
        [sys.executable, "-m", __name__, json.dumps(given)],
        check=True, capture_output=True, text=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    return Measured(**json.loads(said.stdout))


async def _loop(url: str, sql: str, until: float, settings: Sequence[str]) -> list[float]:
    client = await asyncpg.connect(url)
    for setting in settings:
        await client.execute(setting)
    statement = await client.prepare(sql)
    found = []
    while (start := time.perf_counter()) < until:
        await statement.fetch()
        found.append(time.perf_counter() - start)
    await client.close()
    return found


async def _loops(url: str, sql: str, clients: int, seconds: float, *settings: str) -> list[float]:
    until = time.perf_counter() + seconds
    loops = (_loop(url, sql, until, settings) for _ in range(clients))
    return [taken for each in await asyncio.gather(*loops) for taken in each]


if __name__ == "__main__":
    taken = uvloop.run(_loops(*json.loads(sys.argv[1])))
    print(json.dumps({"count": len(taken), "median": statistics.median(taken)}))
