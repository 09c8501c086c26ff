"""Processes that are killed in the middle of their work."""

from __future__ import annotations

import subprocess
import sys
import time


def killed(program: str, *arguments: str, delay: float) -> int:
    """How often a process prints `answered`, killed with SIGKILL so many seconds after the first time."""
    process = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(delay)
    process.kill()
    answered = 1 + process.stdout.read().count(b"answered\n")
    process.wait()
    return answered
