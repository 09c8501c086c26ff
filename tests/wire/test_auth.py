"""SCRAM against an independent client (scramp), and the file of verifiers."""

from __future__ import annotations

import stat
import struct
from pathlib import Path

import pytest
from scramp import ScramClient

from dp4sql.errors import AuthenticationFailed, InvalidParameter, ProtocolViolation
from dp4sql.wire.auth import Scram, Users, Verifier, add_user, load_users

BINDING = b"\x01" * 32
#: The example verifier of RFC 7677: user "user", password "pencil", in Postgres's notation.
RFC = (
    "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"
    "WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
)


def initial(mechanism: str, message: str) -> bytes:
    return mechanism.encode() + b"\0" + struct.pack("!i", len(message)) + message.encode()


def login(server: Scram, password: str, binding: bytes | None = None) -> ScramClient:
    channel = ("tls-server-end-point", binding) if binding else None
    client = ScramClient(list(server.mechanisms), "ann", password, channel_binding=channel)
    first = server.first(initial(client.mechanism_name, client.get_client_first()))
    client.set_server_first(first.decode())
    client.set_server_final(server.final(client.get_client_final().encode()).decode())
    return client


@pytest.mark.parametrize(
    ("binding", "mechanism"), [(None, "SCRAM-SHA-256"), (BINDING, "SCRAM-SHA-256-PLUS")]
)
def test_the_right_password_is_proved_both_ways(binding: bytes | None, mechanism: str) -> None:
    server = Scram("ann", Verifier.of_password("pencil"), binding)
    assert login(server, "pencil", binding).mechanism_name == mechanism


def test_a_verifier_of_postgres_is_understood() -> None:
    assert str(Verifier.parse(RFC)) == RFC
    assert login(Scram("ann", Verifier.parse(RFC)), "pencil").server_signature


def test_a_wrong_password_fails() -> None:
    with pytest.raises(AuthenticationFailed):
        login(Scram("ann", Verifier.of_password("pencil")), "pen")


def test_a_client_on_another_channel_fails() -> None:
    with pytest.raises(AuthenticationFailed):
        login(Scram("ann", Verifier.of_password("pencil"), BINDING), "pencil", b"\x02" * 32)


def test_a_client_that_was_talked_out_of_channel_binding_fails() -> None:
    server = Scram("ann", Verifier.of_password("pencil"), BINDING)
    with pytest.raises(ProtocolViolation):
        server.first(initial("SCRAM-SHA-256", "y,,n=ann,r=abc"))


def test_an_unknown_user_sees_what_a_known_one_sees() -> None:
    users = Users({"ann": Verifier.of_password("pencil")})
    stranger = users.verifier("bob")
    assert stranger == users.verifier("bob") != users.verifier("cid")
    assert len(stranger.salt) == len(users.verifier("ann").salt)
    with pytest.raises(AuthenticationFailed):
        login(Scram("bob", stranger), "pencil")


def test_an_unknown_user_is_told_the_same_salt_by_every_proxy_and_after_changes() -> None:
    verifiers = {name: Verifier.of_password(name) for name in ("ann", "bob")}
    salts = {
        Users(users).verifier("eve").salt
        for users in (verifiers, dict(verifiers), verifiers | {"carl": Verifier.parse(RFC)})
    }
    assert len(salts) == 1
    assert Users({}).verifier("eve").salt != Users({}).verifier("eve").salt


def test_libpq_leaves_the_name_out_of_the_exchange() -> None:
    answer = Scram("ann", Verifier.parse(RFC)).first(initial("SCRAM-SHA-256", "n,,n=,r=abc"))
    assert answer.startswith(b"r=abc")


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"SCRAM-SHA-256\0",
        b"SCRAM-SHA-256\0\0\0\0\x09short",
        initial("MD5", "n,,n=,r=abc"),
        initial("SCRAM-SHA-256", "n,,n="),
        initial("SCRAM-SHA-256-PLUS", "p=tls-unique,,n=,r=abc"),
        initial("SCRAM-SHA-256", "\x00"),
    ],
)
def test_malformed_first_messages(payload: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        Scram("ann", Verifier.parse(RFC), BINDING).first(payload)


@pytest.mark.parametrize("proof", ["x", "AAAA", "A" * 44])
def test_malformed_proofs(proof: str) -> None:
    server = Scram("ann", Verifier.parse(RFC))
    nonce = server.first(initial("SCRAM-SHA-256", "n,,n=,r=abc")).decode().split(",")[0]
    with pytest.raises((ProtocolViolation, AuthenticationFailed)):
        server.final(f"c=biws,{nonce},p={proof}".encode())


def test_users_are_added_replaced_and_read_back(tmp_path: Path) -> None:
    file = tmp_path / "users"
    add_user(file, "ann", "one")
    add_user(file, 'b"ob', "two")
    add_user(file, "ann", "three")
    users = load_users(file)
    assert sorted(users) == ["ann", 'b"ob']
    assert login(Scram("ann", users["ann"]), "three").server_signature
    assert "three" not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_line_that_is_no_verifier_is_named(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text('"ann" "md5abc"\n')
    with pytest.raises(InvalidParameter, match=":1:"):
        load_users(file)


def test_a_file_of_something_else_is_named(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_bytes(b"\xb5\x00")
    with pytest.raises(InvalidParameter, match="not a file of users"):
        load_users(file)


@pytest.mark.parametrize(("mode", "open_to_all"), [(0o600, False), (0o640, False), (0o644, True)])
def test_verifiers_that_everybody_can_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, open_to_all: bool
) -> None:
    file = tmp_path / "users"
    add_user(file, "ann", "one")
    file.chmod(mode)
    load_users(file)
    assert ("open to everybody" in caplog.text) == open_to_all


def test_verifiers_do_not_print_themselves() -> None:
    assert "WG5d" not in repr(Verifier.parse(RFC))
