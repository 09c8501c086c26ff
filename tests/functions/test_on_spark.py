"""What Spark is asked means there what it means in DuckDB, which test_functions.py holds against Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dp4sql
from dp4sql.errors import Dp4sqlError
from dp4sql.pipeline import Pipeline
from tests.backends.conftest import missing_spark
from tests.functions import expressions
from tests.functions.conftest import POLICY as ON_DUCKDB
from tests.functions.conftest import TABLE, Run
from tests.functions.expressions import DOUBLE, EXACT, ROWS, listed
from tests.functions.test_functions import same

pytestmark = pytest.mark.skipif(missing_spark() is not None, reason=missing_spark() or "")

#: Spark has no uuid.
COLUMNS = {n: {"type": t, "nullable": n != "k"} for n, t in expressions.COLUMNS.items() if n != "u"}
POLICY = ON_DUCKDB | {"tables": {"edges": {"key": ["k"], "columns": COLUMNS}}}
#: A query of Spark's takes its time, whatever it asks for.
TOGETHER = 25


@pytest.fixture(scope="module")
def on_spark(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    folder: Path = tmp_path_factory.mktemp("edges")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(TABLE)
        connection.execute(f"INSERT INTO edges VALUES {ROWS}")
        connection.execute(f"COPY (SELECT * EXCLUDE u FROM edges) TO '{folder}/edges.parquet'")
    ledger = tmp_path_factory.mktemp("ledger") / "ledger"
    opened = dp4sql.open_pipeline(policy=POLICY, database=f"spark://{folder}", ledger=ledger)
    yield opened
    run(opened.close())


def answered(run: Run, pipeline: Pipeline, asked: list[str]) -> list[tuple[Any, ...]]:
    items = ", ".join(f"{expression} AS x{i}" for i, expression in enumerate(asked))
    return sorted(run(pipeline.query(f"SELECT k, {items} FROM edges")).rows)


def planned(pipeline: Pipeline, expression: str) -> bool:
    try:
        pipeline.explain(f"SELECT k, {expression} AS x FROM edges")
    except Dp4sqlError:
        return False
    return True


def test_what_spark_is_asked_means_the_same(
    run: Run, on_duckdb: Pipeline, on_spark: Pipeline
) -> None:
    known = [e for e in listed(EXACT) + listed(DOUBLE) if planned(on_spark, e)]
    assert len(known) > 200
    wrong = []
    for start in range(0, len(known), TOGETHER):
        some = known[start : start + TOGETHER]
        rows = zip(answered(run, on_spark, some), answered(run, on_duckdb, some), strict=True)
        wrong += [
            f"{e}, row {found[0]}: {a!r}, not {b!r}"
            for found, wanted in rows
            for e, a, b in zip(some, found[1:], wanted[1:], strict=True)
            if not same(a, b, 1e-14)
        ]
    assert not wrong
