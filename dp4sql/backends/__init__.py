"""Engines that hold the private data."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from dp4sql.backends.base import Backend
from dp4sql.errors import EngineError, InvalidParameter


def open_backend(url: str) -> Backend:
    """The engine behind `url`.

    `duckdb:///folder/file.duckdb`, `parquet:///folder`, `postgresql://user@host/database`,
    the same with `duckdb+` in front, `spark:///folder`, `spark://master:7077/folder` or
    `sc://connect:15002/folder`. Servers are connected to at the first use. Raises InvalidParameter for
    a URL of another kind, EngineError where there is no data or a part of dp4sql is not installed.
    """
    scheme = _scheme(url)
    match scheme:
        case "duckdb" | "parquet":
            from dp4sql.backends.duckdb import DuckDBBackend

            return DuckDBBackend(_path(url), parquet=scheme == "parquet")
        case "postgresql" | "postgres":
            from dp4sql.backends.postgres import PostgresBackend

            return PostgresBackend(url)
        case "duckdb+postgresql" | "duckdb+postgres":
            from dp4sql.backends.attached import AttachedBackend

            return AttachedBackend(url)
        case "spark" | "sc":
            return _spark(url)
        case _:
            raise InvalidParameter(
                f'"{scheme}" is not an engine' if scheme else "the database URL names no engine",
                hint="duckdb:///folder/file.duckdb is a DuckDB file, parquet:///folder a folder of "
                "parquet files, postgresql://user@host/database a Postgres database, spark:///folder "
                "parquet files read by Spark.",
            )


def _scheme(url: str) -> str:
    try:
        parsed = urlsplit(url)
        _ = parsed.port
    except ValueError:
        raise InvalidParameter(
            "the database URL names no host and port",
            hint="One server, with its port as a number: postgresql://user@host:5432/database.",
        ) from None
    return parsed.scheme


def _spark(url: str) -> Backend:
    try:
        from dp4sql.backends.spark import SparkBackend
    except ImportError as error:
        raise EngineError(
            f"Spark is not installed with dp4sql: there is no module {error.name}",
            hint="pip install 'dp4sql[spark]'",
        ) from None
    return SparkBackend(url)


def _path(url: str) -> Path:
    """Both readings of three slashes are in use: an absolute path, or one relative to here."""
    written = unquote(url.split("://", 1)[-1])
    absolute, relative = Path(written), Path(written.removeprefix("/"))
    return relative if relative.exists() and not absolute.exists() else absolute


__all__ = ["Backend", "open_backend"]
