"""The demonstration data keeps what its policies declare, and appears whole or not at all."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dp4sql.data import tpch, university
from dp4sql.data.files import build_once
from dp4sql.errors import InvalidParameter

BOUNDS = {
    "SELECT COUNT(*) FROM enrollment GROUP BY uid": university.MAX_ENROLLED,
    "SELECT COUNT(*) FROM enrollment GROUP BY sid": university.MAX_IN_SECTION,
    "SELECT COUNT(*) FROM section GROUP BY fid": university.MAX_TAUGHT,
    "SELECT COUNT(*) FROM scholarship GROUP BY uid": university.MAX_SCHOLARSHIPS,
}


def content(path: Path) -> list[object]:
    with duckdb.connect(str(path), read_only=True) as connection:
        tables = [name for (name,) in connection.execute("SHOW TABLES").fetchall()]
        return [connection.execute(f"FROM {t} ORDER BY ALL").fetchall() for t in sorted(tables)]


def test_the_university_is_the_same_everywhere_and_within_bounds(tmp_path: Path) -> None:
    one, other = tmp_path / "one.duckdb", tmp_path / "other.duckdb"
    assert university.generate(one)
    assert university.generate(other)
    assert content(one) == content(other)
    with duckdb.connect(str(one), read_only=True) as connection:
        for counts, bound in BOUNDS.items():
            most = connection.execute(f"SELECT MAX(n) FROM ({counts}) AS t(n)").fetchone()
            assert most == (bound,), counts
        rare = "SELECT COUNT(*) FROM student WHERE major = 'Philosophy'"
        assert 5 <= (connection.execute(rare).fetchone() or (0,))[0] <= 25


def test_tpch_has_the_rows_of_dbgen(tmp_path: Path) -> None:
    path = tmp_path / "tpch.duckdb"
    assert tpch.generate(path, "0.01")
    with duckdb.connect(str(path), read_only=True) as connection:
        for table, rows in (("customer", 1500), ("orders", 15000), ("lineitem", 60175)):
            assert connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone() == (rows,)
        first = connection.execute("FROM nation ORDER BY n_nationkey LIMIT 1").fetchone()
        assert first is not None
        assert first[:3] == (0, "ALGERIA", 0)
        price = connection.execute("SELECT typeof(o_totalprice) FROM orders LIMIT 1").fetchone()
        assert price == ("DECIMAL(15,2)",)


def test_what_is_there_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "university.duckdb"
    assert university.generate(path)
    before = path.stat()
    assert not university.generate(path)
    assert path.stat() == before


def test_an_interrupted_run_leaves_nothing(tmp_path: Path) -> None:
    def fill(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
        connection.execute("CREATE TABLE half AS SELECT 1 AS x")
        (folder / "half.parquet").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_once(tmp_path / "x.duckdb", fill)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scale", ["big", "-1", "0.001"])
def test_a_scale_that_gives_no_tpch(tmp_path: Path, scale: str) -> None:
    with pytest.raises(InvalidParameter, match=f"at scale {scale}"):
        tpch.generate(tmp_path / "x.duckdb", scale)
    assert list(tmp_path.iterdir()) == []
