"""Sums whose steps are more than 64 bits count: steps are made longer, before anything is charged."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import dp4sql
from dp4sql.mechanisms.measure import MOST_STEPS
from dp4sql.mechanisms.stages import Release
from dp4sql.pipeline import Pipeline
from dp4sql.pipeline.preparation import prepare

POLICY = {
    "dp4sql": 1,
    "tables": {
        "payment": {
            "key": ["id"],
            "rows": 100_000,
            "columns": {
                "id": "integer",
                "paid": {"type": "numeric(24, 8)", "range": [0, 1_000_000_000]},
                "owed": {"type": "numeric(15, 2)", "range": [0, 10_000_000]},
                "rate": {"type": "double precision", "range": [0, 1]},
            },
        }
    },
    "policies": {
        "payer": {"entity": "payment", "epsilon": 10_000_000, "labels": {"payment": "del"}}
    },
}
QUERIES = (
    "SUM(paid)",
    "AVG(paid)",
    "STDDEV(paid)",
    "VAR_POP(owed)",
    "STDDEV(owed * rate)",
    "CORR(paid, owed)",
    "REGR_SLOPE(paid, owed)",
    "SUM(paid * owed)",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "payments.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute(
            "CREATE TABLE payment (id INTEGER PRIMARY KEY, paid DECIMAL(24, 8) NOT NULL, "
            "owed DECIMAL(15, 2) NOT NULL, rate DOUBLE NOT NULL)"
        )
        database.execute(
            "INSERT INTO payment SELECT i, 1e9 - i * 9999.125, 1e7 - i * 90 - i * 7919 % 991, "
            "(i % 97) / 97 FROM range(100000) t(i)"
        )
    return path


@pytest.fixture
def pipeline(path: Path, tmp_path: Path) -> Iterator[Pipeline]:
    opened = dp4sql.open_pipeline(
        policy=POLICY, database=f"duckdb:///{path}", ledger=tmp_path / "ledger"
    )
    yield opened
    asyncio.run(opened.close())


@pytest.mark.parametrize("item", QUERIES)
def test_wide_numbers_are_added_up(item: str, path: Path, pipeline: Pipeline) -> None:
    ((found,),) = asyncio.run(pipeline.query(f"SELECT {item} FROM payment")).rows
    with duckdb.connect(str(path), read_only=True) as database:
        doubles = item.replace("paid", "paid::double").replace("owed", "owed::double")
        ((truth,),) = database.execute(f"SELECT {doubles} FROM payment").fetchall()
    assert math.isclose(float(found), truth, rel_tol=1e-4)  # type: ignore[arg-type]


@pytest.mark.parametrize("item", QUERIES)
def test_no_sum_of_all_rows_is_beyond_64_bits(item: str) -> None:
    plan = prepare(dp4sql.load_policy(POLICY), f"SELECT {item} FROM payment", ()).plan
    (release,) = (stage for stage in plan.stages if isinstance(stage, Release))
    for m in release.measurements:
        assert max(abs(m.quantity.low), abs(m.quantity.high)) * 100_000 <= MOST_STEPS + 100_000
