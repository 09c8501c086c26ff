"""What is DuckDB's own: files, folders, and what cannot be reached from a query."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pytest

import dp4sql
from dp4sql.backends import open_backend
from dp4sql.backends.duckdb import DuckDBBackend, Scratch, Table
from dp4sql.errors import EngineError, InternalError, InvalidParameter

from .conftest import Run, duckdb_file, parquet_folder


@pytest.mark.parametrize("make", [duckdb_file, parquet_folder])
def test_a_query_reaches_nothing_beyond_the_data(make, run: Run, tmp_path: Path) -> None:
    beyond = tmp_path / "beyond.csv"
    beyond.write_text("word\nsecret\n")
    backend = open_backend(make(tmp_path))
    for sql in (
        f"SELECT * FROM read_csv('{beyond}')",
        f"SELECT * FROM '{beyond}'",
        f"SELECT * FROM read_text('{tmp_path}/things/../beyond.csv')",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM beyond",
        "SELECT * FROM read_csv('https://localhost/x.csv')",
    ):
        with pytest.raises(EngineError):
            run(backend.fetch(sql, ()))
    run(backend.close())


@pytest.mark.parametrize("make", [duckdb_file, parquet_folder])
def test_one_select_and_nothing_else(make, run: Run, tmp_path: Path) -> None:
    backend = open_backend(make(tmp_path))
    for sql in (
        f"COPY things TO '{tmp_path}/things/copy.parquet'",
        "SET threads = 1",
        "ATTACH ':memory:' AS other",
        "INSTALL httpfs",
        "CREATE TEMP TABLE t AS SELECT 1",
        "SELECT 1; SELECT 2",
    ):
        with pytest.raises(InternalError):
            run(backend.fetch(sql, ()))
    run(backend.close())
    assert not list(tmp_path.glob("**/copy.parquet"))


@pytest.mark.parametrize("level", [0, 2])
def test_no_error_of_the_optimizer_tells_of_stored_values(
    level: int, run: Run, tmp_path: Path
) -> None:
    """DuckDB 2.0.1 fails with an internal error where the values of a column rule the condition out."""
    file = tmp_path / "levels.duckdb"
    with duckdb.connect(str(file)) as engine:
        engine.execute("CREATE TABLE p (k INTEGER, l INTEGER)")
        engine.execute("INSERT INTO p VALUES (1, ?)", [level])
        engine.execute("CREATE TABLE s AS SELECT * FROM (VALUES (1, 2), (2, 2)) s(sid, eid)")
        engine.execute("CREATE TABLE t AS SELECT * FROM (VALUES (1, 1), (2, 0), (1, 2)) t(eid, a)")
    grouped = (
        "SELECT s.sid, SUM(t.eid) AS n FROM p FULL JOIN t ON p.k = t.a AND p.l = 0 "
        "LEFT JOIN s ON t.eid = s.eid GROUP BY s.sid"
    )
    sql = f"SELECT g.sid FROM p JOIN ({grouped}) g ON p.k + 1 = g.n WHERE g.sid > 0 ORDER BY 1"
    backend = DuckDBBackend(file)
    found = run(backend.fetch(sql, ())).open_columns()
    run(backend.close())
    assert [list(column) for column in found] == [[1, 2]]


@pytest.mark.parametrize(
    ("day", "count"), [("2020-01-01", 1), ("-infinity", 1), ("5877642-06-25 (BC)", 0)]
)
def test_no_value_that_the_optimizer_computes_with_makes_it_fail(
    day: str, count: int, run: Run, tmp_path: Path
) -> None:
    """It cuts the least day of a column to its week, whatever CASE the statement has for days so early, which
    become the last."""
    file = tmp_path / "days.duckdb"
    with duckdb.connect(str(file)) as engine:
        engine.execute("CREATE TABLE p (id INTEGER, d DATE)")
        engine.execute("INSERT INTO p VALUES (1, ?::DATE)", [day])
    policy = {
        "dp4sql": 1,
        "tables": {"p": {"key": ["id"], "columns": {"id": "integer", "d": "date"}}},
        "policies": {"a": {"entity": "p", "epsilon": 1, "labels": {"p": "del"}}},
    }
    sql = "SELECT COUNT(*) FROM p WHERE DATE_TRUNC('week', d) < DATE '2021-01-01'"
    (read,) = dp4sql.explain(policy, sql).reads
    backend = DuckDBBackend(file)
    found = run(backend.fetch(read, ())).open_columns()
    run(backend.close())
    assert [list(column) for column in found] == [[count]]


def test_python_variables_are_no_tables(run: Run, tmp_path: Path) -> None:
    cursor = duckdb.sql("SELECT 1 AS x")  # the name of a variable where the backend runs queries
    backend = open_backend(duckdb_file(tmp_path))
    with pytest.raises(EngineError):
        run(backend.fetch("SELECT * FROM cursor", ()))
    run(backend.close())
    del cursor


def test_a_folder_for_a_table_may_hold_many_files(run: Run, tmp_path: Path) -> None:
    for part in range(3):
        file = tmp_path / "lake" / "Mixed Case" / f"{part}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        duckdb.sql(f"SELECT {part} AS n").write_parquet(str(file))
    backend = open_backend(f"parquet://{tmp_path}/lake")
    (total,) = run(backend.fetch('SELECT SUM(n) FROM "Mixed Case"', ())).open_columns()
    assert list(total) == [3]
    run(backend.close())


def test_urls(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb_file(tmp_path)
    monkeypatch.chdir(tmp_path)
    urls = (
        f"duckdb://{tmp_path}/things.duckdb",
        f"duckdb:///{tmp_path}/things.duckdb",
        "duckdb:///things.duckdb",
        "duckdb://things.duckdb",
        "duckdb:///./things%2Educkdb",
    )
    opened = [open_backend(url) for url in urls]
    assert {backend.identity for backend in opened} == {f"duckdb://{tmp_path}/things.duckdb"}
    for backend in opened:
        run(backend.close())


def test_a_link_is_the_same_account_as_its_file(run: Run, tmp_path: Path) -> None:
    duckdb_file(tmp_path)
    (tmp_path / "alias.duckdb").symlink_to(tmp_path / "things.duckdb")
    backend = DuckDBBackend(tmp_path / "alias.duckdb")
    assert backend.identity == f"duckdb://{tmp_path}/things.duckdb"
    run(backend.close())


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "text.duckdb").write_text("not a database, but a secret")
    (tmp_path / "empty").mkdir()
    for url, found in (
        (f"duckdb://{tmp_path}/none.duckdb", "there is no database file none.duckdb"),
        (f"duckdb://{tmp_path}/text.duckdb", "text.duckdb cannot be read by DuckDB"),
        (f"parquet://{tmp_path}/empty", "folder empty holds no parquet files"),
        (f"parquet://{tmp_path}/none", "folder none holds no parquet files"),
    ):
        with pytest.raises(EngineError) as raised:
            open_backend(url)
        assert raised.value.message == found
        assert raised.value.hint


@pytest.mark.parametrize("url", ["oracle://host/db", "things.duckdb", "", "mysql://me:secret@host"])
def test_unknown_engines(url: str) -> None:
    with pytest.raises(InvalidParameter) as raised:
        open_backend(url)
    assert "duckdb:///" in (raised.value.hint or "")
    assert "secret" not in str(raised.value)


def test_scratch_tables_last_for_one_evaluation() -> None:
    scratch = Scratch()
    part = {
        "c0": np.array([str(2**127 - 1), None], object),
        "c1": np.array(["it's", ""], object),
        "c2": np.array([2**63 - 1, -1]),
    }
    types = {"c0": ("HUGEINT", "c0"), "c1": ("VARCHAR", "c1"), "c2": ("HUGEINT", "c2 + 1::HUGEINT")}
    found = scratch.evaluate({"stage0": (types, [part, part])}, "SELECT c0, c1, c2 FROM stage0")
    assert found == [[2**127 - 1, None] * 2, ["it's", ""] * 2, [2**63, 0] * 2]
    empty: Table = ({"c0": ("INTEGER", "c0")}, [])
    assert scratch.evaluate({"stage0": empty}, "SELECT COUNT(*) FROM stage0") == [[0]]
    with pytest.raises(EngineError):
        scratch.evaluate({}, "SELECT * FROM stage0")


def test_scratch_reaches_no_files(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a\n1\n")
    with pytest.raises(EngineError):
        Scratch().evaluate({}, f"SELECT * FROM read_csv('{tmp_path}/x.csv')")
