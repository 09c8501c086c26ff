"""dp4sql: its pipeline on the same server, a new ledger for every job."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from protocol import Rows, job, serve

import dp4sql
from dp4sql.settings import Settings


def unlimited(path: str) -> dict[str, Any]:
    """The policy file without budgets: what is compared is the error at one price, asked many times."""
    content: dict[str, Any] = yaml.safe_load(Path(path).read_text())
    for policy in content["policies"].values():
        policy.pop("budget", None)
    return content


def main() -> None:
    given = job()
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        pipeline = dp4sql.open_pipeline(
            policy=unlimited(given["policy"]),
            database=given["url"],
            ledger=Path(folder) / "ledger.sqlite",
        )
        settings = Settings(reuse="off")

        def answer(sql: str) -> Callable[[], Rows]:
            pipeline.describe(sql)

            async def run() -> Rows:
                released = await pipeline.query(sql, settings=settings)
                return [list(row) for row in released.rows]

            return lambda: runner.run(run())

        runner.run(pipeline.start())
        serve(given, answer)
    os._exit(0)


main()
