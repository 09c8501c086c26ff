"""`python -m tests.soundness.mutate [--seconds 120] [--workers 2] [--only TEXT] [--oracle NAME]`: do the oracles
find mistakes?

Every mutation runs in a process of its own, in which the module's source is changed on import, until its
oracle finds a violation, or for mistakes in rendering a wrong answer. Exit status 1 when one survives its time or
is stale.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from types import CodeType, ModuleType
from typing import get_args

from .mutations import MUTATIONS, Mutation, Oracle


class Mutated(importlib.machinery.SourceFileLoader):
    """Compiles a module from its mutated source, never from the cache."""

    def __init__(self, mutation: Mutation, path: str) -> None:
        super().__init__(mutation.module, path)
        self.mutation = mutation

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.mutation.apply(self.get_source(fullname) or ""), self.path, "exec")


class Finder(importlib.abc.MetaPathFinder):
    def __init__(self, mutation: Mutation) -> None:
        self.mutation = mutation

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.mutation.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and spec.origin is not None:
            spec.loader = Mutated(self.mutation, spec.origin)
        return spec


def hunt(mutation: Mutation, seconds: float, seed: int) -> str:
    """Run in a fresh process: the finder must stand before dp4sql is imported."""
    sys.meta_path.insert(0, Finder(mutation))
    try:
        found, tried = _hunted(mutation, seconds, seed)
    except ValueError as crash:  # A range whose ends are swapped, say: a soak ends there, too.
        return f"{'killed':9}{time.process_time():7.1f} s by {crash}"
    return f"{'killed' if found else 'SURVIVED':9}{time.process_time():7.1f} s {tried:6} queries"


def _hunted(mutation: Mutation, seconds: float, seed: int) -> tuple[list[str], int]:
    """What the oracle found, and in how many queries."""
    if mutation.oracle != "rules":
        from .wild.campaign import Tally as Wild
        from .wild.campaign import campaign_of

        def looking(tally: Wild) -> bool:
            return time.process_time() < seconds and not tally.violations

        wild = campaign_of(mutation.oracle, seed, looking, shrinking=False)
        return wild.violations, wild.tried
    from .campaign import CONFIRMED, Tally, campaign

    def found(tally: Tally) -> list[str]:
        return tally.troubles if mutation.shows_in_answers else tally.violations

    tally = campaign(
        seed,
        lambda tally: time.process_time() < seconds and not found(tally),
        shrinking=False,
        confirmed=1.0 if mutation.shows_in_answers else CONFIRMED,
    )
    return found(tally), tally.tried


def child(name: str, seconds: float, seed: int) -> str:
    command = [
        sys.executable,
        "-m",
        __spec__.name,
        "--child",
        name,
        "--seconds",
        str(seconds),
        "--seed",
        str(seed),
    ]
    # A fixed hash seed: the same queries in the same order, run after run.
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    if done.returncode:
        return f"STALE     {done.stderr.strip().splitlines()[-1]}"
    return done.stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soundness.mutate", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="processor time a mutation has to be found in"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", default="", help="mutations whose name holds this text")
    parser.add_argument(
        "--oracle", choices=get_args(Oracle), help="those that one oracle is to find"
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child is not None:
        mutation = next(m for m in MUTATIONS if m.name == arguments.child)
        print(hunt(mutation, arguments.seconds, arguments.seed))
        return 0
    oracles = (arguments.oracle,) if arguments.oracle else get_args(Oracle)
    chosen = [m for m in MUTATIONS if arguments.only in m.name and m.oracle in oracles]
    spent: list[float] = []
    with ThreadPoolExecutor(arguments.workers) as pool:
        results = pool.map(lambda m: child(m.name, arguments.seconds, arguments.seed), chosen)
        for mutation, result in zip(chosen, results, strict=True):
            if result.startswith("killed"):
                spent.append(float(result.split()[1]))
            module = mutation.module.removeprefix("dp4sql.")
            print(f"{module:32}{mutation.name:52}{result}", flush=True)
    print(
        f"{len(spent)} of {len(chosen)} mutations killed within {arguments.seconds:.0f} s each; "
        f"half of them within {median(spent or [0]):.0f} s, the last in {max(spent, default=0):.0f} s"
    )
    return 0 if len(spent) == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
