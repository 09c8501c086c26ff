"""How far a long scan is, on standard error."""

from __future__ import annotations

import sys

WIDTH = 20


def show(done: int, steps: int, what: str, *, quiet: bool = False) -> None:
    """A bar on a terminal, which the next line of output replaces; elsewhere a line a step, or nothing
    where `quiet`."""
    if sys.stderr.isatty():
        full = WIDTH * done // max(steps, 1)
        print(
            f"\r\x1b[K[{'#' * full}{'.' * (WIDTH - full)}] {done}/{steps} {what}",
            end="",
            file=sys.stderr,
            flush=True,
        )
    elif not quiet:
        print(f"{done}/{steps} {what}", file=sys.stderr, flush=True)


def clear() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
