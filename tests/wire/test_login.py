"""Who gets in, how, and what the others are told."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dp4sql.catalog.embedded import SUPERUSER
from dp4sql.catalog.service import OWNER
from dp4sql.errors import InvalidParameter
from dp4sql.server import Options, Server, Tls, login
from dp4sql.wire import messages as m
from dp4sql.wire import replies as r
from tests.wire.live import (
    DATABASE,
    PATIENCE,
    Proxy,
    Raw,
    error,
    proxy,
    query,
    startup,
    wait_for,
)
from tests.wire.secured import PASSWORD, USER, certify, secured


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Proxy, Path]]:
    with secured(tmp_path_factory.mktemp("guarded")) as found:
        yield found


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """For those who never log in: who does might not be quick enough."""
    with secured(tmp_path_factory.mktemp("hurried"), login_timeout=0.5) as (running, _):
        yield running


@pytest.fixture
def guarded(place: tuple[Proxy, Path]) -> Proxy:
    return place[0]


@pytest.fixture
def roots(place: tuple[Proxy, Path]) -> Path:
    return place[1]


def connect(port: int, **more: str) -> psycopg.Connection:
    parameters = {"user": USER, "password": PASSWORD, "dbname": DATABASE} | more
    return psycopg.connect(host="127.0.0.1", port=port, connect_timeout=PATIENCE, **parameters)


@pytest.mark.parametrize(
    "name", [SUPERUSER, OWNER, "pg_monitor", "pg_read_server_files", "public", "none", "x" * 64]
)
def test_names_of_the_catalogs_own_roles_do_not_log_in(live: Proxy, name: str) -> None:
    """As its superuser a client could read every file that the proxy can."""
    with Raw(live.port) as client:
        client.send(startup(user=name, database=DATABASE))
        assert error(client.rest())["C"] == "28000"


@pytest.mark.parametrize("sslmode", ["disable", "require", "verify-full"])
@pytest.mark.parametrize("channel_binding", ["disable", "prefer"])
def test_the_right_password_lets_in(
    guarded: Proxy, roots: Path, sslmode: str, channel_binding: str
) -> None:
    root = {"sslrootcert": str(roots)} if sslmode == "verify-full" else {}
    with connect(guarded.port, sslmode=sslmode, channel_binding=channel_binding, **root) as client:
        assert client.execute("select current_user").fetchone() == ("ann",)
        assert client.pgconn.ssl_in_use == (sslmode != "disable")


def test_a_client_may_insist_on_channel_binding(guarded: Proxy) -> None:
    with connect(guarded.port, sslmode="require", channel_binding="require") as client:
        assert client.execute("select 1").fetchone() == (1,)


@pytest.mark.parametrize("who", [{"password": "pen"}, {"user": "bob"}])
def test_wrong_passwords_and_unknown_users_are_told_the_same(
    guarded: Proxy, who: dict[str, str]
) -> None:
    with pytest.raises(psycopg.OperationalError, match="password authentication failed") as caught:
        connect(guarded.port, **who)
    assert "pen" not in str(caught.value)


def test_after_a_failed_login_the_connection_ends(guarded: Proxy) -> None:
    with Raw(guarded.port) as client:
        client.send(startup(user="ann", database=DATABASE))
        assert client.frame()[0] == "R"
        first = b"n,,n=,r=abc"
        client.send(r.frame(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first))
        nonce = client.frame()[1][4:].split(b",")[0]
        client.send(r.frame(b"p", b"c=biws," + nonce + b",p=" + b"A" * 43 + b"="))
        answer = client.rest()
    assert error(answer)["C"] == "28P01"
    assert [kind for kind, _ in answer] == ["E"]


def test_a_query_is_no_login(guarded: Proxy) -> None:
    with Raw(guarded.port) as client:
        client.send(startup(user="ann", database=DATABASE), r.frame(b"Q", b"select 1\0"))
        answer = client.rest()
    assert [kind for kind, _ in answer] == ["R", "E"]


def test_direct_tls_needs_no_ssl_request(guarded: Proxy, roots: Path) -> None:
    context = ssl.create_default_context(cafile=str(roots))
    context.set_alpn_protocols(["postgresql"])
    with (
        socket.create_connection(("127.0.0.1", guarded.port), timeout=PATIENCE) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secure,
    ):
        assert secure.selected_alpn_protocol() == "postgresql"
        secure.sendall(startup(user="ann", database=DATABASE))
        assert b"SCRAM-SHA-256-PLUS" in secure.recv(1000)


def test_direct_tls_of_another_protocol_ends(guarded: Proxy, roots: Path) -> None:
    context = ssl.create_default_context(cafile=str(roots))
    with (
        socket.create_connection(("127.0.0.1", guarded.port), timeout=PATIENCE) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secure,
    ):
        secure.sendall(startup(user="ann", database=DATABASE))
        assert b"08P01" in secure.recv(1000)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tls_older_than_1_2_is_refused(guarded: Proxy) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("127.0.0.1", guarded.port), timeout=PATIENCE) as plain:
        plain.sendall(struct.pack("!ii", 8, m.SSL_REQUEST))
        assert plain.recv(1) == b"S"
        with pytest.raises(OSError):
            context.wrap_socket(plain)


# ------------------------------------------------------------------ who has to use TLS


def test_others_than_this_machine_need_tls(
    guarded: Proxy, roots: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "is_local", lambda host: False)
    with pytest.raises(psycopg.OperationalError, match=r"TLS alone.*\n.*sslmode=verify-full"):
        connect(guarded.port, sslmode="disable")
    for mode in ("allow", "prefer", "require"):
        with connect(guarded.port, sslmode=mode) as client:
            assert client.pgconn.ssl_in_use


@pytest.mark.parametrize(("wanted", "state"), [("all", "28000"), ("none", None)])
def test_all_clients_or_none_need_it(tmp_path: Path, wanted: str, state: str | None) -> None:
    with secured(tmp_path, require_tls=wanted) as (running, _), Raw(running.port) as client:
        client.send(startup(user="ann", database=DATABASE))
        kind, body = client.frame()
        assert (error([(kind, body)])["C"] if kind == "E" else None) == state


def test_a_cancel_request_may_come_without_tls(tmp_path: Path) -> None:
    """libpq before version 17 sends it so."""
    with (
        secured(tmp_path, require_tls="all") as (running, _),
        connect(running.port, sslmode="require") as client,
    ):
        backend = client.pgconn.backend_pid
        secret = running.server.clients[backend].secret
        with Raw(running.port) as other:
            other.send(struct.pack("!iii", 16, m.CANCEL_REQUEST, backend) + secret)
            assert other.rest() == []


def test_a_renewed_certificate_holds_from_the_next_connection_on(tmp_path: Path) -> None:
    with secured(tmp_path) as (running, old):
        with connect(running.port, sslmode="verify-full", sslrootcert=str(old)) as before:
            new = tmp_path / "new"
            new.mkdir()
            root, chain, key = certify(new)
            server = running.server
            running.call(
                server.renew(running.pipeline, server.options.users, Tls.load(str(chain), str(key)))
            )
            assert before.execute("select 1").fetchone() == (1,)
        with pytest.raises(psycopg.OperationalError, match="certificate verify failed"):
            connect(running.port, sslmode="verify-full", sslrootcert=str(old))
        for binding in ("require", "disable"):
            more = {"sslrootcert": str(root), "channel_binding": binding}
            with connect(running.port, sslmode="verify-full", **more) as after:
                assert after.execute("select 1").fetchone() == (1,)


def test_a_key_behind_a_passphrase_is_refused_and_asks_nobody(tmp_path: Path) -> None:
    _, chain, key = certify(tmp_path)
    locked = tmp_path / "locked.pem"
    lock = ["openssl", "pkey", "-aes256", "-passout", "pass:secret", "-in", key, "-out", locked]
    subprocess.run(lock, check=True, capture_output=True)
    with pytest.raises(InvalidParameter, match="cannot be used for TLS"):
        Tls.load(str(chain), str(locked))


def test_a_certificate_that_has_expired_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    _, chain, key = certify(tmp_path)
    Tls.load(str(chain), str(key))
    assert not caplog.text
    certify(tmp_path, until=datetime(2020, 2, 1))
    key.chmod(0o644)
    Tls.load(str(chain), str(key))
    assert f"{chain} has expired on 2020-02-01" in caplog.text
    assert f"{key} is open to everybody" in caplog.text


# ------------------------------------------------------------------ before the handshake


@pytest.mark.parametrize("first", [struct.pack("!ii", 8, m.SSL_REQUEST), b"\x16\x03\x01"])
def test_a_handshake_that_never_ends_is_hung_up_on(hurried: Proxy, first: bytes) -> None:
    """Neither its place among the logins nor its socket stay taken."""
    hung_up_on(hurried, first)
    # The one that is taken is that of the next to be accepted.
    wait_for(lambda: hurried.server.logins._value == hurried.server.options.max_logins - 1)


def hung_up_on(running: Proxy, first: bytes) -> None:
    """What is sent too late, or was not read, makes it a reset."""
    with (
        socket.create_connection(("127.0.0.1", running.port), timeout=PATIENCE) as slow,
        contextlib.suppress(ConnectionError),
    ):
        slow.sendall(first)
        while slow.recv(100):
            pass


def test_bytes_slipped_in_before_the_handshake_end_it(guarded: Proxy) -> None:
    with Raw(guarded.port) as client:
        client.send(struct.pack("!ii", 8, m.SSL_REQUEST) + startup(user="ann"))
        assert error(client.rest())["C"] == "08P01"


def test_without_tls_the_server_says_no(live: Proxy) -> None:
    with socket.create_connection(("127.0.0.1", live.port), timeout=PATIENCE) as plain:
        for code in (m.GSSENC_REQUEST, m.SSL_REQUEST):
            plain.sendall(struct.pack("!ii", 8, code))
            assert plain.recv(1) == b"N"


def test_who_sends_nothing_is_hung_up_on(hurried: Proxy) -> None:
    hung_up_on(hurried, b"\0\0")


@pytest.mark.parametrize(
    ("options", "host"),
    [(Options(), "127.0.0.1"), (Options(trust=True), "0.0.0.0"), (Options(trust=True), "::")],
)
def test_a_server_that_lets_in_nobody_or_anybody_does_not_start(
    live: Proxy, options: Options, host: str
) -> None:
    async def start() -> int:
        return await Server(live.pipeline, options).listen(host, 0)

    with pytest.raises(InvalidParameter):
        live.call(start())


def test_the_server_is_full_at_its_limit(tmp_path: Path) -> None:
    with proxy(tmp_path, max_connections=1) as small, Raw(small.port) as first:
        first.log_in()
        with Raw(small.port) as second:
            second.send(startup(user="ann", database=DATABASE))
            assert error(second.rest())["C"] == "53300"
        first.socket.close()
        wait_for(lambda: not small.server.clients)
        with Raw(small.port) as third:
            assert third.log_in()[-1] == ("Z", b"I")


def test_one_role_does_not_take_up_all_places(tmp_path: Path) -> None:
    with proxy(tmp_path, max_role_connections=1) as shared:
        with Raw(shared.port) as first, Raw(shared.port) as second, Raw(shared.port) as other:
            first.log_in()
            second.send(startup(user="ann", database=DATABASE))
            assert error(second.rest())["C"] == "53300"
            assert other.log_in(user="bob")[-1] == ("Z", b"I")
        wait_for(lambda: not shared.server.clients)
        with Raw(shared.port) as again:
            assert again.log_in()[-1] == ("Z", b"I")


def test_shutting_down_waits_for_what_runs_and_tells_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Proxy(tmp_path)
    begun, go_on, read = threading.Event(), threading.Event(), running.pipeline.backend.read

    def held(cursor: Any, sql: str) -> Any:
        begun.set()
        assert go_on.wait(PATIENCE)
        return read(cursor, sql)

    monkeypatch.setattr(running.pipeline.backend, "read", held)
    with Raw(running.port) as idle, Raw(running.port) as busy:
        idle.log_in()
        busy.log_in()
        busy.send(query("select count(*) from student"))
        assert begun.wait(PATIENCE)
        stopping = threading.Thread(target=running.stop, args=(PATIENCE,))
        stopping.start()
        assert error(idle.rest())["C"] == "57P01"
        go_on.set()
        answer = busy.rest()
        assert "DCZ" in "".join(kind for kind, _ in answer)
        assert error(answer)["C"] == "57P01"
        stopping.join()


def test_what_runs_for_longer_is_ended(tmp_path: Path) -> None:
    running = Proxy(tmp_path)
    with Raw(running.port) as stuck:
        stuck.log_in()
        stuck.send(query("select pg_sleep(3600)"))
        wait_for(lambda: any(client.busy for client in list(running.server.clients.values())))
        running.stop(grace=0.1)
        assert error(stuck.rest())["C"] == "57P01"


def test_idle_clients_can_be_sent_away(tmp_path: Path) -> None:
    with proxy(tmp_path, idle_timeout=0.2) as running, Raw(running.port) as client:
        client.log_in()
        assert error(client.rest())["C"] == "57P05"


def test_nothing_of_the_proxy_outlives_it(tmp_path: Path) -> None:
    """Killed without warning, it takes the catalog's Postgres and its files along."""
    script = (
        "import os, sys, time; from pathlib import Path; from tests.wire.live import Proxy, Raw, query\n"
        "p = Proxy(Path(sys.argv[1])); c = Raw(p.port); c.log_in(); c.send(query('select 1')); c.until('Z')\n"
        "print(p.server.catalog._running.directory, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=120
    )
    directory = Path(done.stdout.strip())
    assert directory.name.startswith("dp4sql-"), done.stderr
    wait_for(lambda: not directory.exists())
