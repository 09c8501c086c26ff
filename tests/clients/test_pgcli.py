"""pgcli: what its completion asks when it connects, and a query."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pgcli.pgexecute import PGExecute

from tests.clients.cancelling import cancelling
from tests.clients.place import ALL_RELEASED, ALL_TYPES, MAJORS, NAMES, SHOWN, VALUES, Place


@pytest.fixture
def client(place: Place) -> Iterator[PGExecute]:
    tls = {"sslmode": "verify-full", "sslrootcert": str(place.root)}
    found = PGExecute(place.database, place.user, place.password, place.host, place.port, **tls)
    yield found
    found.conn.close()


def test_connect(client: PGExecute) -> None:
    assert client.user == "ann"
    assert client.get_timezone()


def test_results(client: PGExecute) -> None:
    for sql in (ALL_TYPES, ALL_RELEASED):
        ((_, (row,), headers, *_),) = client.run(sql)
        assert headers == list(VALUES)
        # It shows times and numbers as the server writes them, and the rest as Python has it.
        plain = {"truth": "True", "span": "1 day, 2:00:00", "nothing": "None"}
        assert [str(value) for value in row] == [
            plain.get(name, text) for name, text in zip(VALUES, SHOWN, strict=True)
        ]
    ((_, rows, headers, status, *_),) = client.run(MAJORS)
    assert [name for name, _ in rows] == NAMES
    assert headers == ["major", "n"]
    assert status == "SELECT 8"


def test_introspection(client: PGExecute) -> None:
    assert ("public", "student") in list(client.tables())
    assert ("public", "student", "uid", "integer", False, None) in list(client.table_columns())
    assert len(list(client.foreignkeys())) == 4
    assert ("public", "student") not in list(client.views())
    assert "university" in client.databases()
    assert "public" in client.schemata()
    assert client.search_path()
    assert list(client.functions()) is not None
    assert list(client.datatypes()) is not None
    assert client.full_databases()


def test_error(client: PGExecute) -> None:
    ((_, _, _, message, _, ok, *_),) = client.run(
        "SELECT count(nosuch) FROM student", on_error_resume=True, exception_formatter=str
    )
    assert "nosuch" in message
    assert not ok
    assert next(client.run("SELECT 1"))[3] == "SELECT 1"


def test_prepared(client: PGExecute) -> None:
    next(client.run("PREPARE below AS SELECT count(*) FROM student WHERE uid < $1"))
    for bound in (10, 20, 30):
        assert next(client.run(f"EXECUTE below({bound})"))[3] == "SELECT 1"


def test_cancel(client: PGExecute) -> None:
    with cancelling(client.conn.cancel_safe):
        ((_, _, _, message, _, ok, *_),) = client.run(
            "SELECT pg_sleep(30)", on_error_resume=True, exception_formatter=str
        )
    assert "canceling statement" in message
    assert not ok


def test_thousand(client: PGExecute) -> None:
    statuses = {next(client.run(f"SELECT {i}"))[3] for i in range(1000)}
    assert statuses == {"SELECT 1"}


@pytest.mark.parametrize(
    "command", [r"\d", r"\d student", r"\dt+", r"\dn", r"\du", r"\l", r"\df count"]
)
def test_special(client: PGExecute, command: str) -> None:
    from pgspecial.main import PGSpecial

    assert list(client.run(command, pgspecial=PGSpecial())) != []
