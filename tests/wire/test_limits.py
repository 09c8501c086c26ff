"""However a client behaves: limits hold, others are not touched, and the ledger has every charge."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dp4sql.budget.ledger import Ledger
from dp4sql.catalog import embedded
from dp4sql.session import prepared
from dp4sql.wire import messages as m
from dp4sql.wire import replies as r
from tests.wire.live import (
    DATABASE,
    SYNC,
    Proxy,
    Raw,
    bind,
    describe,
    error,
    execute,
    parse,
    proxy,
    query,
    rows,
    startup,
    wait_for,
)

ROOT = Path(__file__).parents[2]
PRIVATE = "select count(*) from student"


@contextlib.contextmanager
def another(live: Proxy) -> Iterator[Raw]:
    with Raw(live.port) as client:
        client.log_in()
        yield client


def answers(client: Raw, sql: str = "select 1") -> bool:
    client.send(query(sql))
    return "D" in client.kinds()


def ask(client: Raw, sql: str) -> str:
    """The SQLSTATE of what comes back, empty where nothing went wrong."""
    client.send(query(sql))
    frames = client.until("Z")
    return error(frames)["C"] if "E" in {kind for kind, _ in frames} else ""


# ------------------------------------------------------------------ sizes and numbers


def test_a_message_that_is_too_long_ends_the_connection_before_it_is_read(raw: Raw) -> None:
    raw.send(b"Q" + struct.pack("!i", m.MAX_MESSAGE + 1))
    assert error(raw.rest())["C"] == "08P01"


def test_a_startup_packet_that_is_too_long_too(live: Proxy) -> None:
    with Raw(live.port) as client:
        client.send(struct.pack("!i", m.MAX_STARTUP + 1))
        assert error(client.rest())["C"] == "08P01"


def test_a_statement_that_is_too_long_is_an_error_and_no_more(raw: Raw) -> None:
    assert ask(raw, "select '" + "x" * 1_000_000 + "'") == "0A000"
    assert ask(raw, "select " + "(" * 20_000 + "1" + ")" * 20_000) in ("42601", "54001")
    assert answers(raw)


def test_as_many_parameters_as_a_message_can_count(raw: Raw) -> None:
    many = 65535
    values = "".join(f"${i}::int," for i in range(1, 1600))
    raw.send(parse(f"select {values} 1"), bind(*[b"7"] * many), SYNC)
    assert error(raw.until("Z"))["C"] == "08P01"
    numbers = struct.pack(f"!{many}I", *[23] * many)
    raw.send(r.frame(b"P", b"\0select 1\0" + struct.pack("!H", many) + numbers), SYNC)
    raw.until("Z")
    raw.send(parse("select $65535::int"), SYNC)
    raw.until("Z")
    assert answers(raw)


def test_statements_are_counted(raw: Raw) -> None:
    for i in range(prepared.MAX_STATEMENTS + 1):
        raw.send(parse("select 1", name=f"s{i}"))
    raw.send(SYNC)
    assert error(raw.until("Z"))["C"] == "54000"
    raw.send(query("deallocate all"), parse("select 1", name="again"), SYNC)
    assert raw.kinds() == "CZ"
    assert raw.kinds() == "1Z"


def test_portals_are_counted(raw: Raw) -> None:
    raw.send(parse("select 1"))
    for i in range(prepared.MAX_PORTALS + 1):
        raw.send(bind(portal=f"p{i}"))
    raw.send(SYNC)
    assert error(raw.until("Z"))["C"] == "54000"
    assert answers(raw)


def test_what_open_cursors_hold_is_limited(raw: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "MAX_BYTES", 3 << 20)
    ask(raw, "begin")
    states = []
    for name in "abc":
        wide = f"declare {name} cursor for select repeat('x', 1000) from generate_series(1, 2000)"
        states += [ask(raw, wide), ask(raw, f"fetch 1 from {name}")]
    assert states == ["", "", "", "54000", "25P02", "25P02"]
    ask(raw, "rollback")
    assert answers(raw)


def test_an_answer_that_is_too_long_is_an_error_and_no_more(raw: Raw) -> None:
    assert ask(raw, "select repeat('x', 1000000) from generate_series(1, 100)") == "54000"
    assert answers(raw)


def test_what_open_statements_hold_is_limited(raw: Raw, monkeypatch: pytest.MonkeyPatch) -> None:
    """By their tokens, which take far more than their text."""
    monkeypatch.setattr(prepared, "MAX_BYTES", 1 << 20)
    many = "select count(*) from student where uid in (" + "1," * 4_000 + "1)"
    for name in "abc":
        raw.send(parse(many, name=name))
    raw.send(SYNC)
    assert error(raw.until("Z"))["C"] == "54000"
    assert answers(raw)


def test_savepoints_and_settings_are_limited(raw: Raw) -> None:
    ask(raw, "begin")
    assert ask(raw, "savepoint a;" * 10_000) == ""
    assert ask(raw, "savepoint a") == "54000"
    ask(raw, "rollback")
    assert ask(raw, f"set a.b = '{'x' * 60_000}'") == ""
    assert ask(raw, f"set a.c = '{'x' * 60_000}'") == "54000"
    assert answers(raw)


DOUBLED = "c0 as (select uid from student)" + "".join(
    f", c{i + 1} as (select a.uid from c{i} a join c{i} b on a.uid = b.uid)" for i in range(30)
)


@pytest.mark.parametrize(
    "sql",
    [
        f"with {DOUBLED} select count(*) from c30",
        "select count(*) from " + ", ".join(f"student s{i}" for i in range(101)),
        "select " + ", ".join(f"sum(uid + {i})" for i in range(501)) + " from student",
        "select count(*) from (" + " union all ".join(["select 1 from student"] * 500) + ") u",
        "select count(*) from student where " + " and ".join(["uid > 1"] * 2000),
        "select count(*) from student s"
        + "".join(f" left join enrollment e{i} on e{i}.uid = s.uid" for i in range(60)),
        "with "
        + ", ".join(f"c{i} as (select * from student)" for i in range(3000))
        + " select count(*) from c2999",
        "select count(*) from student where uid = any('{" + "1," * 400_000 + "1}')",
    ],
)
def test_what_is_too_much_to_plan_is_an_error_and_no_more(raw: Raw, sql: str) -> None:
    assert ask(raw, sql) == "54001"
    assert answers(raw)


def test_what_is_nested_is_planned_once(raw: Raw) -> None:
    """Looked at twice at each level, it would take 2^60 steps."""
    nested = "coalesce(" * 60 + "grade" + ", 1)" * 60
    raw.send(query(f"explain select sum({nested}), max({nested}) from enrollment"))
    assert "D" in raw.kinds()


@pytest.mark.parametrize("sets", ["cube", "rollup(major), cube", "grouping sets ((), rollup"])
def test_groupings_are_counted_before_they_are_made(raw: Raw, sets: str) -> None:
    keys = ", ".join(["major"] * 40) + ")" * (sets.count("(") - sets.count(")"))
    assert ask(raw, f"select count(*) from student group by {sets}({keys})") == "0A000"
    assert answers(raw)


def test_an_array_with_a_million_elements_is_an_error_and_no_more(raw: Raw) -> None:
    sql, many = "select count(*) from student where uid = any($1)", 1_000_000
    words = b"{" + b"1," * (many - 1) + b"1}"
    packed = struct.pack("!iiIii", 1, 0, 23, many, 1) + struct.pack("!ii", 4, 1) * many
    for value, code in ((words, 0), (packed, 1)):
        raw.send(parse(sql), bind(value, codes=(code,)), execute(), SYNC)
        assert error(raw.until("Z"))["C"] == "54001"
    assert answers(raw)


def test_one_clients_long_statement_does_not_keep_others_waiting(live: Proxy) -> None:
    """If it did, the other's answer would always come after."""
    with another(live) as busy, another(live) as other:
        assert any(_answers_before(other, busy, start) for start in range(0, 6000, 60))


