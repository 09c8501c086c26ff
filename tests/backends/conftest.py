"""The same rows in every engine that this machine can run."""

from __future__ import annotations

import asyncio
import importlib.util
import shutil
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import psycopg
import pytest

from dp4sql.backends import Backend, open_backend

from .servers import connect_server, server, versions

Run: TypeAlias = Callable[[Coroutine[Any, Any, Any]], Any]

#: Seconds after which a query that never ends was not stopped.
PATIENCE = 120

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


#: Never ends.
SLOW = "SELECT COUNT(*) AS n FROM things a, things b, " + ", ".join(
    f"(SELECT 1 FROM things x, things y, things z) AS t{i}" for i in range(8)
)
#: Spark takes long to plan many tables, and cannot stop a task within a cross join.
SLOW_SPARK = "SELECT SUM(id % 7) AS n FROM RANGE(1000000000000000)"


@dataclass(frozen=True)
class Engine:
    """An engine under test, and how it differs from the others.

    `wide_sums`: SUM of 64-bit integers is exact beyond 64 bits; elsewhere dp4sql casts before it sums.
    """

    name: str
    wide_sums: bool = True
    slow: str = SLOW
    missing: str | None = None

    def __str__(self) -> str:
        return self.name


def missing_spark() -> str | None:
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed: pip install -e '.[spark]'"
    return None if shutil.which("java") else "there is no Java"


def missing_extension() -> str | None:
    try:
        duckdb.connect(config={"autoinstall_known_extensions": False}).execute("LOAD postgres")
    except duckdb.Error:
        return "this DuckDB has no postgres extension"
    return None


def spark(name: str) -> Engine:
    return Engine(name, wide_sums=False, slow=SLOW_SPARK, missing=missing_spark())


POSTGRES = versions()
ENGINES = [
    Engine("duckdb"),
    Engine("parquet"),
    *(Engine(f"postgres {version}") for version in sorted(POSTGRES)),
    Engine("duckdb+postgres", missing=missing_extension()),
    spark("spark"),
    spark("spark connect"),
]


@pytest.fixture(scope="session", params=ENGINES, ids=str)
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.param
    if found.missing:
        pytest.skip(found.missing)
    return found


@pytest.fixture(scope="session")
def url(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database that holds the table things."""
    folder = tmp_path_factory.mktemp("things")
    match engine.name.split():
        case ["duckdb"]:
            yield duckdb_file(folder)
        case ["parquet"]:
            yield parquet_folder(folder)
        case ["duckdb+postgres"]:
            with server(POSTGRES[max(POSTGRES)]) as running:
                yield f"duckdb+{filled(running)}"
        case ["spark"]:
            yield parquet_folder(folder).replace("parquet:", "spark:")
        case ["spark", _]:
            with connect_server() as port:
                yield parquet_folder(folder).replace("parquet://", f"sc://127.0.0.1:{port}")
        case [_, version]:
            with server(POSTGRES[version]) as running:
                yield filled(running)


@pytest.fixture(scope="session")
def backend(url: str, run: Run) -> Iterator[Backend]:
    opened = open_backend(url)
    yield opened
    run(opened.close())
