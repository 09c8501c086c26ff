"""A Postgres that the operator provides: filled once, recognised again, refused where it could tell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import dp4sql
from tests.catalog.conftest import connect
from tests.clients.direct import PROGRAMS, postgres
from tests.wire.live import policy, proxy
from tests.wire.secured import PASSWORD, USER

pytestmark = pytest.mark.skipif(
    not (PROGRAMS / "initdb").exists(), reason="no Postgres is installed on this machine"
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """host:port of a server with a role `keeper` and its empty database `catalog`."""
    with postgres() as place:
        with psycopg.connect(
            place.libpq.replace("dbname=university", "dbname=postgres"), autocommit=True
        ) as admin:
            admin.execute("DROP DATABASE university")
            admin.execute(f"CREATE ROLE keeper LOGIN PASSWORD '{PASSWORD}'")
            admin.execute("CREATE DATABASE catalog OWNER keeper")
        yield f"{place.host}:{place.port}"


def test_it_is_filled_once_and_answers(address: str, tmp_path: Path) -> None:
    url = f"postgresql://keeper:{PASSWORD}@{address}/catalog"
    for _ in range(2):
        with proxy(tmp_path, catalog=url) as running, connect(running) as client:
            tables = client.execute(
                "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
            )
            assert tables.fetchone() == (5,)
            with pytest.raises(psycopg.Error):
                client.execute("SELECT pg_read_file('/etc/passwd')")


def test_no_client_writes_what_others_see(address: str, tmp_path: Path) -> None:
    """SELECT INTO makes a table, and the role of all clients owns the database."""
    url = f"postgresql://keeper:{PASSWORD}@{address}/catalog"
    off = "SELECT set_config('default_transaction_read_only', 'off', false)"
    hidden = f"SELECT query_to_xml($q${off}$q$, true, true, '')"
    with proxy(tmp_path, catalog=url) as running, connect(running) as client:
        for lifted in (off, hidden):
            client.execute(lifted.encode())
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                client.execute("SELECT 1 AS x INTO public.planted")


@pytest.mark.parametrize(
    ("user", "database"),
    [(USER, "catalog"), ("keeper", "postgres")],
    ids=["superuser", "beside another database"],
)
def test_what_could_tell_is_refused(address: str, tmp_path: Path, user: str, database: str) -> None:
    url = f"postgresql://{user}:{PASSWORD}@{address}/{database}"
    with proxy(tmp_path, catalog=url) as running, connect(running) as client:
        with pytest.raises(psycopg.Error) as caught:
            client.execute("SELECT count(*) FROM pg_class")
        assert caught.value.sqlstate == "58000"
        assert client.execute("SELECT count(*) FROM student").fetchone() is not None


def test_a_wrong_password_is_the_operator_s_concern(address: str, tmp_path: Path) -> None:
    url = f"postgresql://keeper:wrong@{address}/catalog"
    with proxy(tmp_path, catalog=url) as running, connect(running) as client:
        with pytest.raises(psycopg.Error) as caught:
            client.execute("SELECT count(*) FROM pg_class")
        assert "wrong" not in str(caught.value)


def test_its_tables_follow_the_policy_file(address: str, tmp_path: Path) -> None:
    """What a proxy filled for a policy file before is its own to replace; nobody else's is."""
    url = f"postgresql://keeper:{PASSWORD}@{address}/catalog"
    names = (
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
    )
    with proxy(tmp_path, catalog=url) as running, connect(running) as client:
        before = {name for (name,) in client.execute(names).fetchall()}
        with (
            proxy(tmp_path, fewer(), catalog=url) as other,
            connect(other) as stranger,
            pytest.raises(psycopg.Error, match="not empty"),
        ):
            stranger.execute(names)
        pipeline = running.server.served.pipeline
        for content, gone in ((fewer(), {"scholarship"}), (policy(), set[str]())):
            renewed = pipeline.renewed(dp4sql.load_policy(content))
            running.call(running.server.renew(renewed, None, None))
            assert {name for (name,) in client.execute(names).fetchall()} == before - gone


def fewer() -> dict[str, Any]:
    """The university without scholarships."""
    content = policy()
    del content["tables"]["scholarship"]
    for one in content["policies"].values():
        one["labels"].pop("scholarship", None)
    return content
