"""Repeats and the ledger in both engines: proxies share what is kept, and a crash never keeps what was not charged."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dp4sql
from dp4sql.budget.database import open_database
from dp4sql.budget.ledger import Ledger
from dp4sql.pipeline import Pipeline
from tests.budget.conftest import Where
from tests.budget.killed import killed

POLICY: dict[str, Any] = {
    "dp4sql": 1,
    "tables": {"person": {"key": ["id"], "columns": {"id": "integer"}}},
    "policies": {"person": {"entity": "person", "epsilon": 1, "labels": {"person": "del"}}},
}


@pytest.fixture
def database(tmp_path: Path) -> str:
    with duckdb.connect(str(tmp_path / "people.duckdb")) as db:
        db.execute("CREATE TABLE person AS SELECT i::INTEGER AS id FROM range(100) t(i)")
    return f"duckdb:///{tmp_path}/people.duckdb"


def proxy(database: str, where: Where) -> Pipeline:
    return dp4sql.open_pipeline(policy=POLICY, database=database, ledger=where)


def test_proxies_share_what_is_kept(database: str, where: Where) -> None:
    one, other = proxy(database, where), proxy(database, where)
    first = asyncio.run(one.query("SELECT COUNT(*) FROM person", role="ann"))
    again = asyncio.run(other.query("SELECT COUNT(*) AS n FROM person p", role="bob"))
    assert first.rows == again.rows
    assert "nothing is charged for a repeat" in " ".join(again.notices)
    assert one.ledger.spent(one.backend.identity, "person", "person") == 1
    for pipeline in (one, other):
        asyncio.run(pipeline.close())


LOOP = """
import asyncio, sys
from tests.budget.test_shared_repeats import proxy
pipeline = proxy(sys.argv[1], sys.argv[2])
async def loop():
    for i in range(10**6):
        await pipeline.query(f"SELECT COUNT(*) FROM person WHERE id > {i}")
        print("answered", flush=True)
asyncio.run(loop())
"""


@pytest.mark.parametrize("delay", [0.0, 0.05])
def test_kill_9_keeps_nothing_that_was_not_charged(
    database: str, where: Where, delay: float
) -> None:
    answered = killed(LOOP, database, str(where), delay=delay)
    ledger = Ledger(where)
    charged = sum(entry.kind == "charge" for entry in ledger.entries())
    ledger.close()
    store = open_database(where)
    ((kept,),) = store.run("SELECT COUNT(*) FROM answers")
    store.close()
    assert answered <= kept <= charged <= answered + 1
