"""The proxy as a process of its own: `python -m tests.clients.serve FOLDER` prints its port.

Some clients hold Python's lock while they wait, so the proxy cannot be a thread beside them.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.clients.place import Place
from tests.faults import watched
from tests.wire.live import DATABASE
from tests.wire.secured import PASSWORD, USER, secured


@contextlib.contextmanager
def proxy(folder: Path) -> Iterator[Place]:
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(folder)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline())
        yield Place("127.0.0.1", port, DATABASE, USER, PASSWORD, folder / "root.pem")
    finally:
        process.stdin.close()
        assert process.wait(timeout=60) == 0, "the proxy's faults are in the output"


if __name__ == "__main__":
    with watched(), secured(Path(sys.argv[1])) as (running, _):
        print(running.port, flush=True)
        sys.stdin.read()
