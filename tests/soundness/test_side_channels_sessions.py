"""The same of sessions: certificates, profiles, COPY, cursors and prepared statements over the wire.

A proxy each on databases that have the same public rows and differ in what is private. What a client is told
beside noisy values, and what is charged, must be the same on all of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from dp4sql.policy import load_policy
from dp4sql.server import Options
from dp4sql.serving import Address, proxy

POLICY: dict[str, Any] = {
    "dp4sql": 1,
    "tables": {
        "member": {
            "key": ["mid"],
            "rows": 50,
            "columns": {
                "mid": "integer",
                "city": {"type": "text", "domain": ["north", "south"]},
                "job": {"type": "text", "nullable": True},
                "age": {"type": "integer", "range": [0, 99], "nullable": True},
            },
        }
    },
    "policies": {
        "member": {
            "entity": "member",
            "epsilon": 1,
            "budget": 100000,
            "labels": {"member": {"rep": ["job", "age"]}},
        }
    },
    "certify": {
        "defaults": {"delta": 0.000001},
        "templates": {
            "old": {
                "text": "At least {theta} of members in {city} are {age} or older.",
                "population": "SELECT * FROM member WHERE city = {city}",
                "predicate": "age >= {age}",
                "slots": {"city": {"values": ["north", "south"]}, "age": {"values": [30, 60]}},
                "theta": [0.1, 0.5],
            }
        },
    },
    "profiles": {
        "card": {
            "entity": "member",
            "fields": {
                "mid": {"column": "member.mid", "identifier": True},
                "city": {"column": "member.city"},
                "job": {
                    "column": "member.job",
                    "domain": "isco08",
                    "scorer": "lexical",
                    "values": "free_text",
                },
                "age": {"column": "member.age", "domain": "age_groups", "scorer": "lexical"},
            },
        }
    },
}
CITIES = ["north", "south", "south", "north"]
#: Jobs and ages by name: one other value, values to stumble over, and nothing at all.
PRIVATE: dict[str, list[tuple[str | None, int | None]]] = {
    "calm": [("teacher", 31), ("nurse", 64), ("farmer", 20), ("miner", 45)],
    "one other": [("teacher", 31), ("nurse", 64), ("farmer", 20), ("judge", 9)],
    "wild": [("", -(2**31)), ("x" * 9000, 2**31 - 1), ("'%\\", None), ("\N{SNOWMAN}", 0)],
    "nothing": [(None, None)] * 4,
}

CERTIFY = "dp4sql.certify(template => 'old', theta => 0.5, epsilon => 1{})"
PLANNED = "ordinal, statement, slots, theta, population, sensitivity, epsilon, mechanism, adjacency"
"""Margins have coins in them, and what a report counts by depends on the others' noisy counts."""
RELEASE = "dp4sql.release_profile(entity => {}, epsilon => 2{})"
DRAWN = "ordinal, entity_label, field, policy, action, domain, block, epsilon, loss_exact, p_best, because"
COUNTS = "SELECT city, COUNT(*) FROM member WHERE age > 30 GROUP BY city"

SHOWN = [
    f"SELECT {PLANNED}, half_emission, optimum FROM {CERTIFY.format('')}",
    *(
        f"SELECT {PLANNED} FROM {CERTIFY.format(f', mechanism => {m!r}')}"
        for m in ("gaussian", "hist", "svt")
    ),
    f"SELECT {PLANNED} FROM {CERTIFY.format(', control => ' + repr('report'))}",
    f"SELECT COUNT(*) FROM {CERTIFY.format(', margin => ' + repr('threshold'))}",
    f"SELECT * FROM {CERTIFY.replace('certify(', 'certify_plan(').format('')}",
    f"SELECT {DRAWN} FROM {RELEASE.format(1, '')}",
    f"SELECT {DRAWN} FROM {RELEASE.format(3, ', mechanism => ' + repr('slot'))}",
    f"SELECT {DRAWN} FROM {RELEASE.format(2, ', mechanism => ' + repr('suppress'))}",
    "SELECT * FROM dp4sql.profile_plan(epsilon => 2)",
    f"EXPLAIN SELECT * FROM {CERTIFY.format('')}",
    f"EXPLAIN {COUNTS}",
]
"""Nothing in these answers is noisy."""
REFUSED = [
    f"SELECT * FROM {RELEASE.format(99, '')}",
    f"SELECT * FROM {RELEASE.format(1, ', calibration => ' + repr('exact'))}",
    f"SELECT job FROM {CERTIFY.format('')}",
    "SELECT * FROM dp4sql.certify(statement => 's', population => 'SELECT * FROM member', "
    "predicate => 'job = none', theta => 0.5, epsilon => 1)",
    "SELECT * FROM dp4sql.certify(statement => 's', population => 'SELECT job FROM member', "
    "predicate => 'job::integer > 5 AND', theta => 0.5, epsilon => 1)",
    "COPY (SELECT job FROM member) TO STDOUT",
    "DECLARE c CURSOR FOR SELECT job FROM member",
    "PREPARE p AS SELECT job, COUNT(*) FROM member GROUP BY job",
]


