"""The university in DuckDB, and pipelines on it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
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


def at_epsilon(database: Path, folder: Path, epsilon: int) -> Pipeline:
    """Without a budget. At epsilon 1000 what is true shows."""
    policy = dp4sql.load_policy(POLICY)
    policies = tuple(replace(p, epsilon=Fraction(epsilon), budget=None) for p in policy.policies)
    return dp4sql.open_pipeline(
        policy=replace(policy, policies=policies),
        database=f"duckdb:///{database}",
        ledger=folder / "ledger",
    )


@pytest.fixture
def loud(database: Path, tmp_path: Path) -> Iterator[Pipeline]:
    opened = at_epsilon(database, tmp_path, 1000)
    yield opened
    asyncio.run(opened.close())


@pytest.fixture
def pipeline(database: Path, tmp_path: Path) -> Iterator[Pipeline]:
    opened = dp4sql.open_pipeline(
        policy=POLICY, database=f"duckdb:///{database}", ledger=tmp_path / "ledger"
    )
    yield opened
    asyncio.run(opened.close())
