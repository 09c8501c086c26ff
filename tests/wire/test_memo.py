"""Remembered replies are those that the session would give, whatever was asked before."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dp4sql.server.client import Client
from dp4sql.session.memo import MOST, MOST_ASKED, MOST_REPLIED, Kept, Memo
from dp4sql.session.session import Session
from dp4sql.wire import messages as m
from dp4sql.wire import replies as r
from tests.wire.live import (
    FLUSH,
    SYNC,
    Frame,
    Proxy,
    Raw,
    bind,
    describe,
    error,
    execute,
    parse,
    query,
    rows,
    wait_for,
)

ONE = query("select 1")
UNNAMED = parse("select 1") + bind() + describe("P") + execute() + SYNC
NAMED = bind(statement="s") + execute() + SYNC
TEXT = "select count(*) from student where major = 'CS'"


class Forgetful(Memo):
    def find(self, data: bytes, served: object) -> Kept | None:
        return None


@pytest.fixture
def read(live: Proxy, raw: Raw, monkeypatch: pytest.MonkeyPatch) -> list[m.Message]:
    """The messages that the session had to read."""
    found: list[m.Message] = []
    handle, own = Session.handle, live.server.clients[raw.pid]._session

    async def noted(session: Session, event: m.Message) -> None:
        if session is own:
            found.append(event)
        await handle(session, event)

    monkeypatch.setattr(Session, "handle", noted)
    return found


def ask(client: Raw, *chunks: bytes, replies: int = 1) -> list[Frame]:
    for chunk in chunks:
        client.send(chunk)
        if len(chunks) > 1:
            time.sleep(0.005)
    return [frame for _ in range(replies) for frame in client.until("Z")]


def serving(live: Proxy, raw: Raw) -> Any:
    """What serves the client."""
    return live.server.clients[raw.pid]


# ---------------------------------------------------------------- what is remembered


@pytest.mark.parametrize("request_", [ONE, UNNAMED, query("select 'a' as b, null")])
def test_the_same_request_is_read_once(raw: Raw, read: list[m.Message], request_: bytes) -> None:
    first = ask(raw, request_)
    before = len(read)
    assert before > 0
    assert ask(raw, request_) == first == ask(raw, request_)
    assert len(read) == before


def test_named_statements_too(raw: Raw, read: list[m.Message]) -> None:
    ask(raw, parse("select 7", "s") + SYNC)
    first = ask(raw, NAMED)
    before = len(read)
    assert rows(ask(raw, NAMED)) == rows(first) == [[b"7"]]
    assert len(read) == before
    ask(raw, query("deallocate s"))
    ask(raw, parse("select 8", "s") + SYNC)
    assert rows(ask(raw, NAMED)) == [[b"8"]]


OTHERS = {
    "private": query(TEXT),
    "described": parse(TEXT) + describe("S") + SYNC,
    "catalog": query("select current_user"),
    "setting": query("set application_name = 'memo'"),
    "shown": query("show application_name"),
    "error": query("selec 1"),
    "late error": parse("select 1") + bind(statement="none") + SYNC,
    "transaction": query("begin; select 1; commit"),
    "empty": query(""),
    "flush": parse("select 1") + FLUSH + bind() + execute() + SYNC,
    "portal": parse("select 1") + bind(portal="p") + execute(portal="p") + SYNC,
    "name": parse("select 1", "named") + SYNC,
    "cast": query("select 1::text"),
    "moment": query("select current_date"),
    "leftover": bind() + execute() + SYNC,
}


@pytest.mark.parametrize("request_", OTHERS.values(), ids=OTHERS)
def test_anything_else_is_read_each_time_and_forgets_the_rest(
    raw: Raw, read: list[m.Message], request_: bytes
) -> None:
    for again in range(2):
        ask(raw, ONE)
        before = len(read)
        ask(raw, request_)
        assert len(read) > before
        before = len(read)
        ask(raw, ONE)
        assert len(read) == before + 1, again


# ---------------------------------------------------------------- the same with and without

STEPS: dict[str, tuple[list[bytes], int]] = {
    "one": ([ONE], 1),
    "two": ([query("select 2")], 1),
    "both": ([ONE + query("select 2")], 2),
    "one in parts": ([ONE[:3], ONE[3:]], 1),
    "one and a part": ([ONE + ONE[:6], ONE[6:]], 2),
    "unnamed": ([UNNAMED], 1),
    "unnamed in parts": ([UNNAMED[:30], UNNAMED[30:]], 1),
    "unnamed two": ([parse("select 2") + bind() + execute() + SYNC], 1),
    "twice": ([UNNAMED + UNNAMED], 2),
    "leftover": ([bind() + execute() + SYNC], 1),
    "parse, then the rest": ([parse("select 3"), bind() + execute() + SYNC], 1),
    "limited": ([parse("select 4") + bind() + execute(1) + execute(1) + SYNC], 1),
    "binary": ([parse("select 5") + bind(results=(1,)) + execute() + SYNC], 1),
    "name": ([parse("select 6", "s") + SYNC], 1),
    "name two": ([parse("select 'six'", "s") + SYNC], 1),
    "named": ([NAMED], 1),
    "describe": ([describe("S", "s") + SYNC], 1),
    "close": ([r.frame(b"C", b"Ss\0") + SYNC], 1),
    "begin": ([query("begin")], 1),
    "commit": ([query("commit")], 1),
    "rollback": ([query("rollback")], 1),
    "wrong": ([query("selec")], 1),
    "wrong parse": ([parse("selec") + bind() + execute() + SYNC], 1),
    "badly encoded": ([r.frame(b"P", b"\0\xff\0\0\0"), NAMED], 1),
    "set": ([query("set application_name = 'a'")], 1),
    "set back": ([query("reset application_name")], 1),
    "discard": ([query("discard all")], 1),
    "hold": ([query("declare c cursor with hold for select 1")], 1),
    "fetch": ([query("fetch all c")], 1),
    "execute c": ([execute(1, "c") + SYNC], 1),
    "sync": ([SYNC], 1),
    "describe unnamed": ([describe("S") + SYNC], 1),
}


def compare(live: Proxy, names: list[str]) -> None:
    with Raw(live.port) as one, Raw(live.port) as other:
        one.log_in()
        other.log_in()
        serving(live, other)._session._memo = Forgetful()
        for name in names:
            chunks, replies = STEPS[name]
            said = ask(one, *chunks, replies=replies)
            assert said == ask(other, *chunks, replies=replies), name


@pytest.mark.parametrize(
    "names",
    [
        ["name", "badly encoded", "named"],
        ["unnamed", "leftover", "unnamed two", "leftover"],
        ["unnamed", "unnamed", "leftover"],
        ["unnamed two", "one", "leftover", "one", "leftover"],
        ["name", "named", "close", "name two", "named"],
        ["begin", "one", "rollback", "one", "begin", "wrong", "one", "rollback"],
        ["hold", "execute c", "execute c"],
    ],
)
def test_what_would_go_wrong_by_remembering_too_much(live: Proxy, names: list[str]) -> None:
    compare(live, names)


@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=25))
@settings(suppress_health_check=list(HealthCheck), max_examples=60)
def test_sessions_with_and_without_memory_say_the_same(live: Proxy, names: list[str]) -> None:
    compare(live, names)


# ---------------------------------------------------------------- bounds


def test_few_and_short_requests_are_kept(live: Proxy, raw: Raw) -> None:
    memo = serving(live, raw)._session._memo
    for i in range(3 * MOST):
        ask(raw, query(f"select {i}"))
    ask(raw, query(f"select '{'x' * MOST_ASKED}'"))
    named = ", ".join(["1"] * 60)
    assert len(query(f"select {named}")) <= MOST_ASKED
    assert sum(len(body) for _, body in ask(raw, query(f"select {named}"))) > MOST_REPLIED
    assert list(memo._found) == [query(f"select {i}") for i in range(2 * MOST, 3 * MOST)]


def test_another_policy_file_is_another_memory() -> None:
    memo, old, new = Memo(), object(), object()
    memo.rests = True
    assert memo.find(ONE, old) is None
    memo.ask(ONE)
    memo.see(m.Query("select 1"))
    memo.rests = True
    memo.keep(b"reply", None)
    assert memo.find(ONE, old) == Kept(b"reply", True, None)
    assert memo.find(ONE, new) is None
    assert memo.find(ONE, old) is None


def test_a_client_that_does_not_read_is_not_answered_from_memory(live: Proxy, raw: Raw) -> None:
    ask(raw, ONE)
    client: Client = serving(live, raw)

    async def pause(paused: bool) -> None:
        (client.pause_writing if paused else client.resume_writing)()

    live.call(pause(True))
    raw.send(ONE)
    live.call(asyncio.sleep(0.05))
    raw.send(ONE)
    live.call(asyncio.sleep(0.05))
    assert raw.silent(0.05) or client._connection.unread
    live.call(pause(False))
    assert len(raw.until("Z") + raw.until("Z")) == 8


def test_answers_from_memory_are_signs_of_life(
    live: Proxy, raw: Raw, read: list[m.Message]
) -> None:
    client = serving(live, raw)

    async def patience() -> float | None:
        return client._patience and client._patience.when()

    ask(raw, query("set idle_session_timeout = '1h'"))
    ask(raw, ONE)
    wait_for(lambda: live.call(patience()) is not None)
    before, asked = live.call(patience()), len(read)
    time.sleep(0.05)
    assert rows(ask(raw, ONE)) == [[b"1"]]
    assert live.call(patience()) > before
    assert len(read) == asked, "it was read"


def test_a_server_that_closes_says_so(raw: Raw, live: Proxy) -> None:
    ask(raw, ONE)
    client: Client = serving(live, raw)

    async def end() -> None:
        client.shut_down()

    live.call(end())
    assert error(raw.rest())["C"] == "57P01"
