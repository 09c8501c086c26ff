"""What a wide answer costs by stage, and the memory it takes: a thousand bins to a million.

python -m benchmarks.wide [--runs 3] [--most 1000000] [--engines duckdb,postgres]

Prints the table; a run over all bins and engines writes figures.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Final

import duckdb
import psycopg

from dp4sql.bench.server import kept_server

TARGET: Final = Path(__file__).with_name("figures.md")
#: What is asked of each: order is made of columns, wherever they come from.
ENGINES: Final = {"duckdb": ("COUNT", "SUM, AVG", "ORDER BY"), "postgres": ("COUNT", "SUM, AVG")}
BINS: Final = (1000, 10_000, 100_000, 1_000_000)
EVENTS: Final = 2_000_000
STAGES: Final = ("read", "noise", "rest", "send")
HEAD: Final = """# Wide answers

{events:,} rows, grouped into as many bins as are declared: `python -m benchmarks.wide`. Milliseconds of the
proxy's processor time, the medians of {runs} runs (a million bins are asked once): *read* is the engine's query
and its rows as columns (on Postgres, whose own time is not in it, the rows alone), *noise* OpenDP's draws, *rest*
planning, charge and post-processing, *send* the frames of the protocol. *Seconds* are those of the clock, for all
of these. *Memory* is what the proxy's process held at most beyond a process in which DuckDB alone reads the same
rows, or in which nothing is asked of Postgres, in megabytes.

| engine | statement | bins | read | noise | rest | send | noise / read | seconds | memory |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
"""
PERSONS: Final = "SELECT i AS id FROM {integers}"
COLUMNS: Final = (
    "SELECT i AS id, i::bigint * 7919 % 20000 AS person, i::bigint * 48271 % 2147483647 % 1000000 AS slot, "
    "(i::bigint * 69621 % 2147483647 % 10000 / 100.0)::DECIMAL(12,2) AS amount FROM {integers}"
)


def tables(integers: str) -> list[str]:
    """Statements that fill the tables; `integers` gives i below a number."""
    events = COLUMNS.format(integers=integers.format(EVENTS))
    typed = (
        f"SELECT id, person::integer AS person, slot::integer AS slot, amount FROM ({events}) AS e"
    )
    return [
        f"CREATE TABLE person AS {PERSONS.format(integers=integers.format(20_000))}",
        f"CREATE TABLE event AS {typed}",
    ]


def filled(engine: str, folder: Path, open_until: ExitStack) -> str:
    """The URL of a database of the two tables."""
    if engine == "duckdb":
        with duckdb.connect(str(folder / "events.duckdb")) as connection:
            for statement in tables("(SELECT i::INTEGER AS i FROM range({}) AS r(i)) AS r"):
                connection.execute(statement)
        return f"duckdb://{folder}/events.duckdb"
    url = open_until.enter_context(kept_server(folder / "postgres"))
    with psycopg.connect(url, autocommit=True) as server:
        for statement in [*tables("generate_series(0, {} - 1) AS r(i)"), "VACUUM ANALYZE"]:
            server.execute(statement.encode())
    return url


def measured(url: str, bins: int, name: str, way: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.wide.measured", url, str(bins), name, way]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def row(engine: str, url: str, bins: int, name: str, runs: int) -> str:
    alone = measured(url, bins, name, "plain")["peak"]
    each = [measured(url, bins, name, "private") for _ in range(runs)]
    found = {key: statistics.median(run[key] for run in each) for key in each[0]}
    stages = " | ".join(f"{1000 * found[stage]:.0f}" for stage in STAGES)
    ratio = f"{found['noise'] / found['read']:.1f}" if engine == "duckdb" else ""
    rest = f"{ratio} | {found['seconds']:.2f} | {found['peak'] - alone:.0f}"
    return f"| {engine} | {name} | {bins:,} | {stages} | {rest} |"


def lines(engines: list[str], most: int, runs: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name, ExitStack() as open_until:
        folder = Path(name)
        # A server that root starts runs as somebody else.
        folder.chmod(0o755)
        for engine in engines:
            url = filled(engine, folder, open_until)
            for statement, bins in product(ENGINES[engine], BINS):
                if bins <= most:
                    yield row(engine, url, bins, statement, runs if bins < BINS[-1] else 1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide")
    parser.add_argument("--runs", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--most", type=int, default=BINS[-1], help="bins at most (1000000)")
    parser.add_argument("--engines", default=",".join(ENGINES), help="duckdb,postgres")
    given = parser.parse_args()
    engines = given.engines.split(",")
    found = []
    for line in lines(engines, given.most, given.runs):
        print(line, flush=True)
        found.append(line)
    if given.most >= BINS[-1] and set(engines) == set(ENGINES):
        TARGET.write_text(HEAD.format(events=EVENTS, runs=given.runs) + "\n".join(found) + "\n")


if __name__ == "__main__":
    main()