def _answers_before(other: Raw, busy: Raw, start: int) -> bool:
    sums = ", ".join(f"sum(uid + {start + i})" for i in range(60))
    busy.send(query(f"select {sums} from student"))
    assert answers(other)
    before = busy.silent(0.001)
    assert "D" in busy.kinds()
    return before


def test_a_catalog_query_takes_no_more_memory_than_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "MEMORY_KB", 150_000)
    with proxy(tmp_path) as small, another(small) as client:
        assert ask(client, "select length(repeat(repeat('x', 1000000), 100))") == "53200"
        assert answers(client, "select now()")


# ------------------------------------------------------------------ time


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with proxy(tmp_path_factory.mktemp("hurried"), login_timeout=0.6, max_logins=3) as running:
        yield running


def test_who_sends_byte_after_byte_runs_out_of_time(hurried: Proxy) -> None:
    packet = startup(user="ann", database=DATABASE, application_name="x" * 2000)
    with Raw(hurried.port) as slow, pytest.raises(OSError):
        _dribble(slow, packet)


def _dribble(client: Raw, data: bytes) -> None:
    for byte in data:
        client.send(bytes([byte]))
        time.sleep(0.05)


def test_who_says_nothing_keeps_others_waiting_for_a_while_and_not_out(hurried: Proxy) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(6):
            stack.enter_context(Raw(hurried.port))
        assert any(_let_in(hurried) for _ in range(100))
    assert any(_let_in(hurried) for _ in range(100))


def _let_in(hurried: Proxy) -> bool:
    """On a slow machine even who hurries may be too late."""
    with contextlib.suppress(EOFError, ConnectionError), another(hurried) as client:
        return answers(client)
    return False


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ("set idle_session_timeout = '100ms'", "57P05"),
        ("begin; set local idle_in_transaction_session_timeout = '100ms'", "25P03"),
    ],
)
def test_a_session_may_ask_to_be_ended_when_idle(raw: Raw, sql: str, state: str) -> None:
    raw.send(query(sql))
    raw.until("Z")
    assert error(raw.rest())["C"] == state


