"""A proxy while it runs: another policy file, the pages for probes, the audit log, observing."""

from __future__ import annotations

import asyncio
import copy
import json
import re
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
import yaml

import dp4sql
from dp4sql.errors import AuditBroken, PolicyError
from dp4sql.server import Options, health
from dp4sql.serving import Address, Files, Running, Watch, proxy
from dp4sql.wire.auth import Verifier
from tests.pipeline.test_journal import COUNT, POLICY

HERE = Address("127.0.0.1", 0)


def changed(**entries: Any) -> dict[str, Any]:
    content = copy.deepcopy(POLICY)
    for place, value in entries.items():
        *above, last = place.split("__")
        here = content
        for step in above:
            here = here[step]
        here[last] = value
    return content


class Place:
    """A database, a policy file and a ledger in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "policy.yaml"
        self.log = folder / "audit.jsonl"
        with duckdb.connect(str(folder / "people.duckdb")) as db:
            db.execute("CREATE TABLE person (id INTEGER, city VARCHAR)")
            db.execute("INSERT INTO person VALUES (1, 'Ulm')")
            db.execute("CREATE TABLE visit (id INTEGER)")
        self.write(POLICY)

    def write(self, content: dict[str, Any]) -> None:
        self.file.write_text(yaml.safe_dump(content))

    @asynccontextmanager
    async def running(self, **watch: Any) -> AsyncIterator[Running]:
        policy = dp4sql.load_policy(self.file)
        options, url = Options(trust=True), f"duckdb://{self.folder}/people.duckdb"
        async with proxy(policy, url, None, options, HERE, Watch(pages=HERE, **watch)) as running:
            yield running

    async def renew(self, running: Running) -> None:
        await running.renew(lambda: Files(dp4sql.load_policy(self.file)))

    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine what is well may be slow."""
    monkeypatch.setattr(health, "SECONDS", 60.0)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def connect(running: Running, user: str = "ann", **more: Any) -> psycopg.AsyncConnection[Any]:
    return await psycopg.AsyncConnection.connect(
        host=running.at.host,
        port=running.at.port,
        user=user,
        dbname="dp4sql",
        autocommit=True,
        **more,
    )


