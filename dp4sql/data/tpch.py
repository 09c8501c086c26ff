"""TPC-H: what tpchgen-cli writes, the rows of the benchmark's own dbgen, in a DuckDB file."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from importlib.resources import files
from pathlib import Path
from typing import Literal

import duckdb

from dp4sql.data.files import build_once
from dp4sql.errors import EngineError, InvalidParameter

TABLES = ("region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem")


def generate(path: Path, scale: str) -> bool:
    """Write the DuckDB file `path` at scale factor `scale` ("0.01"); False when it is there already."""

    def fill(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
        write_files(folder, scale, "parquet")
        connection.execute(ddl())
        for table in TABLES:
            file = str(folder / f"{table}.parquet")
            connection.execute(f"INSERT INTO {table} FROM read_parquet(?)", [file])

    try:
        return build_once(path, fill)
    except duckdb.ConstraintException:
        # dbgen's rule for the suppliers of a part repeats itself where there are few suppliers.
        raise InvalidParameter(
            f"TPC-H at scale {scale} has a part with one supplier twice",
            hint="0.01 is the smallest common scale at which its keys are unique.",
        ) from None


def export(database: Path, folder: Path) -> None:
    """The tables of the DuckDB file as parquet files of the same types, TABLE.parquet in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(database), read_only=True) as connection:
        for table in TABLES:
            file = str(folder / f"{table}.parquet").replace("'", "''")
            connection.execute(f"COPY {table} TO '{file}' (FORMAT parquet)")


def ddl() -> str:
    """CREATE TABLE for each of TABLES, as DuckDB and Postgres both read it."""
    return files("dp4sql.data").joinpath("tpch.sql").read_text()


def write_files(folder: Path, scale: str, format: Literal["parquet", "csv"]) -> None:
    """One file a table in `folder`; the generator's own progress shows on a terminal."""
    command = (_generator(), format, f"--scale-factor={scale}", f"--output-dir={folder}")
    if subprocess.run(command, check=False).returncode:
        raise InvalidParameter(
            f"tpchgen-cli does not write TPC-H at scale {scale}",
            hint="A scale is a number such as 0.01 or 1, and needs about that many gigabytes of disk.",
        )


def _generator() -> str:
    beside = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
    found = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
    if found is None:
        raise EngineError(
            "tpchgen-cli is not installed", hint=f"{sys.executable} -m pip install tpchgen-cli"
        )
    return found
