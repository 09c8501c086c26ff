"""The functions in FROM over a Postgres database, asked by real drivers through the proxy."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest

from dp4sql.policy import load_policy
from dp4sql.server import Options
from dp4sql.serving import Address, proxy
from tests.backends.servers import server, versions
from tests.certify.toys import POLICY, clinic
from tests.profile import toys
from tests.profile.cats import CATS, MEALS

POSTGRES = versions()
NEWEST = sorted(POSTGRES)[-1:]

TABLES = """
CREATE TABLE person (pid integer PRIMARY KEY, grp text);
CREATE TABLE visit (vid integer PRIMARY KEY, pid integer, kind text, score integer);
CREATE TABLE kind (name text PRIMARY KEY, label text);
INSERT INTO kind VALUES ('x', 'short'), ('y', 'long');
CREATE TABLE cat (id text PRIMARY KEY, nick text, toy text, mood text, size text);
CREATE TABLE meal (mid integer PRIMARY KEY, cid text, amount text);
"""


@pytest.fixture(scope="module", params=NEWEST)
def database(request: pytest.FixtureRequest) -> Iterator[str]:
    """Clinic and cats in one database."""
    with server(POSTGRES[request.param]) as url:
        data = clinic(random.Random(5), people=40, visits=100)
        with psycopg.connect(url) as connection, connection.cursor() as cursor:
            cursor.execute(TABLES)
            for table, rows in {
                "person": data.people,
                "visit": data.visits,
                "cat": CATS,
                "meal": MEALS,
            }.items():
                marks = ", ".join(["%s"] * len(rows[0]))
                cursor.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
        yield url


def policy() -> dict[str, Any]:
    """Both toy policies in one file."""
    cats = toys.policy()
    return {
        **POLICY,
        "tables": POLICY["tables"] | cats["tables"],
        "policies": {
            name: {**p, "budget": 10_000}
            for name, p in (POLICY["policies"] | cats["policies"]).items()
        },
        "profiles": cats["profiles"],
    }


def test_certificates_and_profiles_over_postgres(database: str, tmp_path: Path) -> None:
    asyncio.run(_asked(database, tmp_path))


async def _asked(database: str, folder: Path) -> None:
    policies = load_policy(toys.write(folder, policy()))
    options, free = Options(trust=True), Address("127.0.0.1", 0)
    async with proxy(policies, database, folder / "ledger", options, free) as running:
        at = running.at
        await _with_asyncpg(at)
        await asyncio.to_thread(_with_psycopg, at)
        if shutil.which("psql"):
            await asyncio.to_thread(_with_psql, at)


CERTIFY = """
SELECT statement, slots, decision, count_lower, support_lower, p_value
  FROM dp4sql.certify(template => 'scores', theta => {}, epsilon => {}, bind => {})
 WHERE decision = 'emit' ORDER BY support_lower DESC, ordinal"""
SHORT = '{"k": "short"}'


async def _with_asyncpg(at: Address) -> None:
    """Prepared, described before anything is run, binary values both ways, run twice."""
    connection = await asyncpg.connect(host=at.host, port=at.port, user="ann", database="dp4sql")
    prepared = await connection.prepare(CERTIFY.format("$1", "$2", "$3"))
    assert [(a.name, a.type.name) for a in prepared.get_attributes()][2:] == [
        ("decision", "text"),
        ("count_lower", "int8"),
        ("support_lower", "numeric"),
        ("p_value", "float8"),
    ]
    first = await prepared.fetch(Decimal("0.05"), Decimal(900), SHORT)
    assert len(first) >= 1
    assert {json.loads(row["slots"])["k"]["name"] for row in first} == {"x"}
    assert [row["count_lower"] for row in first] == sorted(
        (row["count_lower"] for row in first), reverse=True
    )
    assert await prepared.fetch(Decimal("0.05"), Decimal(900), SHORT) == first
    with pytest.raises(asyncpg.InvalidParameterValueError, match="argument theta is 2"):
        await prepared.fetch(Decimal(2), Decimal(900), SHORT)
    profile = await connection.fetch(
        "SELECT field, value FROM dp4sql.release_profile(entity => $1, epsilon => 900) WHERE code = $2",
        "c1",
        "up",
    )
    assert [tuple(row) for row in profile] == [("toy", "cheerful"), ("mood", "cheerful")]
    await connection.close()


def _with_psycopg(at: Address) -> None:
    """The same request of another client is answered again from what is kept."""
    connect = psycopg.connect(host=at.host, port=at.port, user="bob", dbname="dp4sql")
    with connect as connection:
        told: list[str] = []
        connection.add_notice_handler(lambda notice: told.append(notice.message_primary or ""))
        query = CERTIFY.format("%s", "%s", "%s")
        found = connection.execute(query, (Decimal("0.05"), 900, SHORT), prepare=True).fetchall()
        assert len(found) >= 1
        assert "the same request was answered before: its rows are shown again, free" in told
        steps = "SELECT margin FROM dp4sql.certify_plan(template => %s, theta => %s, epsilon => %s)"
        (row, *_) = connection.execute(steps, ("scores", Decimal("0.2"), 1)).fetchall()
        assert row == (7,)


def _with_psql(at: Address) -> None:
    found = subprocess.run(
        ["psql", "-X", "-At", "-h", at.host, "-p", str(at.port), "-U", "ann", "-d", "dp4sql"],
        input=f"""\\set theta 0.05
PREPARE c AS {CERTIFY.format("$1", "$2", "$3")};
EXECUTE c(:theta, 900, '{SHORT}');
EXPLAIN SELECT * FROM dp4sql.certify(template => 'scores', theta => :theta, epsilon => 1);
""",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "At least 5 % of short visits score" in found.stdout, found.stderr
    assert "support count: 3 under policy person" in found.stdout
