"""Certified statements beside the figures of the PrivCert paper.

python -m benchmarks.certify        writes figures.md and, with matplotlib, certify.png
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final, TypeVar

from benchmarks.certify import databases, mechanisms, proxy, sweep
from benchmarks.certify.results import Results
from benchmarks.certify.text import markdown

HERE: Final = Path(__file__).parent
T = TypeVar("T")


def run() -> Results:
    return Results(
        _timed("synthetic sweep", sweep.sweep),
        _timed("mechanisms", mechanisms.mechanisms),
        _timed("whole reports", mechanisms.reports),
        _timed("budgets, plain margin", lambda: mechanisms.budgets("paper", sweep.EPSILONS)),
        _timed("budgets, exact margin", lambda: mechanisms.budgets("exact", sweep.EPSILONS)),
        _timed("university and TPC-H", databases.databases),
        _timed("proxy boundary", proxy.boundary),
    )


def _timed(name: str, rows: Callable[[], Iterator[T]]) -> list[T]:
    started = time.monotonic()
    found: list[T] = []
    for row in rows():
        found.append(row)
        if sys.stderr.isatty():
            print(f"\r{name}: {len(found)}", end="", file=sys.stderr, flush=True)
    took = time.monotonic() - started
    print(f"\r{name}: {len(found)} rows in {took:.1f} s", file=sys.stderr, flush=True)
    return found


def main() -> None:
    results = run()
    text = "\n".join(markdown(results)).rstrip() + "\n"
    (HERE / "figures.md").write_text(text, encoding="utf-8")
    print(text)
    if find_spec("matplotlib"):
        from benchmarks.certify.plots import plot

        plot(results, HERE / "certify.png")
    else:
        print("no plot: matplotlib is not installed", file=sys.stderr)


if __name__ == "__main__":
    main()