def test_a_session_in_no_transaction_may_rest(raw: Raw) -> None:
    assert ask(raw, "set idle_in_transaction_session_timeout = '50ms'") == ""
    time.sleep(0.2)
    assert answers(raw)


@pytest.mark.parametrize(
    "sql", ["set statement_timeout = 'soon'", "set idle_session_timeout = '-1'"]
)
def test_times_that_are_none(raw: Raw, sql: str) -> None:
    assert ask(raw, sql) == "22023"


# ------------------------------------------------------------------ clients that go away


def test_a_client_that_goes_in_the_middle_of_an_answer_takes_nobody_along(live: Proxy) -> None:
    with another(live) as other:
        with another(live) as reader:
            reader.send(query("select repeat('x', 10000) from generate_series(1, 3000)"))
            reader.socket.recv(1)
        wait_for(lambda: reader.pid not in live.server.clients)
        assert answers(other)


def test_a_client_that_does_not_read_takes_nobody_along(live: Proxy) -> None:
    with another(live) as deaf, another(live) as other:
        for _ in range(4):
            deaf.send(query("select repeat('x', 10000) from generate_series(1, 2000)"))
        assert answers(other)
        assert answers(other, PRIVATE)


def test_a_client_that_goes_while_the_engine_works_has_been_charged(live: Proxy) -> None:
    charged = len(live.pipeline.ledger.entries())
    with another(live) as client:
        client.send(query(PRIVATE), query(PRIVATE), query("select pg_sleep(30)"))
        assert "D" in client.kinds()
    wait_for(lambda: client.pid not in live.server.clients)

    def told() -> bool:
        kinds = [entry.kind for entry in live.pipeline.ledger.entries()[charged:]]
        return kinds.count("charge") == kinds.count("answered") + kinds.count("failed")

    wait_for(told)  # a thread that was charging goes on by itself for a moment


def test_bytes_of_another_protocol(live: Proxy) -> None:
    for sent in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\0", b"\0" * 64, b"\xff" * 64):
        with Raw(live.port) as stranger:
            stranger.send(sent)
            with contextlib.suppress(OSError):
                stranger.socket.shutdown(1)
                stranger.rest()
    with another(live) as client:
        assert answers(client)


# ------------------------------------------------------------------ servers that go away


def test_a_killed_catalog_is_started_again(tmp_path: Path) -> None:
    with proxy(tmp_path) as running, another(running) as first, another(running) as second:
        before = _started(first)
        assert before == _started(second)
        os.kill(_postmaster(running), signal.SIGKILL)
        for client in (first, second):
            # The dead server's sessions answer until they notice, and end during a statement perhaps.
            wait_for(lambda client=client: _started(client) not in (before, None))  # type: ignore[misc]
            assert _started(client) not in (before, None)
        assert _started(first) == _started(second)
        assert answers(first, PRIVATE)


def _started(client: Raw) -> bytes | None:
    """When the catalog's Postgres was started; None where the statement ended with its session there."""
    client.send(query("select pg_postmaster_start_time()"))
    frames = client.until("Z")
    if found := rows(frames):
        return found[0][0]
    assert error(frames)["C"] in ("57P01", "58000")
    return None


def _postmaster(running: Proxy) -> int:
    found = running.server.catalog._running
    assert found is not None
    return int((found.directory / "data" / "postmaster.pid").read_text().split()[0])


@pytest.mark.faults("a statement failed inside the proxy")
def test_an_error_inside_the_proxy_is_one_statement_s(
    live: Proxy, raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret")

    with monkeypatch.context() as patch:
        patch.setattr(live.pipeline, "describe", broken)
        raw.send(parse(PRIVATE), describe("S"), execute(), SYNC)
        found = error(raw.until("Z"))
        assert found["C"] == "XX000"
        assert "secret" not in str(found)
    assert answers(raw, PRIVATE)


# ------------------------------------------------------------------ a full disk

FULL = """
import resource, sys
from pathlib import Path
from tests.wire.live import proxy

folder = Path(sys.argv[1])
with proxy(folder) as running:
    running.call(running.pipeline.start())
    largest = max(file.stat().st_size for file in folder.glob("*ledger*"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 40_000, resource.RLIM_INFINITY))
    print(running.port, flush=True)
    sys.stdin.read()
"""


def test_a_full_disk_ends_the_answers_and_not_the_session(tmp_path: Path) -> None:
    """A limit on file size stands for the disk. Every answer has its charge."""
    command = [sys.executable, "-c", FULL, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with Raw(int(process.stdout.readline())) as client:
            client.log_in()
            assert ask(client, "set dp4sql.reuse = off") == ""
            states = [ask(client, PRIVATE) for _ in range(150)]
            assert ask(client, "show application_name") == ""
        process.stdin.close()
    answered = states.count("")
    assert 0 < answered < 150
    assert set(states) == {"", "58030"}
    charges = [e for e in Ledger(tmp_path / "test.ledger").entries() if e.kind == "charge"]
    assert len({e.query for e in charges}) == answered
