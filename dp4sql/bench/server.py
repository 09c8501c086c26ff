"""A Postgres of the wheel's programs, whose rows stay in a folder from one run to the next."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dp4sql.catalog.embedded import SUPERUSER, start
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
    try:
        running = asyncio.run(start(folder, SETTINGS))
    except CatalogUnavailable as error:
        raise EngineError(
            f"no Postgres can be started on {folder}",
            hint=f"{error.hint} Or another one runs on it, has another version, or may not reach it: as "
            "root it runs as nobody. --database postgresql://user@host/tpch takes a server of yours.",
        ) from None
    try:
        yield f"postgresql://{SUPERUSER}@/template1?host={running.directory}"
    finally:
        asyncio.run(running.stop())
