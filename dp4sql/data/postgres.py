"""TPC-H into an empty Postgres: python -m dp4sql.data.postgres postgresql://user@host/tpch 0.01"""

from __future__ import annotations

import logging
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeAlias

import psycopg

from dp4sql.data.tpch import TABLES, ddl, write_files
from dp4sql.errors import Dp4sqlError, EngineError, InvalidParameter

log = logging.getLogger(__name__)

#: Steps done, of how many, and what is done now.
Tell: TypeAlias = Callable[[int, int, str], None]

BLOCK: Final = 1 << 20
#: What joins use, and no primary key begins with.
INDEXES: Final = (
    "nation (n_regionkey)",
    "supplier (s_nationkey)",
    "partsupp (ps_suppkey)",
    "customer (c_nationkey)",
    "orders (o_custkey)",
    "lineitem (l_partkey, l_suppkey)",
)
CONSTRAINTS: Final = """
SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE contype IN ('f', 'p') AND connamespace = 'public'::regnamespace ORDER BY contype, conname
"""
OTHERS: Final = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"


def load(url: str, scale: str, tell: Tell = lambda done, steps, what: None) -> bool:
    """Create, fill, index and analyse the tables; False when they are there already.

    All but the analysis is one transaction. EngineError where the server refuses, or holds other tables.
    """
    try:
        with psycopg.connect(url) as connection, tempfile.TemporaryDirectory() as folder:
            if not _empty(connection):
                return False
            write_files(Path(folder), scale, "csv")
            connection.execute(ddl().encode())
            with _constraints_last(connection, tell):
                _fill(connection, Path(folder), tell)
        with psycopg.connect(url, autocommit=True) as connection:
            tell(0, 1, "VACUUM ANALYZE")
            connection.execute("VACUUM (ANALYZE)")
    except psycopg.Error as error:
        log.error("cannot load TPC-H: %s", error)
        raise EngineError(
            "TPC-H cannot be loaded into that Postgres",
            hint="The URL needs a role that may create tables in schema public. The log says more.",
        ) from None
    return True


def _empty(connection: psycopg.Connection) -> bool:
    if connection.execute("SELECT to_regclass('lineitem')").fetchone() != (None,):
        return False
    if connection.execute(OTHERS).fetchone() != (0,):
        raise EngineError(
            "that Postgres database holds other tables than TPC-H's",
            hint="TPC-H is loaded into an empty database: createdb tpch.",
        )
    return True


# ---------------------------------------------------------------- rows


def _fill(connection: psycopg.Connection, folder: Path, tell: Tell) -> None:
    files = {table: folder / f"{table}.csv" for table in TABLES}
    whole = sum(file.stat().st_size for file in files.values()) // BLOCK + 1
    done = 0
    for table, file in files.items():
        for block in _copied(connection, table, file):
            done += block
            tell(done // BLOCK, whole, f"MB, {table}")


def _copied(connection: psycopg.Connection, table: str, file: Path) -> Iterator[int]:
    """Bytes, as they are sent."""
    statement = f"COPY {table} FROM STDIN (FORMAT csv, HEADER)".encode()
    with file.open("rb") as rows, connection.cursor().copy(statement) as copy:
        while block := rows.read(BLOCK):
            copy.write(block)
            yield len(block)


@contextmanager
def _constraints_last(connection: psycopg.Connection, tell: Tell) -> Iterator[None]:
    """Keys are checked and indexed once, after the rows, which takes a fraction of the time."""
    found = connection.execute(CONSTRAINTS).fetchall()
    for table, name, _ in found:
        connection.execute(f"ALTER TABLE {table} DROP CONSTRAINT {name}".encode())
    yield
    steps = [f"ALTER TABLE {table} ADD {what}" for table, _, what in reversed(found)]
    steps += [f"CREATE INDEX ON {index}" for index in INDEXES]
    for done, step in enumerate(steps):
        tell(done, len(steps), "keys and indexes")
        connection.execute(step.encode())


def main(arguments: list[str]) -> int:
    try:
        if len(arguments) != 2:
            raise InvalidParameter("a URL and a scale are needed", hint=__doc__ or "")
        url, scale = arguments
        loaded = load(url, scale)
    except Dp4sqlError as error:
        print(f"{error.message}\n  hint: {error.hint}", file=sys.stderr)
        return 1
    print("TPC-H loaded" if loaded else "TPC-H is there already")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
