"""A virtual environment for each peer, kept between runs; a peer that cannot be installed is skipped."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from importlib.metadata import version as importlib_version
from pathlib import Path

ADAPTERS = Path(__file__).parent / "adapters"


@dataclass(frozen=True, slots=True)
class Peer:
    """The first of `packages` is the peer itself. `alone`: dp4sql with one kind of people to protect."""

    name: str
    adapter: str
    packages: tuple[str, ...]
    alone: bool = False

    @property
    def program(self) -> Path:
        return ADAPTERS / f"{self.adapter}.py"

    @property
    def version(self) -> str:
        return self.packages[0].partition("==")[2] if self.packages else importlib_version("dp4sql")


PEERS = (
    Peer("dp4sql", "ours", ()),
    Peer("dp4sql (the peers' policy)", "ours", (), alone=True),
    Peer("Qrlew", "qrlew", ("pyqrlew==0.9.27", "sqlalchemy>=2", "psycopg2-binary")),
    Peer("SmartNoise SQL", "smartnoise", ("smartnoise-sql==1.0.10", "psycopg2-binary")),
    Peer(
        "OpenDP (Polars, by hand)", "opendp_polars", ("opendp[polars]==0.16.0", "psycopg2-binary")
    ),
    Peer("Tumult Analytics (by hand)", "tumult", ("tmlt.analytics==0.21.0", "psycopg2-binary")),
)
SKIPPED = {"DPSQL+": "not in the package index"}


def python(peer: Peer, folder: Path) -> Path:
    """The Python that has the peer's packages; RuntimeError with the reason where they cannot be had."""
    if not peer.packages:
        return Path(sys.executable)
    home = folder / peer.adapter
    found, done = home / "bin" / "python", home / "installed"
    if not done.exists():
        venv.create(home, with_pip=True, clear=True)
        command = [found, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        ran = subprocess.run([*command, *peer.packages], capture_output=True, text=True)
        if ran.returncode:
            lines = [line for line in ran.stderr.splitlines() if line.startswith("ERROR")]
            raise RuntimeError((lines or ["pip failed"])[-1].removeprefix("ERROR: "))
        done.touch()
    return found
