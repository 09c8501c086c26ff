"""Engines that hold the private data."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from dp4sql.backends.base import Backend
from dp4sql.errors import InvalidParameter


def open_backend(url: str) -> Backend:
    """The engine behind `url`.

    `duckdb:///folder/file.duckdb`, `parquet:///folder`, or `postgresql://user@host/database`, which is
    connected to at the first use. Raises InvalidParameter for a URL of another kind, EngineError
    where there is no data.
    """
    scheme = urlsplit(url).scheme
    match scheme:
        case "duckdb" | "parquet":
            from dp4sql.backends.duckdb import DuckDBBackend

            return DuckDBBackend(_path(url), parquet=scheme == "parquet")
        case "postgresql" | "postgres":
            from dp4sql.backends.postgres import PostgresBackend

            return PostgresBackend(url)
        case _:
            raise InvalidParameter(
                f'"{scheme}" is not an engine' if scheme else "the database URL names no engine",
                hint="duckdb:///folder/file.duckdb is a DuckDB file, parquet:///folder a folder of "
                "parquet files, postgresql://user@host/database a Postgres database.",
            )


def _path(url: str) -> Path:
    """Both readings of three slashes are in use: an absolute path, or one relative to here."""
    written = unquote(url.split("://", 1)[-1])
    absolute, relative = Path(written), Path(written.removeprefix("/"))
    return relative if relative.exists() and not absolute.exists() else absolute


__all__ = ["Backend", "open_backend"]
