"""pandas.read_sql over SQLAlchemy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa

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
def engine(place: Place) -> Iterator[sa.Engine]:
    tls = {"sslmode": "verify-full", "sslrootcert": str(place.root)}
    found = sa.create_engine(f"postgresql+psycopg://{place.url}", connect_args=tls)
    yield found
    found.dispose()


def test_connect(engine: sa.Engine) -> None:
    assert pd.read_sql("SELECT current_user AS who", engine)["who"][0] == "ann"


def test_prepared(engine: sa.Engine) -> None:
    """psycopg prepares by itself what it is asked for the sixth time."""
    below = sa.text("SELECT count(*) AS n FROM student WHERE uid < :bound")
    with engine.connect() as client:
        found = [pd.read_sql(below, client, params={"bound": 500 + i})["n"][0] for i in range(10)]
    assert min(found) > 0


def test_cancel(engine: sa.Engine) -> None:
    """By the driver, as a notebook's interrupt does it.

    `read_sql` asks first whether there is a table of that name, and takes no notice when that is cancelled.
    """
    with engine.connect() as client:
        driver: Any = client.connection.driver_connection
        failed = pytest.raises(
            (pd.errors.DatabaseError, sa.exc.DBAPIError), match="canceling statement"
        )
        with failed, cancelling(driver.cancel):
            pd.read_sql_query("SELECT pg_sleep(30)", client)
        client.rollback()
        assert pd.read_sql("SELECT 1 AS one", client)["one"][0] == 1


def test_results(engine: sa.Engine) -> None:
    for sql in (ALL_TYPES, ALL_RELEASED):
        row = pd.read_sql(sql, engine).iloc[0]
        assert {name: row[name] for name in VALUES if name != "nothing"} == {
            name: value for name, (_, value) in VALUES.items() if name != "nothing"
        }
        assert pd.isna(row["nothing"])
    frame = pd.read_sql(MAJORS, engine)
    assert list(frame["major"]) == NAMES
    assert frame["n"].dtype.kind == "i"


@pytest.mark.parametrize("kind", PARAMETERS)
def test_parameters(engine: sa.Engine, kind: str) -> None:
    sql = sa.text(counting(kind, ":value"))
    assert pd.read_sql(sql, engine, params={"value": PARAMETERS[kind][1]})["count"][0] > 500


def test_thousand(engine: sa.Engine) -> None:
    one = sa.text("SELECT CAST(:i AS int) AS i")
    with engine.connect() as client:
        found = [pd.read_sql_query(one, client, params={"i": i})["i"][0] for i in range(1000)]
    assert found == list(range(1000))


def test_introspection(engine: sa.Engine) -> None:
    sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
    assert len(pd.read_sql(sql, engine)) == 5


def test_error(engine: sa.Engine) -> None:
    with pytest.raises(pd.errors.DatabaseError, match="nosuch"):
        pd.read_sql("SELECT count(nosuch) FROM student", engine)
    assert pd.read_sql("SELECT 1 AS one", engine)["one"][0] == 1


def test_cursor(engine: sa.Engine) -> None:
    with engine.connect().execution_options(stream_results=True) as client:
        chunks = list(pd.read_sql(MAJORS, client, chunksize=3))
    assert [len(chunk) for chunk in chunks] == [3, 3, 2]
