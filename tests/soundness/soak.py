"""`python -m tests.soundness.soak --minutes N [--seed S] [--workers 2] [--only wild]`: the oracles for as long
as wanted, that of the rules first, then those of wild values and of two engines, for N minutes each.

Prints what was tried, refused (by reason), found and how tight the bounds were; exit status 1 on a violation.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from multiprocessing.pool import Pool
from typing import TypeAlias, get_args

from .campaign import Tally, campaign
from .constructs import CONSTRUCTS
from .wild.campaign import Kind, campaign_of
from .wild.campaign import Tally as Wild

Seeds: TypeAlias = Sequence[tuple[int, float]]

ENOUGH = 5
"""A worker stops after so many violations: more of the same would only bury them."""
ROUND = 60
"""Seconds of one seed of wild values, by which the policies' accountant goes."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soundness.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=("rules", "wild"), help="one of the two alone")
    arguments = parser.parse_args()
    seeds = [(arguments.seed * 1000 + i, arguments.minutes * 60) for i in range(arguments.workers)]
    parts = {"rules": rules, "wild": wild}
    with multiprocessing.get_context("spawn").Pool(arguments.workers) as pool:
        found = [
            part(pool, seeds) for name, part in parts.items() if arguments.only in (None, name)
        ]
    return int(any(found))


def rules(pool: Pool, seeds: Seeds) -> bool:
    """Whether something was wrong."""
    total = Tally()
    for tally in pool.starmap(timed, seeds):
        total.add(tally)
    print("\n".join(report(total)), flush=True)
    return bool(total.violations or total.troubles)


def wild(pool: Pool, seeds: Seeds) -> bool:
    """The same; each kind gets a share of the time."""
    kinds = get_args(Kind)
    asked = [(kind, seed, seconds / len(kinds)) for kind in kinds for seed, seconds in seeds]
    found = pool.starmap(timed_wild, asked, chunksize=1)
    for kind in kinds:
        total = Wild()
        for (of, *_), tally in zip(asked, found, strict=True):
            if of == kind:
                total.add(tally)
        print("\n".join(report_wild(kind, total)), flush=True)
    return any(tally.violations for tally in found)


def timed(seed: int, seconds: float) -> Tally:
    end = time.monotonic() + seconds
    return campaign(seed, lambda tally: time.monotonic() < end and len(tally.violations) < ENOUGH)


def timed_wild(kind: Kind, seed: int, seconds: float) -> Wild:
    # Engines' errors are what is looked for; each is told with the statement.
    logging.disable(logging.CRITICAL)
    end, found = time.monotonic() + seconds, Wild()
    for i in itertools.count():
        until = min(end, time.monotonic() + ROUND)
        found.add(campaign_of(kind, seed * 1000 + i, partial(_going, until)))
        if time.monotonic() >= end or len(found.violations) >= ENOUGH:
            return found
    raise AssertionError


def _going(until: float, tally: Wild) -> bool:
    return time.monotonic() < until and not tally.violations


def report_wild(kind: Kind, tally: Wild) -> Iterator[str]:
    refused = sum(tally.refused.values())
    yield f"\nwild values        {kind}, {tally.seconds:.0f} core seconds"
    yield f"queries tried      {tally.tried}, refused {refused} ({_share(refused, tally.tried)})"
    for reason, many in tally.refused.most_common(5):
        yield f"  {many:6} {reason}"
    yield f"answers compared   {tally.compared}"
    yield f"bounds attained    {tally.attained} of {tally.bounds} ({_share(tally.attained, tally.bounds)})"
    for text in tally.violations:
        yield f"\n======== VIOLATION\n{text}"
    yield f"violations         {len(tally.violations)}"


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
