"""The university in DuckDB, and pipelines on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import dp4sql
from dp4sql.data import university
from dp4sql.pipeline import Pipeline

POLICY = Path(__file__).parents[2] / "policies" / "university.yaml"


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "university.duckdb"
    university.generate(path)
    return path


@pytest.fixture
def pipeline(database: Path, tmp_path: Path) -> Iterator[Pipeline]:
    opened = dp4sql.open_pipeline(
        policy=POLICY, database=f"duckdb:///{database}", ledger=tmp_path / "ledger"
    )
    yield opened
    asyncio.run(opened.close())
