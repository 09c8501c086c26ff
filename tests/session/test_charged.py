"""A statement that ends after its charge tells the client so, whatever ended it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator

import psycopg
import pytest

from tests.policy.support import university
from tests.wire.live import DATABASE, Proxy, proxy

CHARGED = "The charge stays, as data may have been read: 1 to policy student."


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with proxy(tmp_path_factory.mktemp("charged"), university()) as running:
        yield running


async def slow(*_: object) -> None:
    await asyncio.sleep(60)


async def faulty(*_: object) -> None:
    raise ValueError("a fault of the proxy")


@pytest.mark.parametrize(
    ("engine", "sqlstate"), [(slow, "57014"), (faulty, "XX000")], ids=["timeout", "fault"]
)
def test_the_charge_is_told(
    place: Proxy, engine: Callable[..., Awaitable[None]], sqlstate: str
) -> None:
    with psycopg.connect(
        host="127.0.0.1", port=place.port, user="ann", dbname=DATABASE, autocommit=True
    ) as ann:
        ann.execute("SELECT COUNT(*) FROM section")
        place.pipeline.backend.fetch = engine  # type: ignore[method-assign, assignment]
        ann.execute("SET statement_timeout = '2s'")
        with pytest.raises(psycopg.Error) as caught:
            ann.execute("SELECT COUNT(*) FROM student")
        assert (caught.value.sqlstate, caught.value.diag.message_detail) == (sqlstate, CHARGED)
        with pytest.raises(psycopg.Error) as caught:
            ann.execute("SELECT COUNT(*) FROM section")
        assert caught.value.diag.message_detail is None, "what is free says nothing"
    kinds = [e.kind for e in place.pipeline.ledger.entries() if e.kind not in ("open", "terms")]
    assert kinds == ["charge", "failed"]
