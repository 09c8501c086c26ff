"""A column whose collation takes different texts as equal would put one row into several bins."""

from __future__ import annotations

import asyncio
from pathlib import Path

import asyncpg
import duckdb
import pytest

import dp4sql
from dp4sql.catalog import embedded
from dp4sql.errors import PolicyError

POLICY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "t": {
                "key": ["id"],
                "columns": {"id": "integer", "k": {"type": "text", "domain": ["a", "A"]}},
            }
        },
        "policies": {"p": {"entity": "t", "epsilon": 1, "budget": 1, "labels": {"t": "del"}}},
    }
)


def start(folder: Path, *statements: str) -> None:
    path = folder / "d.duckdb"
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    pipeline = dp4sql.open_pipeline(
        policy=POLICY, database=f"duckdb:///{path}", ledger=folder / "l"
    )
    asyncio.run(pipeline.start())


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NFC"])
def test_a_loose_collation_is_refused_at_start(tmp_path: Path, collation: str) -> None:
    with pytest.raises(PolicyError, match="different texts are equal"):
        start(tmp_path, f"CREATE TABLE t (id INTEGER, k VARCHAR COLLATE {collation})")


def test_a_view_hides_none(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="different texts are equal"):
        start(
            tmp_path,
            "CREATE TABLE u (id INTEGER, k VARCHAR COLLATE NOCASE)",
            "CREATE VIEW t AS SELECT * FROM u",
        )


def test_other_texts_start(tmp_path: Path) -> None:
    start(tmp_path, "CREATE TABLE t (id INTEGER, k VARCHAR)")


@pytest.mark.parametrize(
    ("declared", "stored"),
    [
        ("numeric(10,2)", "DOUBLE"),
        # These would be added up in the engine's own type, which overflows.
        ("numeric(10,0)", "INTEGER"),
        ("numeric(5,0)", "SMALLINT"),
        ("numeric(38,0)", "HUGEINT"),
        ("numeric", "BIGINT"),
        ("double precision", "INTEGER"),
        ("double precision", "DECIMAL(18,2)"),
        ("integer", "BIGINT"),
    ],
)
def test_numbers_are_of_the_declared_kind(tmp_path: Path, declared: str, stored: str) -> None:
    """Arithmetic would fail on a value beyond what it runs in, and the failure would tell of it."""
    policy = dp4sql.load_policy(
        {
            "dp4sql": 1,
            "tables": {"t": {"key": ["id"], "columns": {"id": "integer", "x": declared}}},
            "policies": {"p": {"entity": "t", "epsilon": 1, "budget": 1, "labels": {"t": "del"}}},
        }
    )
    path = tmp_path / "d.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t (id INTEGER, x {stored})")
    pipeline = dp4sql.open_pipeline(
        policy=policy, database=f"duckdb:///{path}", ledger=tmp_path / "l"
    )
    with pytest.raises(PolicyError, match=r"x is .* there"):
        asyncio.run(pipeline.start())
    asyncio.run(pipeline.close())


def test_on_postgres_blanks_at_the_end_are_no_difference(tmp_path: Path) -> None:
    """LIKE sees them in a `bpchar`, and `=` does not; char(n) fills all values up to one length."""

    async def started(type: str) -> None:
        server = await embedded.start()
        try:
            url = f"postgresql://{embedded.SUPERUSER}@/template1?host={server.directory}"
            connection = await asyncpg.connect(url)
            await connection.execute(f"CREATE TABLE t (id integer, k {type})")
            await connection.close()
            pipeline = dp4sql.open_pipeline(policy=POLICY, database=url, ledger=tmp_path / type)
            try:
                await pipeline.start()
            finally:
                await pipeline.close()
        finally:
            await server.stop()

    asyncio.run(started("char(3)"))
    with pytest.raises(PolicyError, match="different texts are equal"):
        asyncio.run(started("bpchar"))
