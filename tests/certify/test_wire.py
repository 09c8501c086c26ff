"""Certificates through real clients: slots are jsonb, in text and in binary, and their fields are free to use."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from typing import Any, TypeVar

import asyncpg
import duckdb
import psycopg
import pytest

from dp4sql.algebra.jsonb import jsonb, printed
from dp4sql.policy import load_policy
from dp4sql.server import Options
from dp4sql.serving import Address, proxy
from tests.certify.toys import POLICY, clinic

SCORES = "dp4sql.certify(template => 'scores', theta => 0.2, epsilon => 2.0)"
SLOTS = {"k": {"name": "x", "label": "short"}, "band": {"lo": 0, "hi": 4}}

T = TypeVar("T")


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Runs a client's function with the address of a proxy."""
    folder = tmp_path_factory.mktemp("clinic")
    with duckdb.connect(str(folder / "clinic.duckdb")) as connection:
        clinic(random.Random(5), people=40, visits=100).fill(connection)
    database, policy = f"duckdb:///{folder / 'clinic.duckdb'}", load_policy(POLICY)

    def run(client: Callable[[Address], T]) -> T:
        async def serve() -> T:
            listen = Address("127.0.0.1", 0)
            async with proxy(
                policy, database, folder / "l", Options(trust=True), listen
            ) as running:
                return await asyncio.to_thread(client, running.at)

        return asyncio.run(serve())

    return run


def connected(at: Address) -> psycopg.Connection[tuple[Any, ...]]:
    return psycopg.connect(host=at.host, port=at.port, user="ann", dbname="dp4sql", autocommit=True)


def one(sql: str, binary: bool = False) -> Callable[[Address], tuple[Any, ...]]:
    def client(at: Address) -> tuple[Any, ...]:
        with connected(at) as db:
            cursor = db.cursor(binary=binary)
            found: tuple[Any, ...] = cursor.execute(sql.encode()).fetchone()  # type: ignore[assignment]
            assert cursor.description is not None
            return (*found, *(column.type_code for column in cursor.description))

    return client


@pytest.mark.parametrize("binary", [False, True])
def test_slots_are_a_dict_to_psycopg(ask: Callable[..., Any], binary: bool) -> None:
    assert ask(one(f"SELECT slots FROM {SCORES} ORDER BY ordinal LIMIT 1", binary)) == (SLOTS, 3802)
    plan = SCORES.replace("certify(", "certify_plan(")
    assert ask(one(f"SELECT slots FROM {plan} ORDER BY ordinal LIMIT 1", binary)) == (SLOTS, 3802)


def test_asyncpg_reads_them_in_binary(ask: Callable[..., Any]) -> None:
    async def fetch(at: Address) -> str:
        db = await asyncpg.connect(host=at.host, port=at.port, user="ann", database="dp4sql")
        found = await db.fetchval(f"SELECT slots FROM {SCORES} ORDER BY ordinal")
        await db.close()
        assert isinstance(found, str)
        return found

    assert json.loads(ask(lambda at: asyncio.run(fetch(at)))) == SLOTS


def test_fields_are_read_compared_grouped_and_joined(ask: Callable[..., Any]) -> None:
    found = ask(
        one(
            "SELECT slots->>'k', slots->'k', slots->'band'->>'hi', slots::text, slots->>'none' "
            f"FROM {SCORES} WHERE slots->'k'->>'name' = 'x' AND (slots->'band'->>'lo')::integer < 1"
        )
    )
    assert (json.loads(found[0]), *found[1:5]) == (SLOTS["k"], SLOTS["k"], "4", jsonb(SLOTS), None)
    assert found[5:] == (25, 3802, 25, 25, 25)
    counted = f"SELECT slots->'k'->>'label', COUNT(*) FROM {SCORES} GROUP BY 1 ORDER BY 1"
    assert ask(one(counted))[1] == 3
    joined = f"SELECT k.label FROM {SCORES} c JOIN kind k ON k.name = c.slots->'k'->>'name'"
    assert ask(one(joined))[0] in ("short", "long")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT slots->0 FROM {}", "name of a field as a constant"),
        ("SELECT slots->>statement FROM {}", "name of a field as a constant"),
        ("SELECT statement->>'k' FROM {}", "operator does not exist: text ->> unknown"),
        ("SELECT 1 FROM {} WHERE slots = '{{}}'", "type jsonb are not compared"),
        ("SELECT 1 FROM {} WHERE slots IN ('{{}}')", "type jsonb are not compared"),
        ("SELECT slots::integer FROM {}", "cannot cast type jsonb to integer"),
        ("SELECT lower(slots) FROM {}", "function lower(jsonb) does not exist"),
    ],
)
def test_what_has_no_meaning_is_refused(ask: Callable[..., Any], sql: str, said: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        ask(one(sql.format(SCORES)))
    assert said in str(caught.value)


def test_jsonb_is_printed_as_postgres_prints_it() -> None:
    assert jsonb({"bb": 1, "a": [True, None, "é\n"], "ab": {}}) == (
        '{"a": [true, null, "é\\n"], "ab": {}, "bb": 1}'
    )
    assert printed('{"b":{"d":1,"c":"x"},"a":2}') == '{"a": 2, "b": {"c": "x", "d": 1}}'
