"""TPC-H into an empty Postgres: python -m dp4sql.data.postgres postgresql://user@host/tpch 0.01"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import psycopg

from dp4sql.data.tpch import TABLES, ddl, write_files


def load(url: str, scale: str) -> bool:
    """Create and fill the tables in one transaction; False when they are there already."""
    with psycopg.connect(url) as connection, tempfile.TemporaryDirectory() as folder:
        if connection.execute("SELECT to_regclass('lineitem')").fetchone() != (None,):
            return False
        write_files(Path(folder), scale, "csv")
        connection.execute(ddl())
        for table in TABLES:
            _copy(connection, table, Path(folder) / f"{table}.csv")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE")
    return True


def _copy(connection: psycopg.Connection, table: str, file: Path) -> None:
    statement = f"COPY {table} FROM STDIN (FORMAT csv, HEADER)".encode()
    with file.open("rb") as rows, connection.cursor().copy(statement) as copy:
        while block := rows.read(1 << 20):
            copy.write(block)


if __name__ == "__main__":
    print("TPC-H loaded" if load(*sys.argv[1:]) else "TPC-H is there already")
