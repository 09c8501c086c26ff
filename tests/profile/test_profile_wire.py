"""The profile functions through real clients, prepared and with parameters."""

from __future__ import annotations

import asyncio

import asyncpg
import psycopg
import pytest

import dp4sql
from dp4sql.server import Options
from dp4sql.serving import Address, proxy
from tests.profile.cats import CERTAIN, rich
from tests.profile.toys import write


def test_clients_prepare_and_fetch(tmp_path, database):
    asyncio.run(_over_the_wire(tmp_path, database))


async def _over_the_wire(tmp_path, database):
    loaded = dp4sql.load_policy(write(tmp_path, rich(roles="agent_{entity}")))
    options = Options(trust=True)
    listen = Address("127.0.0.1", 0)
    async with proxy(loaded, database, tmp_path / "ledger", options, listen) as running:
        at = running.at
        connection = await asyncpg.connect(
            host=at.host, port=at.port, user="agent_c1", database="dp4sql"
        )
        sql = "SELECT field, value, epsilon FROM dp4sql.release_profile(entity => $1, epsilon => $2) WHERE field = $3"
        statement = await connection.prepare(sql)
        assert [a.name for a in statement.get_attributes()] == ["field", "value", "epsilon"]
        assert [tuple(r)[:2] for r in await statement.fetch("c1", CERTAIN, "mood")] == [
            ("mood", "cheerful")
        ]
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await statement.fetch("c2", CERTAIN, "mood")
        await connection.close()
        rows = await asyncio.to_thread(_with_psycopg, at)
        assert rows == [("size", "large")]


def _with_psycopg(at):
    with psycopg.connect(
        host=at.host, port=at.port, user="agent_c1", dbname="dp4sql"
    ) as connection:
        call = "dp4sql.release_profile(entity => %s, epsilon => %s)"
        return connection.execute(
            f"SELECT field, value FROM {call} WHERE field = 'size'", ("c1", CERTAIN)
        ).fetchall()
