"""pg8000: a protocol implementation in Python of its own."""

from __future__ import annotations

import io
import ssl
from collections.abc import Iterator
from typing import Any

import pg8000.exceptions
import pg8000.native
import pytest

from tests.clients.place import (
    ALL_RELEASED,
    ALL_TYPES,
    MAJORS,
    NAMES,
    PARAMETERS,
    VALUES,
    Place,
    counting,
)


@pytest.fixture
def client(place: Place) -> Iterator[Any]:
    connection = pg8000.native.Connection(
        place.user,
        password=place.password,
        host=place.host,
        port=place.port,
        database=place.database,
        ssl_context=ssl.create_default_context(cafile=str(place.root)),
    )
    yield connection
    connection.close()


def test_connect(client: Any) -> None:
    assert client.run("SELECT current_user") == [["ann"]]


@pytest.mark.parametrize("kind", PARAMETERS)
def test_parameters(client: Any, kind: str) -> None:
    assert client.run(counting(kind, ":value"), value=PARAMETERS[kind][1])[0][0] > 500


def test_results(client: Any) -> None:
    for sql in (ALL_TYPES, ALL_RELEASED):
        assert client.run(sql) == [[value for _, value in VALUES.values()]]
    assert [name for name, _ in client.run(MAJORS)] == NAMES


def test_error(client: Any) -> None:
    with pytest.raises(pg8000.exceptions.DatabaseError) as caught:
        client.run("SELECT count(nosuch) FROM student")
    assert caught.value.args[0]["C"] == "42703"
    assert client.run("SELECT 1") == [[1]]


def test_cancel(client: Any) -> None:
    """It has no way to send a cancel request; a timeout ends a statement just so."""
    client.run("SET statement_timeout = '200ms'")
    with pytest.raises(pg8000.exceptions.DatabaseError) as caught:
        client.run("SELECT pg_sleep(30)")
    assert caught.value.args[0]["C"] == "57014"
    client.run("SET statement_timeout = 0")
    assert client.run("SELECT 1") == [[1]]


def test_prepared(client: Any) -> None:
    statement = client.prepare("SELECT count(*) FROM student WHERE uid < :bound")
    assert all(len(statement.run(bound=bound)) == 1 for bound in (10, 20, 30))
    statement.close()


def test_introspection(client: Any) -> None:
    found = client.run(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    )
    assert ["student"] in found


def test_thousand(client: Any) -> None:
    assert [client.run("SELECT :i::int", i=i) for i in range(1000)] == [[[i]] for i in range(1000)]


def test_copy(client: Any) -> None:
    received = io.BytesIO()
    client.run(f"COPY ({MAJORS}) TO STDOUT", stream=received)
    assert received.getvalue().startswith(b"Biology\t")


def test_transaction(client: Any) -> None:
    client.run("START TRANSACTION")
    with pytest.raises(pg8000.exceptions.DatabaseError):
        client.run("SELECT 1 / 0")
    client.run("ROLLBACK")
    assert client.run("SELECT 1") == [[1]]
