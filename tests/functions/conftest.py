"""One table of edge values in DuckDB and in Postgres, public under the policy, and a proxy for each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import asyncpg
import duckdb
import pytest

import dp4sql
from dp4sql.catalog.embedded import SUPERUSER, start
from dp4sql.pipeline import Pipeline
from tests.functions.expressions import COLUMNS, ROWS

Run: TypeAlias = Callable[[Coroutine[Any, Any, Any]], Any]

POLICY = {
    "dp4sql": 1,
    "tables": {
        "edges": {
            "key": ["k"],
            "columns": {n: {"type": t, "nullable": n != "k"} for n, t in COLUMNS.items()},
        }
    },
    "policies": {"p": {"entity": "edges", "epsilon": 1, "labels": {"edges": "pub"}}},
}
TABLE = f"CREATE TABLE edges ({', '.join(f'{name} {type}' for name, type in COLUMNS.items())})"


@pytest.fixture(scope="package")
def run() -> Iterator[Run]:
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture(scope="package")
def url(run: Run) -> Iterator[str]:
    server = run(start())
    yield f"postgresql://{SUPERUSER}@/template1?host={server.directory}"
    run(server.stop())


@pytest.fixture(scope="package")
def plain(run: Run, url: str) -> Iterator[asyncpg.Connection]:
    """Postgres without a proxy."""
    connection = run(asyncpg.connect(url, server_settings={"TimeZone": "UTC"}))
    run(connection.execute(TABLE))
    run(connection.execute(f"INSERT INTO edges VALUES {ROWS}"))
    yield connection
    run(connection.close())


@pytest.fixture(scope="package")
def on_duckdb(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    folder: Path = tmp_path_factory.mktemp("edges")
    with duckdb.connect(str(folder / "edges.duckdb")) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(TABLE)
        connection.execute(f"INSERT INTO edges VALUES {ROWS}")
    opened = dp4sql.open_pipeline(policy=POLICY, database=f"duckdb:///{folder}/edges.duckdb")
    yield opened
    run(opened.close())


@pytest.fixture(scope="package")
def on_postgres(
    run: Run, url: str, plain: asyncpg.Connection, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pipeline]:
    ledger = tmp_path_factory.mktemp("ledger") / "ledger"
    opened = dp4sql.open_pipeline(policy=POLICY, database=url, ledger=ledger)
    yield opened
    run(opened.close())
