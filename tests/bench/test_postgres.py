"""TPC-H on Postgres: loaded once, kept from one run to the next, and answered as on DuckDB."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dp4sql.bench.server import kept_server
from dp4sql.cli import main
from dp4sql.data.postgres import load
from dp4sql.errors import EngineError
from tests.bench.test_tpch import ANSWERED, measured

COUNTED = "SELECT COUNT(*), SUM(l_quantity) FROM lineitem"
KEYS = (
    "SELECT contype, count(*) FROM pg_constraint WHERE contype IN ('f', 'p') "
    "AND connamespace = 'public'::regnamespace GROUP BY 1"
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="dp4sql-test-"))
    folder.chmod(0o755)  # a server of root's runs as somebody else
    try:
        with kept_server(folder / "rows") as first:
            assert load(first, "0.01")
        with kept_server(folder / "rows") as second:
            yield second
    finally:
        shutil.rmtree(folder)


def test_it_is_loaded_once_with_its_keys(url: str) -> None:
    assert not load(url, "0.01")
    with psycopg.connect(url) as client:
        assert client.execute(COUNTED).fetchone() == (60175, 1536127)
        assert dict(client.execute(KEYS).fetchall()) == {"p": 8, "f": 8}


def test_the_database_of_something_else_is_left_alone(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as client:
        client.execute("CREATE DATABASE shop TEMPLATE template0")
    other = url.replace("/template1", "/shop")
    with psycopg.connect(other, autocommit=True) as client:
        client.execute("CREATE TABLE sold (id INTEGER)")
    with pytest.raises(EngineError, match="holds other tables"):
        load(other, "0.01")


def test_an_unreachable_server(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(EngineError, match="cannot be loaded") as e:
        load("postgresql://me:hidden@127.0.0.1:1/tpch", "0.01")
    assert "hidden" not in f"{e.value.message} {e.value.hint} {caplog.text}"


def test_without_noise_the_private_answers_are_the_plain_ones(url: str, tmp_path: Path) -> None:
    results = measured(url, tmp_path / "results.json", 10**15)
    answered = {int(n[1:]): m for n, m in results.queries.items() if m.refused is None}
    assert answered.keys() == ANSWERED
    assert {n: m.errors for n, m in answered.items() if max(m.errors[0], default=0) > 1e-6} == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="one who is not root is the server's own user")
def test_a_folder_that_the_server_may_not_enter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.chmod(0o700)
    command = ["bench", "tpch", "--scale", "0.01", "--engine", "postgres", "--out", str(tmp_path)]
    assert main(command) == 1
    assert "may not enter" in capsys.readouterr().err
