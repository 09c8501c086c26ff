"""A statement that ends after its charge tells the client so, whatever ended it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from dp4sql.session import answers
from tests.policy.support import university
from tests.wire.live import DATABASE, Proxy, proxy

SLOW = "SELECT COUNT(*) FROM range(1000000) AS a, range(1000000) AS b WHERE a.range <> b.range"
CHARGED = "The charge stays, as data may have been read: 1 to policy student."


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with proxy(tmp_path_factory.mktemp("charged"), university()) as running:
        yield running


Read = Callable[[Any, str], list[Any]]


def slow(read: Read, begun: threading.Event) -> Read:
    def reading(cursor: Any, _: str) -> list[Any]:
        begun.set()
        return read(cursor, SLOW)

    return reading


def faulty(*_: object) -> Read:
    def read(*_: object) -> list[Any]:
        raise ValueError("a fault of the proxy")

    return read


@contextmanager
def cancelling(client: psycopg.Connection, begun: threading.Event) -> Iterator[None]:
    """A cancel request once `begun` is set. A timeout, which stops a statement just so, could come before."""

    def request() -> None:
        begun.wait()
        client.cancel_safe()

    begun.clear()
    asking = threading.Thread(target=request)
    asking.start()
    try:
        yield
    finally:
        begun.set()
        asking.join()


LOGGED = pytest.mark.faults("a statement failed inside the proxy")


@pytest.mark.parametrize("alone", [True, False], ids=["one thread", "beside the loop"])
@pytest.mark.parametrize(
    ("engine", "sqlstate"),
    [
        pytest.param(slow, "57014", id="cancelled"),
        pytest.param(faulty, "XX000", id="fault", marks=LOGGED),
    ],
)
def test_the_charge_is_told(
    place: Proxy, engine: Callable[[Read, threading.Event], Read], sqlstate: str, alone: bool
) -> None:
    backend: Any = place.pipeline.backend
    begun = threading.Event()
    with psycopg.connect(
        host="127.0.0.1", port=place.port, user="ann", dbname=DATABASE, autocommit=True
    ) as ann:
        ann.execute("SELECT COUNT(*) FROM section")
        backend.read = engine(backend.read, begun)
        if not alone:
            backend.visit = lambda: None
        with pytest.raises(psycopg.Error) as caught, cancelling(ann, begun):
            ann.execute("SELECT COUNT(*) FROM student")
        assert (caught.value.sqlstate, caught.value.diag.message_detail) == (sqlstate, CHARGED)
        with pytest.raises(psycopg.Error) as caught, cancelling(ann, begun):
            ann.execute("SELECT COUNT(*) FROM section")
        assert caught.value.diag.message_detail is None, "what is free says nothing"
    kinds = [e.kind for e in place.pipeline.ledger.entries() if e.kind not in ("open", "terms")]
    assert kinds == ["charge", "failed"]


def test_a_copy_that_ends_while_it_is_written_says_what_it_cost(
    place: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def copied(*_: object) -> None:
        begun.set()
        go_on.wait()

    monkeypatch.setattr(answers, "PART", 0)
    monkeypatch.setattr(answers, "copied", copied)
    with psycopg.connect(
        host="127.0.0.1", port=place.port, user="ann", dbname=DATABASE, autocommit=True
    ) as ann:
        copy = "COPY (SELECT COUNT(*) FROM student) TO STDOUT"
        canceled = pytest.raises(psycopg.errors.QueryCanceled)
        with canceled as caught, cancelling(ann, begun), ann.cursor().copy(copy) as out:
            list(out)
        go_on.set()
        assert "1 to policy student" in str(caught.value.diag.message_detail)