def page(running: Running, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://{running.pages}{path}", timeout=60) as found:
            return found.status, found.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


# ---------------------------------------------------------------- another policy file


def test_another_policy_file_holds_from_the_next_statement_on(place: Place) -> None:
    async def run() -> None:
        async with place.running() as running, await connect(running) as client:
            await client.execute(COUNT)
            labels = {"person": "del", "visit": "pub"}
            place.write(
                changed(
                    policies__person__budget=2,
                    policies__person__labels=labels,
                    tables__visit=VISIT,
                )
            )
            await place.renew(running)
            assert (await (await client.execute("SELECT COUNT(*) FROM visit")).fetchone()) == (0,)
            await client.execute("SET dp4sql.reuse = off")
            await client.execute(COUNT)
            with pytest.raises(psycopg.Error, match="0 of 2 is left"):
                await client.execute(COUNT)
            described = await client.execute("SELECT FROM pg_class WHERE relname = 'visit'")
            assert described.rowcount == 1

    asyncio.run(run())


VISIT = {"key": ["id"], "columns": {"id": "integer"}}


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (changed(policies__person__budget=-1), r"policy\.yaml:\d+: budget is -1"),
        (changed(tables__none={"key": ["id"], "columns": {"id": "integer"}}), "no such table"),
        ({}, '"tables" is missing'),
        (None, "No such file"),
    ],
)
def test_a_file_that_is_no_good_changes_nothing(
    place: Place, content: Any, found: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        async with place.running() as running, await connect(running) as client:
            before = running.server.served
            if content is None:
                place.file.unlink()
            else:
                place.write(content)
            await place.renew(running)
            assert running.server.served is before
            await client.execute(COUNT)
            assert (
                'reloads_total{outcome="refused"} 1.0'
                in running.metrics.text(before.pipeline, 0).decode()
            )
            entries = before.pipeline.ledger.entries()
            assert [entry.kind for entry in entries] == ["open", "charge", "answered"]

    asyncio.run(run())
    assert "not reloaded, everything stays as it was" in caplog.text
    assert re.search(found, caplog.text)


def test_a_looser_policy_is_flagged_when_it_is_taken(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        async with place.running() as running, await connect(running) as client:
            await client.execute(COUNT)
            place.write(changed(policies__person__budget=50))
            await place.renew(running)
            notices: list[str] = []
            client.add_notice_handler(lambda n: notices.append(n.message_primary or ""))
            await client.execute("SET dp4sql.reuse = off")
            await client.execute(COUNT)
            assert "48 of 50 left" in "\n".join(notices)

    asyncio.run(run())
    assert "policy person is looser than before: its budget was 3 and is 50" in caplog.text


def test_statements_that_run_go_on_under_the_old_file(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with place.running() as running, await connect(running) as client:
            backend = running.server.served.pipeline.backend
            reading, go_on, fetch = asyncio.Event(), asyncio.Event(), backend.fetch

            async def slow(*arguments: Any, **how: Any) -> Any:
                reading.set()
                await go_on.wait()
                return await fetch(*arguments, **how)

            monkeypatch.setattr(backend, "visit", lambda: None)
            monkeypatch.setattr(backend, "fetch", slow)
            asked = asyncio.create_task(client.execute(COUNT))
            await reading.wait()
            monkeypatch.setattr(backend, "fetch", fetch)
            place.write(changed(policies__person__labels__person="pub", tables__visit=VISIT))
            await place.renew(running)
            go_on.set()
            notices: list[str] = []
            client.add_notice_handler(lambda n: notices.append(n.message_primary or ""))
            await asked
            assert "2 of 3 left" in "\n".join(notices)
            assert await (await client.execute(COUNT)).fetchone() == (1,)

    asyncio.run(run())


def test_a_prepared_statement_of_another_shape_is_refused(place: Place) -> None:
    async def run() -> None:
        async with place.running() as running, await connect(running) as client:
            sql = "SELECT city, COUNT(*) FROM person WHERE id > %s GROUP BY city"
            await client.execute(sql, (0,), prepare=True)
            place.write(changed(policies__person__budget=2))
            await place.renew(running)
            await client.execute(sql, (0,), prepare=True)
            place.write(changed(tables__person__columns__city__type="varchar(9)"))
            await place.renew(running)
            with pytest.raises(psycopg.Error) as caught:
                await client.execute(sql, (0,), prepare=True)
            assert caught.value.sqlstate == "0A000"

    asyncio.run(run())


def test_other_users_may_log_in(place: Place) -> None:
    async def run() -> None:
        policy = dp4sql.load_policy(place.file)
        options = Options(users={"ann": Verifier.of_password("a")})
        url = f"duckdb://{place.folder}/people.duckdb"
        async with proxy(policy, url, None, options, HERE) as running:
            with pytest.raises(psycopg.OperationalError):
                await connect(running, "bob", password="b")
            await running.renew(lambda: Files(policy, {"bob": Verifier.of_password("b")}))
            await (await connect(running, "bob", password="b")).close()
            with pytest.raises(psycopg.OperationalError):
                await connect(running, "ann", password="a")

    asyncio.run(run())


def test_logins_that_are_refused_are_logged_and_counted(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        options = Options(users={"ann": Verifier.of_password("a")})
        url, watch = f"duckdb://{place.folder}/people.duckdb", Watch(pages=HERE)
        policy = dp4sql.load_policy(place.file)
        async with proxy(policy, url, None, options, HERE, watch) as running:
            for password in "bc":
                with pytest.raises(psycopg.OperationalError):
                    await connect(running, "ann", password=password)
            await (await connect(running, "ann", password="a")).close()
            _, shown = await asyncio.to_thread(page, running, "/metrics")
            assert "dp4sql_logins_refused_total 2.0" in shown

    asyncio.run(run())
    said = 'login refused from 127.0.0.1: password authentication failed for user "ann"'
    assert [r.getMessage() for r in caplog.records].count(said) == 2


# ---------------------------------------------------------------- pages


def test_pages_for_probes_and_monitoring(place: Place) -> None:
    async def run() -> None:
        async with place.running() as running, await connect(running) as client:
            await client.execute(COUNT)
            with pytest.raises(psycopg.Error):
                await client.execute("SELECT city FROM person")
            with pytest.raises(psycopg.Error):
                await client.execute("DELETE FROM person")
            get = lambda path: asyncio.to_thread(page, running, path)  # noqa: E731
            assert await get("/healthz") == (200, "ok\n")
            assert await get("/readyz") == (200, "engine: ok\nledger: ok\n")
            status, shown = await get("/metrics")
            assert status == 200
            for line in (
                'dp4sql_statements_total{outcome="answered"} 1.0',
                'dp4sql_statements_total{outcome="refused"} 2.0',
                'dp4sql_charged_loss_total{measure="epsilon",policy="person"} 1.0',
                'dp4sql_spent_loss{measure="epsilon",policy="person"} 1.0',
                'dp4sql_budget_loss{measure="epsilon",policy="person"} 3.0',
                "dp4sql_clients 1.0",
            ):
                assert line in shown.splitlines()
            assert (await get("/"))[0] == 404

    asyncio.run(run())


def test_it_is_not_ready_without_engine_or_ledger(place: Place) -> None:
    async def run() -> None:
        async with place.running() as running:
            pipeline = running.server.served.pipeline
            pipeline.ledger.close()
            status, shown = await asyncio.to_thread(page, running, "/readyz")
            assert status == 503
            assert shown.startswith("engine: ok\nledger: the ledger people.duckdb.ledger ")
            assert (await asyncio.to_thread(page, running, "/metrics"))[0] == 503
            assert await asyncio.to_thread(page, running, "/healthz") == (200, "ok\n")

    asyncio.run(run())


def test_half_a_request_and_nonsense_harm_nobody(place: Place) -> None:
    async def run() -> None:
        async with place.running() as running:
            assert running.pages is not None
            for sent in (
                b"",
                b"GET",
                b"\0\r\n\r\n",
                b"POST /metrics HTTP/1.1\r\n\r\n",
                b"x" * 9000,
            ):
                reader, writer = await asyncio.open_connection(
                    running.pages.host, running.pages.port
                )
                writer.write(sent)
                writer.write_eof()
                answer = await reader.read()
                assert b" 200 " not in answer
                writer.close()
            assert await asyncio.to_thread(page, running, "/healthz") == (200, "ok\n")

    asyncio.run(run())


# ---------------------------------------------------------------- audit log, observing


def test_the_audit_log_has_statements_that_never_reach_the_pipeline(place: Place) -> None:
    async def run() -> None:
        async with place.running(audit=place.log) as running, await connect(running) as client:
            refused = (
                "DELETE FROM person",
                "SELECT city FROM person",
                "SELECT COUNT(*) FROM person, pg_class",
            )
            for sql in refused:
                with pytest.raises(psycopg.Error):
                    await client.execute(sql)
            with pytest.raises(psycopg.Error):
                await client.execute("SELECT city FROM person WHERE id = %s", (1,))
            await client.execute("SELECT relname FROM pg_class")
            await client.execute(COUNT)
            await place.renew(running)
            place.log.rename(place.folder / "old")
            await place.renew(running)
            await client.execute(COUNT)

    asyncio.run(run())
    assert [r["outcome"] for r in place.records()] == ["asked", "answered"]
    place.log = place.folder / "old"
    found = place.records()
    assert [r["outcome"] for r in found] == ["refused"] * 4 + ["asked", "answered"]
    assert [r["statement"] for r in found[:3]] == [
        "DELETE FROM person",
        "SELECT city FROM person",
        "SELECT COUNT(*) FROM person, pg_class",
    ]
    assert {r["role"] for r in found} == {"ann"}
    assert "Ulm" not in place.log.read_text()


def test_no_proxy_without_its_log(place: Place) -> None:
    async def run() -> None:
        async with place.running(audit=place.folder / "none" / "log"):
            pass

    with pytest.raises(AuditBroken):
        asyncio.run(run())


def test_observing_over_the_wire(place: Place) -> None:
    async def run() -> None:
        async with place.running(observe=True) as running, await connect(running) as client:
            notices: list[str] = []
            client.add_notice_handler(lambda n: notices.append(n.message_primary or ""))
            for _ in range(5):
                assert await (await client.execute(COUNT)).fetchall() == []
            assert "it would charge 1 to policy person" in notices
            assert "noise scale 1" in "\n".join(notices)
            assert running.server.served.pipeline.ledger.entries() == []

    asyncio.run(run())


def test_the_schema_is_checked_before_anybody_may_connect(place: Place) -> None:
    place.write(changed(tables__none={"key": ["id"], "columns": {"id": "integer"}}))

    async def run() -> None:
        async with place.running():
            pass

    with pytest.raises(PolicyError, match="no such table"):
        asyncio.run(run())
