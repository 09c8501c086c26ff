"""What a wide answer costs by stage, and the memory it takes: a thousand bins to a million.

python -m benchmarks.wide [--runs 3]        prints and writes figures.md
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb

from benchmarks.wide.measured import STATEMENTS

TARGET: Final = Path(__file__).with_name("figures.md")
BINS: Final = (1000, 10_000, 100_000, 1_000_000)
EVENTS: Final = 2_000_000
HEAD: Final = """# Wide answers

{events:,} rows on DuckDB, grouped into as many bins as are declared: `python -m benchmarks.wide`. Milliseconds of
processor time, the medians of {runs} runs: *read* is the engine's query and its rows as columns, *noise* OpenDP's
draws, *rest* planning, charge and post-processing, *send* the frames of the protocol. *Memory* is what the
proxy's process held at most beyond a process in which DuckDB alone reads the same rows, in megabytes.

| statement | bins | read | noise | rest | send | noise / read | memory |
|---|---:|---:|---:|---:|---:|---:|---:|
"""


def fill(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE person AS SELECT i::INTEGER AS id FROM range(20000) r(i)")
        connection.execute(
            "CREATE TABLE event AS SELECT i::INTEGER AS id, (i * 7919 % 20000)::INTEGER AS person, "
            "(hash(i) % 1000000)::INTEGER AS slot, "
            f"((hash(i + 1) % 10000) / 100)::DECIMAL(12,2) AS amount FROM range({EVENTS}) r(i)"
        )


def measured(path: Path, bins: int, name: str, way: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.wide.measured", str(path), str(bins), name, way]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def row(path: Path, bins: int, name: str, runs: int) -> str:
    engine = measured(path, bins, name, "plain")["engine"]
    each = [measured(path, bins, name, "private") for _ in range(runs)]
    found = {key: statistics.median(run[key] for run in each) for key in each[0]}
    stages = [f"{1000 * found[stage]:.0f}" for stage in ("read", "noise", "rest", "send")]
    ratio, beyond = found["noise"] / found["read"], found["peak"] - engine
    return f"| {name} | {bins:,} | {' | '.join(stages)} | {ratio:.1f} | {beyond:.0f} |"


def table(runs: int) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events.duckdb"
        fill(path)
        for name in STATEMENTS:
            for bins in BINS:
                line = row(path, bins, name, runs)
                print(line, flush=True)
                yield line


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide")
    parser.add_argument("--runs", type=int, default=3, help="runs of each (3)")
    runs = parser.parse_args().runs
    lines = list(table(runs))
    TARGET.write_text(HEAD.format(events=EVENTS, runs=runs) + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
