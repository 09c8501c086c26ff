"""Two proxies under one policy file: one has the university's rows, the other none."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import psycopg
import pytest

from dp4sql.data import university
from tests.wire.live import DATABASE, Proxy, proxy


@pytest.fixture(scope="package")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with proxy(tmp_path_factory.mktemp("full")) as running:
        yield running


@pytest.fixture(scope="package")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("empty")
    university.generate(folder / "university.duckdb")
    with duckdb.connect(str(folder / "university.duckdb")) as rows:
        for table in ("scholarship", "enrollment", "section", "faculty", "student"):
            rows.execute(f"DELETE FROM {table}")
    with proxy(folder) as running:
        yield running


def connect(running: Proxy) -> psycopg.Connection:
    address = f"host=127.0.0.1 port={running.port} user=ann dbname={DATABASE}"
    return psycopg.connect(address, autocommit=True)


@pytest.fixture(scope="package")
def on_full(full: Proxy) -> Iterator[psycopg.Connection]:
    with connect(full) as client:
        yield client


@pytest.fixture(scope="package")
def on_empty(empty: Proxy) -> Iterator[psycopg.Connection]:
    with connect(empty) as client:
        yield client
