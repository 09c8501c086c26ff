"""What is compared, each a process of its own on a free port of this machine, open to anyone on it."""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
import yaml

from dp4sql.data import university

USER: Final = "bench"
POLICY = Path(__file__).parents[2] / "policies" / "university.yaml"
PROGRAMS = max(
    Path("/usr/lib/postgresql").glob("*/bin"),
    key=lambda path: int(path.parent.name),
    default=Path("/usr/bin"),
)


@dataclass(frozen=True, slots=True)
class Place:
    """`process` is the one whose memory is looked at."""

    port: int
    database: str
    process: int

    @property
    def url(self) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{self.database}"


@contextlib.contextmanager
def postgres() -> Iterator[Place]:
    """The newest Postgres of this machine, which has to have initdb and postgres."""
    with _folder() as (folder, account):
        initdb = [PROGRAMS / "initdb", "-D", folder / "data", "-U", USER, "-A", "trust", "-N"]
        subprocess.run(initdb, check=True, capture_output=True, user=account)
        port = _free_port()
        settings = {"port": port, "max_connections": 200, "fsync": "off"}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [PROGRAMS / "postgres", "-D", folder / "data", "-k", folder, *options]
        with _running(command, account) as process:
            yield _awake(Place(port, "postgres", process))


@contextlib.contextmanager
def pgbouncer(behind: Place) -> Iterator[Place]:
    """A pgbouncer that pools transactions on `behind`."""
    with _folder() as (folder, account):
        port = _free_port()
        (folder / "pgbouncer.ini").write_text(
            f"[databases]\npostgres = host=127.0.0.1 port={behind.port} dbname=postgres\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\n"
            f"unix_socket_dir = {folder}\npool_mode = session\ndefault_pool_size = 50\n"
            "max_client_conn = 200\nlogfile = /dev/null\n"
        )
        config = (folder / "pgbouncer.ini").read_text()
        (folder / "pgbouncer.ini").write_text(
            config.replace("dbname=postgres", f"dbname=postgres user={USER}")
        )
        command = [shutil.which("pgbouncer") or "/usr/sbin/pgbouncer", folder / "pgbouncer.ini"]
        with _running(command, account) as process:
            yield _awake(Place(port, "postgres", process))


@contextlib.contextmanager
def proxy(ledgers: Path) -> Iterator[Place]:
    """`dp4sql serve` on the university without budgets, its ledger in the folder `ledgers`."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as name,
        tempfile.TemporaryDirectory(prefix="bench-", dir=ledgers) as kept,
    ):
        folder = Path(name)
        university.generate(folder / "rows.duckdb")
        policy = yaml.safe_load(POLICY.read_text())
        for one in policy["policies"].values():
            one.pop("budget", None)
        (folder / "policy.yaml").write_text(yaml.safe_dump(policy))
        command = [
            *(sys.executable, "-m", "dp4sql", "serve", "--policy", folder / "policy.yaml"),
            *("--database", f"duckdb:///{folder / 'rows.duckdb'}", "--name", "university"),
            *("--ledger", Path(kept) / "bench.ledger", "--listen", "127.0.0.1:0"),
        ]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        found = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
        assert found is not None
        try:
            yield Place(int(found[1]), "university", process.pid)
        finally:
            process.terminate()
            process.wait(30)


@contextlib.contextmanager
def _folder() -> Iterator[tuple[Path, int | None]]:
    """A folder, and the account that owns it and runs what does not run as root."""
    account = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        if account is not None:
            os.chown(name, account, -1)
        yield Path(name), account


@contextlib.contextmanager
def _running(command: list[object], account: int | None) -> Iterator[int]:
    process = subprocess.Popen(
        list(map(str, command)),
        user=account,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(20)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _awake(place: Place) -> Place:
    deadline = time.monotonic() + 20
    while True:
        try:
            psycopg.connect(place.url).close()
            return place
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
