"""The wire's cost, as ratios within one run.

python -m benchmarks.wire [--rounds 5] [--seconds 2]        prints and writes figures.md
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import asyncpg
import duckdb
import uvloop

from benchmarks.wire import load, servers
from benchmarks.wire.servers import Place
from dp4sql.data import university

TARGET = Path(__file__).with_name("figures.md")
CASES: Final = [
    (mode, n) for mode in ("simple", "extended", "prepared", "asyncpg") for n in (1, 16)
]
RELEASED: Final = "SELECT count(*) FROM student WHERE major = 'CS'"
#: What EXPLAIN shows for it.
RENDERED: Final = (
    "SELECT COALESCE(g.m0, 0) AS m0 FROM (SELECT COUNT(*) AS m0 "
    'FROM "student" AS t1 WHERE (t1."major" = \'CS\')) AS g'
)
#: Otherwise a repeated statement is answered with what was released before.
FRESH: Final = "SET dp4sql.reuse = off"
IDLE, BUSY = 1000, 100


def tps(place: Place, mode: str, clients: int, seconds: float) -> float:
    if mode == "asyncpg":
        return load.asked(place, "SELECT 1", clients, seconds).count / seconds
    return load.pgbench(place, "SELECT 1", mode, clients, seconds)


def processor(places: dict[str, Place], seconds: float) -> Iterator[str]:
    """Microseconds of processor time that a server's own process takes for SELECT 1."""
    yield "| server | " + " | ".join(f"{mode}, {n}" for mode, n in CASES) + " |"
    yield "|---" * (len(CASES) + 1) + "|"
    for name in places.keys() - {"Postgres"}:
        cells = []
        for mode, n in CASES:
            before = _processor(places[name].process)
            count = tps(places[name], mode, n, seconds) * seconds
            cells.append((_processor(places[name].process) - before) / count * 1e6)
        yield f"| {name} | " + " | ".join(f"{x:.0f}" for x in cells) + " |"


