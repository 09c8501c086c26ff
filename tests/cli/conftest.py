"""Data that the commands of this folder are run on, and a Postgres that keeps what it commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from dp4sql.data import university
from tests.budget.conftest import postgres, server

__all__ = ["database", "postgres", "server"]


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("university") / "university.duckdb"
    university.generate(path)
    return f"duckdb://{path}"
