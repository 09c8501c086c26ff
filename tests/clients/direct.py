"""A Postgres with the university in it, for comparison: what the same clients get without the proxy."""

from __future__ import annotations

import contextlib
import os
import pwd
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg

from dp4sql.catalog.ddl import ddl
from dp4sql.catalog.embedded import UNPRIVILEGED
from dp4sql.data import university
from dp4sql.policy import load_policy
from tests.clients.place import Place
from tests.wire.live import DATABASE, POLICY
from tests.wire.secured import PASSWORD, USER, certify

#: The newest of this machine; the embedded one is built without TLS.
PROGRAMS = max(
    Path("/usr/lib/postgresql").glob("*/bin"),
    key=lambda path: int(path.parent.name),
    default=Path("/usr/bin"),
)


@contextlib.contextmanager
def postgres() -> Iterator[Place]:
    """The newest Postgres of this machine, over TCP with TLS and SCRAM."""
    with tempfile.TemporaryDirectory(prefix="direct-") as name:
        folder = Path(name)
        root, chain, key = certify(folder)
        (folder / "password").write_text(PASSWORD)
        who = pwd.getpwnam(UNPRIVILEGED).pw_uid if os.geteuid() == 0 else None
        for path in (folder, *folder.iterdir()):
            os.chown(path, os.geteuid() if who is None else who, -1)
        port = _free_port()
        settings = {
            "port": port, "ssl": "on", "ssl_cert_file": chain, "ssl_key_file": key, "fsync": "off",
        }  # fmt: skip
        server = _start(folder, settings, who)
        try:
            place = Place("127.0.0.1", port, DATABASE, USER, PASSWORD, root)
            _fill(place, folder)
            yield place
        finally:
            server.terminate()
            server.wait()


def _start(folder: Path, settings: dict[str, object], who: int | None) -> subprocess.Popen[bytes]:
    data, password = folder / "data", f"--pwfile={folder / 'password'}"
    initdb = [
        PROGRAMS / "initdb",
        "-D",
        data,
        "-U",
        USER,
        "-A",
        "scram-sha-256",
        password,
        "-E",
        "UTF8",
    ]
    subprocess.run(initdb, check=True, capture_output=True, user=who)
    arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    return subprocess.Popen(
        [PROGRAMS / "postgres", "-D", data, "-k", folder, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        user=who,
    )


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _fill(place: Place, folder: Path) -> None:
    admin = place.libpq.replace(f"dbname={DATABASE}", "dbname=postgres")
    for _ in range(1200):
        with (
            contextlib.suppress(psycopg.OperationalError),
            psycopg.connect(admin, autocommit=True) as client,
        ):
            client.execute(f"CREATE DATABASE {DATABASE}")
            break
        time.sleep(0.05)
    policies = load_policy(POLICY)
    university.generate(folder / "rows.duckdb")
    with (
        duckdb.connect(str(folder / "rows.duckdb")) as rows,
        psycopg.connect(place.libpq) as client,
    ):
        client.execute(ddl(policies))
        for table in ("student", "faculty", "section", "enrollment", "scholarship"):
            with client.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                for row in rows.execute(f"SELECT * FROM {table}").fetchall():
                    copy.write_row(row)
