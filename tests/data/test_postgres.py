"""TPC-H in Postgres: what docker compose loads."""

from __future__ import annotations

import asyncio

import psycopg

from dp4sql.catalog.embedded import SUPERUSER, start
from dp4sql.data.postgres import load


def test_loading_twice() -> None:
    with asyncio.Runner() as runner:
        server = runner.run(start())
        url = f"postgresql://{SUPERUSER}@/template1?host={server.directory}"
        try:
            assert load(url, "0.01")
            assert not load(url, "0.01")
            with psycopg.connect(url) as client:
                counted = client.execute("SELECT COUNT(*), SUM(l_quantity) FROM lineitem")
                assert counted.fetchone() == (60175, 1536127)
        finally:
            runner.run(server.stop())
