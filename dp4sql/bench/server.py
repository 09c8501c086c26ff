"""A Postgres of the wheel's programs, whose rows stay in a folder from one run to the next."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dp4sql.catalog.embedded import SUPERUSER, UNPRIVILEGED, start
from dp4sql.errors import CatalogUnavailable, EngineError

#: Room for TPC-H at scale 1; the rest is what initdb chose.
SETTINGS: Final = {
    "listen_addresses": "",
    "shared_buffers": "1GB",
    "work_mem": "64MB",
    "maintenance_work_mem": "512MB",
    "max_wal_size": "8GB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "random_page_cost": "1.1",
}


@contextmanager
def kept_server(folder: Path) -> Iterator[str]:
    """The URL of a database whose rows are in `folder`. EngineError where it cannot be started."""
    _check_reachable(folder)
    try:
        running = asyncio.run(start(folder, SETTINGS))
    except CatalogUnavailable as error:
        raise EngineError(
            f"no Postgres can be started on {folder}",
            hint=f"{error.hint} Another one may run on it, or its version may be another. "
            "--database postgresql://user@host/tpch takes a server of yours.",
        ) from None
    try:
        yield f"postgresql://{SUPERUSER}@/template1?host={running.directory}"
    finally:
        asyncio.run(running.stop())


def _check_reachable(folder: Path) -> None:
    closed = [p for p in folder.resolve().parents if p.exists() and not p.stat().st_mode & 0o001]
    if os.geteuid() == 0 and closed:
        raise EngineError(
            f"no Postgres can be started on {folder}",
            hint=f"Root's servers run as {UNPRIVILEGED}, who may not enter {closed[0]}: --out names "
            "another folder, --database postgresql://user@host/tpch a server of yours.",
        )