def _processor(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def throughput(places: dict[str, Place], rounds: int, seconds: float) -> Iterator[str]:
    """SELECT 1 everywhere, in turns, so that whatever else the machine does meets all alike."""
    direct = "Postgres"
    yield "| server | " + " | ".join(f"{mode}, {n}" for mode, n in CASES) + " |"
    yield "|---" * (len(CASES) + 1) + "|"
    found: dict[tuple[str, str, int], list[float]] = {}
    for _ in range(rounds):
        for mode, n in CASES:
            base = tps(places[direct], mode, n, seconds)
            found.setdefault((direct, mode, n), []).append(base)
            for name in places.keys() - {direct}:
                ratio = tps(places[name], mode, n, seconds) / base
                found.setdefault((name, mode, n), []).append(ratio)
    for name in places:
        cells = [statistics.median(found[name, mode, n]) for mode, n in CASES]
        shown = [f"{x:,.0f} /s" if name == direct else f"{x:.2f}" for x in cells]
        yield f"| {name} | " + " | ".join(shown) + " |"


def released(memory: Place, disk: Place, seconds: float, rounds: int) -> Iterator[str]:
    """One released count: over the wire with and without fsync, and its SQL on DuckDB itself."""
    direct, fast, durable = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.duckdb"
        university.generate(file)
        with duckdb.connect(str(file), read_only=True) as engine:
            for _ in range(rounds):
                direct.append(_median_of(engine, seconds))
                fast.append(_median(memory, 1, seconds))
                durable.append(_median(disk, 1, seconds))
    base, extra = statistics.median(direct), statistics.median(fast)
    full = statistics.median(durable)
    yield "| | median, ms |"
    yield "|---|---|"
    yield f"| the rendered SQL on DuckDB itself | {base * 1e3:.2f} |"
    yield f"| the release through the proxy, ledger in memory | {extra * 1e3:.2f} |"
    yield f"| *more than the engine alone* | **{(extra - base) * 1e3:.2f}** |"
    yield f"| the release through the proxy, ledger on disk | {full * 1e3:.2f} |"
    yield f"| *of it the fsync of the ledger* | {(full - extra) * 1e3:.2f} |"
    many = load.asked(disk, RELEASED, 16, seconds, (FRESH,)).count / seconds
    yield f"| a release, 16 sessions at once, ledger on disk (1 / throughput) | {1e3 / many:.2f} |"


def _median(place: Place, clients: int, seconds: float) -> float:
    return load.asked(place, RELEASED, clients, seconds, (FRESH,)).median


def _median_of(engine: duckdb.DuckDBPyConnection, seconds: float) -> float:
    found, until = [], time.perf_counter() + seconds
    while (start := time.perf_counter()) < until:
        engine.execute(RENDERED).fetchall()
        found.append(time.perf_counter() - start)
    return statistics.median(found)


async def crowd(place: Place, seconds: float) -> list[str]:
    """A thousand idle connections, then a hundred busy ones beside them."""
    await _asked(place, 1)
    before = _resident(place.process)
    idle = [await asyncpg.connect(place.url) for _ in range(IDLE)]
    each = (_resident(place.process) - before) / IDLE
    until = time.perf_counter() + seconds
    answered = sum(await asyncio.gather(*(_busy(place, until) for _ in range(BUSY))))
    alive = [await client.fetchval("SELECT 1") for client in idle[::50]]
    await asyncio.gather(*(client.close() for client in idle))
    return [
        f"{IDLE:,} idle connections take {each / 1024:.0f} kB each. With {BUSY} busy ones beside them, "
        f"{answered / seconds:,.0f} statements a second were answered, every one of them, and "
        f"{sum(alive)} of {len(alive)} idle connections tried afterwards answered too."
    ]


async def _asked(place: Place, times: int) -> None:
    client = await asyncpg.connect(place.url)
    for _ in range(times):
        await client.fetchval("SELECT 1")
    await client.close()


async def _busy(place: Place, until: float) -> int:
    client = await asyncpg.connect(place.url)
    count = 0
    while time.perf_counter() < until:
        assert await client.fetchval("SELECT 1") == 1
        count += 1
    await client.close()
    return count


def _resident(process: int) -> int:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def figures(rounds: int, seconds: float) -> Iterator[str]:
    bouncer = shutil.which("pgbouncer", path=os.environ["PATH"] + ":/usr/sbin")
    with contextlib.ExitStack() as stack:
        direct = stack.enter_context(servers.postgres())
        memory = stack.enter_context(servers.proxy(Path("/dev/shm")))
        disk = stack.enter_context(servers.proxy(Path(tempfile.gettempdir())))
        places = {"Postgres": direct}
        if bouncer:
            places["pgbouncer"] = stack.enter_context(servers.pgbouncer(direct))
        places["dp4sql"] = memory
        yield HEAD.format(cores=os.cpu_count(), system=platform.system(), load=os.getloadavg()[0])
        yield "## SELECT 1\n"
        yield WITH_BOUNCER if bouncer else WITHOUT_BOUNCER
        tps(memory, "simple", 1, 1)  # starts the Postgres beside it
        yield from throughput(places, rounds, seconds)
        yield PROCESSOR
        yield from processor(places, seconds)
        yield "\n## A released count\n"
        yield RELEASE
        yield from released(memory, disk, seconds, rounds)
        yield "\n## Many connections\n"
        yield from uvloop.run(crowd(stack.enter_context(servers.proxy(Path("/dev/shm"))), seconds))


HEAD: Final = """# What the wire costs

Made by `make bench-wire` on {cores} cores ({system}; {load:.1f} processes wanted them when it began). All
servers and clients share the machine and take turns, so only ratios within the run mean anything.
"""
WITH_BOUNCER: Final = """\
Throughput as a ratio to Postgres itself (first row: statements a second), medians of the rounds,
with 1 and 16 connections: pgbench with the simple, extended and prepared protocol, and asyncpg with
a prepared statement. dp4sql answers statements over literals alone from memory, after the empty
Postgres beside it has answered them once.
"""
WITHOUT_BOUNCER: Final = (
    WITH_BOUNCER + "pgbouncer is not installed here: the comparison is with Postgres alone.\n"
)
PROCESSOR: Final = """
The same as processor time of the server's own process, in microseconds a statement, which depends
less on what else the machine does. pgbouncer has a Postgres behind it, whose time is not counted.
"""
RELEASE: Final = f"""`{RELEASED}` over asyncpg, prepared, a fresh release each time: charged,
read, noised. The engine is DuckDB with 1,000 rows.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2)
    options = parser.parse_args()
    lines = []
    for line in figures(options.rounds, options.seconds):
        print(line, flush=True)
        lines.append(line)
    TARGET.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
