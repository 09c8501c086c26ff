"""Engines that hold the private data."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlparse

from dp4sql.backends.base import Backend
from dp4sql.errors import InvalidParameter


def open_backend(url: str) -> Backend:
    """`duckdb:///file.duckdb`, `parquet:///folder`, or a path that ends in .duckdb."""
    parsed = urlparse(url)
    if not parsed.scheme and url.endswith((".duckdb", ".db")):
        parsed = parsed._replace(scheme="duckdb", path=url)
    if parsed.scheme in ("duckdb", "parquet"):
        from dp4sql.backends.duckdb import DuckDBBackend

        path = unquote(parsed.netloc + parsed.path if parsed.netloc else parsed.path)
        if (
            parsed.scheme == "duckdb"
            and path.startswith("/")
            and not Path(path).exists()
            and Path(path[1:]).exists()
        ):
            path = path[1:]
        return DuckDBBackend(path, parquet=parsed.scheme == "parquet")
    raise InvalidParameter(
        f"database URL {parsed.scheme or url}: no such engine",
        hint="duckdb:///path/file.duckdb for a DuckDB file, parquet:///path/folder for parquet files.",
    )


__all__ = ["Backend", "open_backend"]
