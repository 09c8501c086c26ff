"""A database of cats and pipelines on it."""

from __future__ import annotations

import asyncio

import duckdb
import pytest

from tests.profile.cats import CATS, MEALS, opened, rich


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "cats.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE cat (id TEXT, nick TEXT, toy TEXT, mood TEXT, size TEXT)")
        db.execute("CREATE TABLE meal (mid INTEGER, cid TEXT, amount TEXT)")
        db.executemany("INSERT INTO cat VALUES (?, ?, ?, ?, ?)", CATS)
        db.executemany("INSERT INTO meal VALUES (?, ?, ?)", MEALS)
    return f"duckdb:///{path}"


@pytest.fixture
def pipeline(tmp_path, database):
    found = opened(tmp_path, database)
    yield found
    asyncio.run(found.close())


@pytest.fixture
def certain(tmp_path, database):
    found = opened(tmp_path, database, rich())
    yield found
    asyncio.run(found.close())
