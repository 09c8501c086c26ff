"""psycopg2: values written into the text of simple queries, named cursors, COPY."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import psycopg2
import psycopg2.errors
import psycopg2.extensions
import psycopg2.extras
import pytest

from tests.clients.cancelling import cancelling
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
    connection = psycopg2.connect(place.libpq)
    psycopg2.extras.register_uuid(conn_or_curs=connection)
    yield connection
    connection.close()


def fetch(client: Any, sql: str, *values: object) -> list[tuple[Any, ...]]:
    with client.cursor() as cursor:
        cursor.execute(sql, values or None)
        return cursor.fetchall()


def test_connect(client: Any) -> None:
    assert client.info.ssl_in_use
    assert fetch(client, "SELECT current_user") == [("ann",)]


@pytest.mark.parametrize("kind", PARAMETERS)
def test_parameters(client: Any, kind: str) -> None:
    assert fetch(client, counting(kind, "%s"), PARAMETERS[kind][1])[0][0] > 500


def test_results(client: Any) -> None:
    for sql in (ALL_TYPES, ALL_RELEASED):
        assert fetch(client, sql) == [tuple(value for _, value in VALUES.values())]
    assert [name for name, _ in fetch(client, MAJORS)] == NAMES


def test_error(client: Any) -> None:
    with pytest.raises(psycopg2.errors.UndefinedColumn):
        fetch(client, "SELECT count(nosuch) FROM student")
    with pytest.raises(psycopg2.errors.InFailedSqlTransaction):
        fetch(client, "SELECT 1")
    client.rollback()
    assert fetch(client, "SELECT 1") == [(1,)]


def test_prepared(client: Any) -> None:
    with client.cursor() as cursor:
        cursor.execute("PREPARE below AS SELECT count(*) FROM student WHERE uid < $1")
        for bound in (10, 20, 30):
            cursor.execute("EXECUTE below(%s)", (bound,))
            assert len(cursor.fetchall()) == 1


def test_introspection(client: Any) -> None:
    found = fetch(client, "SELECT relname FROM pg_class WHERE oid = 'student'::regclass")
    assert found == [("student",)]


def test_cancel(client: Any) -> None:
    with pytest.raises(psycopg2.errors.QueryCanceled), cancelling(client.cancel):
        fetch(client, "SELECT pg_sleep(30)")
    client.rollback()
    assert fetch(client, "SELECT 1") == [(1,)]


def test_thousand(client: Any) -> None:
    assert [fetch(client, "SELECT %s", i)[0][0] for i in range(1000)] == list(range(1000))


def test_cursor(client: Any) -> None:
    with client.cursor("served", scrollable=True) as cursor:
        cursor.itersize = 3
        cursor.execute(MAJORS)
        assert [name for name, _ in cursor.fetchmany(3)] == NAMES[:3]
        cursor.scroll(0, mode="absolute")
        assert [name for name, _ in cursor] == NAMES


def test_copy(client: Any) -> None:
    received = io.StringIO()
    with client.cursor() as cursor:
        cursor.copy_expert(f"COPY ({MAJORS}) TO STDOUT WITH CSV HEADER", received)
    assert received.getvalue().splitlines()[0] == "major,n"


def test_transaction(client: Any) -> None:
    client.set_session(isolation_level="SERIALIZABLE", readonly=True, autocommit=False)
    assert fetch(client, "SHOW transaction_isolation") == [("serializable",)]
    assert client.get_transaction_status() == psycopg2.extensions.TRANSACTION_STATUS_INTRANS
    client.commit()
    assert client.get_transaction_status() == psycopg2.extensions.TRANSACTION_STATUS_IDLE
