"""What is told of a database URL that leads nowhere."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from dp4sql.backends import open_backend
from dp4sql.errors import Dp4sqlError, EngineError, InvalidParameter

from .conftest import missing_extension


def test_another_kind_of_url() -> None:
    with pytest.raises(InvalidParameter, match='"mysql" is not an engine') as raised:
        open_backend("mysql://shop")
    for scheme in ("duckdb:///", "parquet:///", "postgresql://", "spark:///"):
        assert scheme in (raised.value.hint or "")


@pytest.mark.parametrize(
    "place",
    ["host:port/shop", "host:99999/shop", "one:5432,two:5432/shop", "[::1/shop"],
)
@pytest.mark.parametrize("scheme", ["postgresql", "duckdb+postgresql", "spark", "sc"])
def test_a_port_that_is_none(scheme: str, place: str) -> None:
    with pytest.raises(InvalidParameter, match="names no host and port"):
        open_backend(f"{scheme}://{place}")


def test_a_part_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    monkeypatch.delitem(sys.modules, "dp4sql.backends.spark", raising=False)
    with pytest.raises(EngineError, match="Spark is not installed") as raised:
        open_backend(f"spark://{tmp_path}")
    assert raised.value.hint == "pip install 'dp4sql[spark]'"


@pytest.mark.skipif(missing_extension() is None, reason="the extension is there")
def test_an_extension_that_is_not_there(caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.ERROR),
        pytest.raises(EngineError, match="no postgres extension") as raised,
    ):
        open_backend("duckdb+postgresql://me:hidden@127.0.0.1:1/shop")
    assert "download" not in caplog.text, "nothing is fetched"
    assert "hidden" not in f"{raised.value.message} {raised.value.hint}"


@pytest.mark.parametrize("scheme", ["duckdb", "parquet", "spark"])
def test_a_place_without_data(scheme: str, tmp_path: Path) -> None:
    if scheme == "spark":
        pytest.importorskip("pyspark")
    with pytest.raises(Dp4sqlError, match=r"no parquet files|no database file"):
        open_backend(f"{scheme}://{tmp_path}/nothing")
