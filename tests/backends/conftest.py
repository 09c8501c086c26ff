"""The same rows in every engine that this machine can run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import psycopg
import pytest

from dp4sql.backends import Backend, open_backend

from .servers import server, versions

Run: TypeAlias = Callable[[Coroutine[Any, Any, Any]], Any]

TABLE = """
CREATE TABLE things (
    id INTEGER PRIMARY KEY, big BIGINT, price DECIMAL(15, 2), ratio DOUBLE PRECISION,
    day DATE, moment TIMESTAMP, word VARCHAR, flag BOOLEAN
)
"""
ROWS = """
INSERT INTO things VALUES
    (1, 9223372036854775807, 12345678901.23, 0.5, '1998-12-01', '2024-02-29 13:30:00.25', 'café', TRUE),
    (2, 9223372036854775807, 0.10, -2.25, '1992-01-01', '1999-12-31 23:59:59', 'it''s', FALSE),
    (3, 9223372036854775807, 0.20, 1e300, '2000-02-29', '1970-01-01 00:00:00', '', NULL),
    (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
"""


def duckdb_file(folder: Path) -> str:
    path = folder / "things.duckdb"
    if not path.exists():
        with duckdb.connect(str(path)) as connection:
            connection.execute(TABLE)
            connection.execute(ROWS)
    return f"duckdb://{path}"


def parquet_folder(folder: Path) -> str:
    path = folder / "things"
    if not path.exists():
        path.mkdir()
        with duckdb.connect() as connection:
            connection.execute(TABLE)
            connection.execute(ROWS)
            connection.execute(f"COPY things TO '{path}/things.parquet' (FORMAT parquet)")
    return f"parquet://{path}"


@pytest.fixture(scope="session")
def run() -> Iterator[Run]:
    """Runs a coroutine on the one event loop that the backends under test live on."""
    with asyncio.Runner() as runner:
        yield runner.run


def filled(url: str) -> str:
    with psycopg.connect(url) as connection:
        connection.execute(TABLE)
        connection.execute(ROWS)
    return url


POSTGRES = versions()
ENGINES = ["duckdb", "parquet", *(f"postgres {version}" for version in sorted(POSTGRES))]


@pytest.fixture(scope="session", params=ENGINES)
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database that holds the table things."""
    engine, _, version = request.param.partition(" ")
    match engine:
        case "duckdb":
            yield duckdb_file(tmp_path_factory.mktemp("duckdb"))
        case "parquet":
            yield parquet_folder(tmp_path_factory.mktemp("parquet"))
        case _:
            with server(POSTGRES[version]) as running:
                yield filled(running)


@pytest.fixture(scope="session")
def backend(url: str, run: Run) -> Iterator[Backend]:
    opened = open_backend(url)
    yield opened
    run(opened.close())
