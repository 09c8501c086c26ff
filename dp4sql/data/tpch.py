"""TPC-H through tpchgen-cli: real dbgen data as parquet, loaded into a DuckDB file."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import duckdb

from dp4sql.data.files import build_once
from dp4sql.errors import EngineError

TABLES = ("region", "nation", "part", "supplier", "partsupp", "customer", "orders", "lineitem")


def generate(path: Path, scale: str) -> bool:
    """Write the DuckDB file `path` at scale factor `scale` ("0.01", "1"); False when it is there already."""

    def fill(connection: duckdb.DuckDBPyConnection) -> None:
        folder = path.with_name(f"tpch-{scale}-parquet")
        _run(folder, scale)
        for table in TABLES:
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM read_parquet('{folder}/{table}.parquet')")
        shutil.rmtree(folder)

    return build_once(path, fill)


def _run(folder: Path, scale: str) -> None:
    command = _command()
    result = subprocess.run(
        [command, "parquet", "-s", scale, f"--output-dir={folder}"], capture_output=True, text=True, check=False
    )
    if result.returncode:
        raise EngineError(
            f"tpchgen-cli failed for scale {scale}",
            hint=f"SCALE is a number such as 0.01 or 1. It said: {result.stderr.strip()[-200:]}",
        )


def _command() -> str:
    beside = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
    found = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
    if found is None:
        raise EngineError(
            "tpchgen-cli is not installed", hint=f"{sys.executable} -m pip install tpchgen-cli"
        )
    return found
