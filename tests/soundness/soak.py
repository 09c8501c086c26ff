"""`python -m tests.soundness.soak --minutes N [--seed S] [--workers 2]`: the oracle for as long as wanted.

Prints what was tried, refused (by reason), found and how tight the bounds were; exit status 1 on a violation.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Iterator

from .campaign import Tally, campaign
from .constructs import CONSTRUCTS

ENOUGH = 5
"""A worker stops after so many violations: more of the same would only bury them."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soundness.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    seeds = [(arguments.seed * 1000 + i, arguments.minutes * 60) for i in range(arguments.workers)]
    with multiprocessing.get_context("spawn").Pool(arguments.workers) as pool:
        tallies = pool.starmap(timed, seeds)
    total = Tally()
    for tally in tallies:
        total.add(tally)
    print("\n".join(report(total)))
    return 1 if total.violations or total.troubles else 0


def timed(seed: int, seconds: float) -> Tally:
    end = time.monotonic() + seconds
    return campaign(seed, lambda tally: time.monotonic() < end and len(tally.violations) < ENOUGH)


def report(tally: Tally) -> Iterator[str]:
    refused = sum(tally.refused.values())
    yield f"queries tried      {tally.tried} in {tally.seconds:.0f} core seconds"
    exact = f"exact {tally.exact}, released further in {tally.inner}"
    yield f"accepted           {tally.accepted} ({_share(tally.accepted, tally.tried)}), {exact}"
    yield f"refused            {refused} ({_share(refused, tally.tried)})"
    for reason, count in tally.refused.most_common(12):
        yield f"  {count:6} {reason}"
    yield f"neighbours         {tally.pairs} pairs measured, {tally.confirmed} confirmed on DuckDB"
    yield f"engine errors      {tally.engine_errors}"
    yield f"bounds attained    {tally.attained} of {tally.bounds} ({_share(tally.attained, tally.bounds)})"
    yield "distance / bound   " + "  ".join(
        f"{i / 10:.1f}-:{tally.tightness[i]}" for i in range(10)
    )
    yield "constructs (tried, accepted)"
    for name in (*CONSTRUCTS, *sorted(tally.constructs.keys() - set(CONSTRUCTS))):
        yield f"  {name:40}{tally.constructs[name]:8}{tally.understood[name]:8}"
    for kind, texts in (("VIOLATION", tally.violations), ("TROUBLE", tally.troubles)):
        for text in texts:
            yield f"\n======== {kind}\n{text}"
    yield f"other troubles     {len(tally.troubles)}"
    yield f"violations         {len(tally.violations)}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


if __name__ == "__main__":
    sys.exit(main())