@pytest.fixture(scope="module")
def proxies(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Runs a client's function at each proxy; what it gives, by the name of the database."""
    policy, folder = load_policy(POLICY), tmp_path_factory.mktemp("side")
    for name, rows in PRIVATE.items():
        with duckdb.connect(str(folder / f"{name}.duckdb")) as db:
            db.execute("CREATE TABLE member (mid INTEGER, city VARCHAR, job VARCHAR, age INTEGER)")
            for mid, (city, (job, age)) in enumerate(zip(CITIES, rows, strict=True), 1):
                db.execute("INSERT INTO member VALUES (?, ?, ?, ?)", (mid, city, job, age))

    async def running(client: Callable[[Address], Any]) -> dict[str, Any]:
        found = {}
        async with AsyncExitStack() as stack:
            for name in PRIVATE:
                place = await stack.enter_async_context(_serving(policy, folder, name))
                seen = await asyncio.to_thread(client, place.at)
                entries = place.server.served.pipeline.ledger.entries()
                charges = [(e.policy, e.member, e.epsilon, e.delta) for e in entries]
                found[name] = (seen, charges)
        return found

    return lambda client: asyncio.run(running(client))


def _serving(policy: Any, folder: Path, name: str) -> Any:
    url, listen = f"duckdb:///{folder / name}.duckdb", Address("127.0.0.1", 0)
    return proxy(policy, url, folder / f"{name}.ledger", Options(trust=True), listen)


def told(at: Address, ask: Callable[[psycopg.Connection[Any], list[str]], Any]) -> Any:
    """What `ask` gives, or the error in full; and the notices."""
    notices: list[str] = []
    with psycopg.connect(
        host=at.host, port=at.port, user="ann", dbname="dp4sql", autocommit=True
    ) as db:
        db.add_notice_handler(lambda d: notices.append(f"{d.severity} {d.message_primary}"))
        try:
            seen = ask(db, notices)
        except psycopg.Error as error:
            d = error.diag
            seen = (d.sqlstate, d.message_primary, d.message_hint, d.message_detail, d.context)
    return seen, notices


def alike(found: dict[str, Any]) -> Any:
    first, *others = found.items()
    for name, seen in others:
        assert seen == first[1], f"{name} can be told from {first[0]}"
    return first[1]


def test_functions_and_refusals_show_nothing_of_the_data(proxies: Callable[..., Any]) -> None:
    def client(at: Address) -> list[Any]:
        def ask(sql: str) -> Callable[[psycopg.Connection[Any], list[str]], Any]:
            return lambda db, _: db.execute(sql.encode()).fetchall()

        return [told(at, ask(sql)) for sql in (*SHOWN, *REFUSED)]

    seen, charges = alike(proxies(client))
    for sql, (answer, _) in zip((*SHOWN, *REFUSED), seen, strict=True):
        assert isinstance(answer, tuple) == (sql in REFUSED), (sql, answer)
    assert {policy for policy, *_ in charges} == {"member", ""}
    assert any(member for _, member, *_ in charges)
    assert any(delta for *_, delta in charges)


def _shape(rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Without the noisy numbers."""
    return [tuple(v if isinstance(v, str) else type(v) for v in row) for row in rows]


def _session(db: psycopg.Connection[Any], notices: list[str]) -> list[Any]:
    """One session that uses all ways to get rows; tags and shapes of what comes."""
    seen: list[Any] = []
    with db.cursor() as cursor, cursor.copy(f"COPY ({COUNTS}) TO STDOUT".encode()) as copy:
        seen.append(_shape([row.decode().split("\t")[:1] for row in map(bytes, copy)]))
    with db.transaction():
        db.execute(f"DECLARE c CURSOR FOR {COUNTS.replace('30', '31')}".encode())
        for fetch in ("FETCH 1 FROM c", "MOVE 1 IN c", "FETCH ALL FROM c", "CLOSE c"):
            cursor = db.execute(fetch.encode())
            rows = cursor.fetchall() if cursor.description else []
            seen.append((cursor.statusmessage, _shape(rows)))
    db.execute(f"PREPARE p AS {COUNTS.replace('30', '$1')}".encode())
    seen.append(_shape(db.execute("EXECUTE p(32)").fetchall()))
    cursor = db.execute(COUNTS.replace("30", "%s").encode(), (33,), prepare=True)
    seen.append((cursor.statusmessage, _shape(cursor.fetchall())))
    cursor = db.execute(f"SELECT COUNT(*) > 0 OR TRUE FROM {CERTIFY.format('')}".encode())
    seen.append((cursor.statusmessage, cursor.fetchall()))
    return seen


def test_copy_cursors_and_prepared_statements_show_nothing(proxies: Callable[..., Any]) -> None:
    (seen, notices), charges = alike(proxies(lambda at: told(at, _session)))
    assert isinstance(seen, list), seen
    assert any("charged" in notice for notice in notices)
    assert charges


def test_the_comparison_notices_a_row_count() -> None:
    with pytest.raises(AssertionError, match="b can be told from a"):
        alike({"a": [("SELECT 2", _shape([("x", 1)]))], "b": [("SELECT 2", _shape([("y", 1)]))]})
