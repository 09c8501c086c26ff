"""Databases of the wild world in DuckDB and Postgres, and pipelines on one after another of them."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any, Literal, Protocol

import duckdb
import psycopg

from dp4sql.backends import Backend
from dp4sql.backends.duckdb import LOCKDOWN, DuckDBBackend, unoptimized
from dp4sql.backends.postgres import PostgresBackend
from dp4sql.rows import OutputColumn, PrivateRows
from tests.backends.servers import server, versions

from .values import Engine, Value
from .world import TABLES, Database, Row

MEMORY = "64MB"
"""What DuckDB may take: what asks for much more because of some rows is to fail."""


class Place(Protocol):
    """One database, and a backend that reads it."""

    backend: Backend

    def load(self, database: Database) -> None: ...

    def drop(self) -> None: ...


class InMemory(DuckDBBackend):
    """A DuckDB without a file."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.identity = "duckdb:///wild"
        self._open(connection, unoptimized(connection))


class DuckDBPlace:
    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:", config={"threads": 1, "memory_limit": MEMORY})
        self._connection.execute(";".join(definitions("duckdb")))
        self.backend: Backend = InMemory(self._connection)
        for setting in LOCKDOWN:
            self._connection.execute(setting)

    def load(self, database: Database) -> None:
        """Tables are made anew, for what DuckDB knows of their extremes outlives the rows."""
        with self._connection.cursor() as cursor:
            cursor.execute(";".join((*definitions("duckdb"), *inserts(database))))

    def drop(self) -> None:
        pass


class PostgresPlace:
    def __init__(self, url: str, name: str) -> None:
        with psycopg.connect(url, autocommit=True) as template:
            template.execute(f"CREATE DATABASE {name}".encode())
        own = url.replace("/template1", f"/{name}")
        self._connection = psycopg.connect(own, autocommit=True)
        self._connection.execute(";".join(definitions("postgres")).encode())
        self.backend: Backend = PostgresBackend(own)

    def load(self, database: Database) -> None:
        self._connection.execute(";".join(inserts(database)).encode())

    def drop(self) -> None:
        self._connection.close()


@contextmanager
def places(engine: Engine, many: int) -> Iterator[list[Place]]:
    """So many databases, empty."""
    if engine == "duckdb":
        yield [DuckDBPlace() for _ in range(many)]
        return
    newest = max(versions(), key=int)
    with server(versions()[newest]) as url:
        found: list[Place] = [PostgresPlace(url, f"wild{i}") for i in range(many)]
        yield found
        for place in found:
            place.drop()


def definitions(engine: Engine) -> Iterator[str]:
    for name, columns in TABLES.items():
        types = ", ".join(
            f'"{c.name}" {c.definition(engine)}{"" if c.nullable else " NOT NULL"}' for c in columns
        )
        word = "CREATE OR REPLACE" if engine == "duckdb" else "CREATE"
        yield f"{word} TABLE {name} ({types})"


def inserts(database: Database) -> Iterator[str]:
    for name, rows in database.items():
        yield f"DELETE FROM {name}"
        if rows:
            yield f"INSERT INTO {name} VALUES {', '.join(map(_row, rows))}"


def _row(row: Row) -> str:
    return f"({', '.join(map(_literal, row))})"


def _literal(value: Value) -> str:
    doubled = (value or "").replace("'", "''")
    return "NULL" if value is None else f"'{doubled}'"


@dataclass(slots=True)
class Switch:
    """A backend whose database changes between statements. `many`: as if there might be many rows, which
    Postgres then sends by COPY."""

    dialect: Literal["duckdb", "postgres", "spark"]
    backend: Backend
    many: bool = True
    asked: list[str] = field(default_factory=list)
    identity: str = "wild"

    async def fetch(
        self, sql: str, columns: Sequence[OutputColumn], *, many: bool = False
    ) -> PrivateRows:
        self.asked.append(sql)
        return await self.backend.fetch(sql, columns, many=many or self.many)

    async def ping(self) -> None:
        await self.backend.ping()

    async def close(self) -> None:
        await self.backend.close()


@contextmanager
def one_thread() -> Iterator[None]:
    """DuckDBs of these rows give them in the same order each time, which several threads do not."""
    connect = duckdb.connect
    duckdb.connect = partial(connect, config={"threads": 1})
    try:
        yield
    finally:
        duckdb.connect = connect


def described(rows: Sequence[Any]) -> tuple[str, ...]:
    """Rows as texts, for NaN is no other NaN's equal. UTC is one, whatever a driver calls it, and so is a number
    with further zeros or another 16th digit."""
    return tuple(repr(tuple(map(_plain, row))) for row in rows)


def _plain(value: Any) -> Any:
    match value:
        case datetime.datetime():
            return value.isoformat()
        case Decimal():
            return f"{value.normalize():.14g}"
        case float():
            return f"{value:.14g}"
        case _:
            return value
