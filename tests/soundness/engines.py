"""The two engines that answer queries: SQLite, a hundred times faster on tiny tables, and DuckDB.

SQLite gets the few functions of the random SQL that it lacks; `agree` in the oracle checks on every query
that both engines give the same answer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, Protocol

import duckdb

from .world import Database, Row, World, create, inserts


class Engine(Protocol):
    def load(self, database: Database) -> None: ...

    def rows(self, sql: str) -> list[tuple[Any, ...]]: ...


class SQLite:
    """One in-memory database; `load` rewrites only the tables that differ from the last one loaded."""

    def __init__(self, world: World) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=512)
        self._connection.execute("PRAGMA synchronous = OFF")
        for name, arity, function in FUNCTIONS:
            self._connection.create_function(name, arity, function, deterministic=True)
        self._loaded: dict[str, tuple[Row, ...]] = {}
        self._inserts: dict[str, str] = {}
        for table in world.tables.values():
            self._connection.execute(create(table))
            marks = ", ".join("?" * len(table.columns))
            self._inserts[table.name] = f"INSERT INTO {table.name} VALUES ({marks})"
            self._loaded[table.name] = ()

    def load(self, database: Database) -> None:
        for name, rows in database.items():
            if self._loaded[name] != rows:
                self._connection.execute(f"DELETE FROM {name}")
                self._connection.executemany(self._inserts[name], rows)
                self._loaded[name] = rows

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql).fetchall()

    def close(self) -> None:
        self._connection.close()


class DuckDB:
    """One in-memory DuckDB for the whole run; a world's tables replace those of the one before."""

    def __init__(self) -> None:
        self._connection = duckdb.connect(":memory:", config={"threads": 1})
        self._world: World | None = None
        self._loaded: Database | None = None

    def use(self, world: World) -> None:
        for table in self._world.tables if self._world else ():
            self._connection.execute(f"DROP TABLE {table}")
        for definition in world.tables.values():
            self._connection.execute(create(definition))
        self._world, self._loaded = world, None

    def load(self, database: Database) -> None:
        assert self._world is not None
        if self._loaded is database:
            return
        self._loaded = database
        cleared = "".join(f"DELETE FROM {name};" for name in self._world.tables)
        self._connection.execute(cleared + "".join(inserts(self._world, database)))

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql).fetchall()

    def table(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """Column names and rows."""
        cursor = self._connection.execute(sql)
        return [column[0] for column in cursor.description or ()], cursor.fetchall()


def _least(*values: Any) -> Any:
    return min((value for value in values if value is not None), default=None)


def _greatest(*values: Any) -> Any:
    return max((value for value in values if value is not None), default=None)


def _date_part(part: str, day: str | None) -> int | None:
    if day is None:
        return None
    return int(dict(zip(("year", "month", "day"), day.split("-"), strict=True))[part])


FUNCTIONS: tuple[tuple[str, int, Callable[..., Any]], ...] = (
    ("least", -1, _least),
    ("greatest", -1, _greatest),
    ("date_part", 2, _date_part),
)
