"""A proxy in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """`dp4sql serve` with these arguments on a free port: the process and the port."""
    process = subprocess.Popen(
        (sys.executable, "-m", "dp4sql", "serve", "--listen", "127.0.0.1:0", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = re.search(r"listens on 127\.0\.0\.1:(\d+)", process.stdout.readline())
        assert found, process.communicate(timeout=60)
        yield process, int(found[1])
    finally:
        process.kill()
        process.communicate()
