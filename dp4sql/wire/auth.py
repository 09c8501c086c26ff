"""SCRAM-SHA-256 on the server's side, and the file of verifiers it reads.

The file has pgbouncer's format, a line a user, with the verifier as Postgres writes it:
    "name" "SCRAM-SHA-256$iterations:salt$stored:server"

Passwords are never stored. An unknown user goes through the
same steps as a wrong password, against a verifier that nothing matches. Source: RFC 5802, RFC 7677,
RFC 5929 (tls-server-end-point).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
import os
import re
import secrets
import stat
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from asn1crypto.x509 import Certificate
from scramp import ScramMechanism

from dp4sql.errors import AuthenticationFailed, InvalidParameter, ProtocolViolation

log = logging.getLogger(__name__)

MECHANISM: Final = "SCRAM-SHA-256"
BOUND: Final = "SCRAM-SHA-256-PLUS"
ITERATIONS: Final = 4096

_VERIFIER = re.compile(r"SCRAM-SHA-256\$(\d+):([^$:\s]+)\$([^$:\s]+):([^$:\s]+)")
_LINE = re.compile(r'"((?:[^"]|"")+)"\s+"([^"]+)"')
_CLIENT_FIRST = re.compile(
    r"(?P<gs2>[ny]|p=(?P<binding>[^,]+)),[^,]*,(?P<bare>n=[^,]*,r=(?P<nonce>[!-+\--~]+).*)"
)
_CLIENT_FINAL = re.compile(
    r"(?P<bare>c=(?P<channel>[^,]+),r=(?P<nonce>[^,]+).*?),p=(?P<proof>[^,]+)"
)


@dataclass(frozen=True, slots=True)
class Verifier:
    """What a server keeps of a password: enough to check a proof, not enough to make one."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    @classmethod
    def of_password(cls, password: str) -> Verifier:
        salt, stored, server, iterations = ScramMechanism(MECHANISM).make_auth_info(
            password, iteration_count=ITERATIONS, salt=secrets.token_bytes(16)
        )
        return cls(iterations, salt, stored, server)

    @classmethod
    def parse(cls, text: str) -> Verifier:
        found = _VERIFIER.fullmatch(text)
        if found is None:
            raise ValueError("not a SCRAM-SHA-256 verifier")
        iterations, *parts = found.groups()
        return cls(int(iterations), *(base64.b64decode(part, validate=True) for part in parts))

    def __str__(self) -> str:
        salt, stored, server = map(_b64, (self.salt, self.stored_key, self.server_key))
        return f"{MECHANISM}${self.iterations}:{salt}${stored}:{server}"

    def __repr__(self) -> str:
        return "Verifier(...)"


# ------------------------------------------------------------------ the file


def load_users(path: str | os.PathLike[str]) -> dict[str, Verifier]:
    """Names and verifiers; InvalidParameter names the line that cannot be read."""
    warn_if_open(path)
    users: dict[str, Verifier] = {}
    for number, line in enumerate(_text(path).splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            try:
                name, verifier = _read_line(line)
            except ValueError:
                raise InvalidParameter(
                    f"{path}:{number}: not a user and a SCRAM-SHA-256 verifier",
                    hint='Each line reads "name" "SCRAM-SHA-256$..."; dp4sql user add writes it.',
                ) from None
            users[name] = verifier
    return users


def _text(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidParameter(
            f"{path}: not a file of users", hint="dp4sql user add writes one."
        ) from None


def warn_if_open(path: str | os.PathLike[str]) -> None:
    """Of a secret that everybody on this machine can read or write."""
    if Path(path).stat().st_mode & (stat.S_IROTH | stat.S_IWOTH):
        log.warning("%s is open to everybody on this machine: chmod o-rwx %s", path, path)


def _read_line(line: str) -> tuple[str, Verifier]:
    found = _LINE.fullmatch(line.strip())
    if found is None:
        raise ValueError("not two quoted words")
    return found[1].replace('""', '"'), Verifier.parse(found[2])


def add_user(path: str | os.PathLike[str], name: str, password: str) -> None:
    """Add a user or replace the password of one. The file is readable by its owner alone."""
    if not name or not password or "\n" in name:
        raise InvalidParameter("a user needs a name of one line and a password")
    target = Path(path)
    users = load_users(target) if target.exists() else {}
    users[name] = Verifier.of_password(password)
    lines = ['"{}" "{}"\n'.format(user.replace('"', '""'), v) for user, v in sorted(users.items())]
    draft = target.with_name(target.name + ".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(descriptor)
    os.replace(draft, target)


# ------------------------------------------------------------------ the exchange


class Users:
    """Verifiers by name. Names that are not there get one of their own that no password meets.

    It is the same in every proxy and after every restart: a salt that changes would tell that there is no
    such user. So it is derived from a secret of the file.
    """

    def __init__(self, verifiers: Mapping[str, Verifier]) -> None:
        self._verifiers = dict(verifiers)
        first = self._verifiers[min(self._verifiers)].stored_key if self._verifiers else b""
        self._decoy = first or secrets.token_bytes(32)

    def verifier(self, name: str) -> Verifier:
        # Worked out for every name, so that those that are there take no less time.
        salt, stored, server = (self._derived(part, name) for part in ("salt", "stored", "server"))
        return self._verifiers.get(name, Verifier(ITERATIONS, salt[:16], stored, server))

    def _derived(self, part: str, name: str) -> bytes:
        return hmac.digest(self._decoy, f"{part}:{name}".encode(), "sha256")


class Scram:
    """One login. `binding` is the hash of the server's certificate, None without TLS."""

    def __init__(self, user: str, verifier: Verifier, binding: bytes | None = None) -> None:
        self._user, self._verifier, self._binding = user, verifier, binding
        self._channel = self._nonce = self._said = ""

    @property
    def mechanisms(self) -> tuple[str, ...]:
        return (BOUND, MECHANISM) if self._binding else (MECHANISM,)

    def first(self, payload: bytes) -> bytes:
        """SASLInitialResponse to the data of AuthenticationSASLContinue."""
        mechanism, message = _initial(payload)
        found = _CLIENT_FIRST.fullmatch(message)
        if mechanism not in self.mechanisms or found is None:
            raise ProtocolViolation("malformed SCRAM message")
        self._channel = self._expected_channel(mechanism, found)
        self._nonce = found["nonce"] + secrets.token_urlsafe(18)
        salt, iterations = _b64(self._verifier.salt), self._verifier.iterations
        answer = f"r={self._nonce},s={salt},i={iterations}"
        self._said = f"{found['bare']},{answer}"
        return answer.encode()

    def _expected_channel(self, mechanism: str, found: re.Match[str]) -> str:
        """The c= attribute that a client tied to this very connection will send."""
        header = found[0].removesuffix(found["bare"])
        bound = found["binding"] is not None
        downgraded = found["gs2"] == "y" and self._binding is not None
        if bound != (mechanism == BOUND) or downgraded:
            raise ProtocolViolation("SCRAM channel binding negotiation error")
        if bound and found["binding"] != "tls-server-end-point":
            raise ProtocolViolation("unsupported SCRAM channel-binding type")
        return _b64(header.encode() + (self._binding or b"" if bound else b""))

    def final(self, payload: bytes) -> bytes:
        """SASLResponse to the data of AuthenticationSASLFinal, or AuthenticationFailed."""
        found = _CLIENT_FINAL.fullmatch(_decoded(payload))
        if found is None or not hmac.compare_digest(found["nonce"], self._nonce):
            raise ProtocolViolation("malformed SCRAM message")
        said = f"{self._said},{found['bare']}".encode()
        proved = self._proves(found["proof"], said)
        if not (hmac.compare_digest(found["channel"], self._channel) and proved):
            raise AuthenticationFailed(f'password authentication failed for user "{self._user}"')
        return b"v=" + _b64(hmac.digest(self._verifier.server_key, said, "sha256")).encode()

    def _proves(self, proof: str, said: bytes) -> bool:
        try:
            sent = base64.b64decode(proof, validate=True)
        except binascii.Error:
            raise ProtocolViolation("malformed SCRAM message") from None
        signature = hmac.digest(self._verifier.stored_key, said, "sha256")
        if len(sent) != len(signature):
            raise ProtocolViolation("malformed SCRAM message")
        key = bytes(a ^ b for a, b in zip(signature, sent, strict=True))
        return hmac.compare_digest(hashlib.sha256(key).digest(), self._verifier.stored_key)


def _initial(payload: bytes) -> tuple[str, str]:
    """Mechanism and message of a SASLInitialResponse."""
    name, nul, rest = payload.partition(b"\0")
    if not nul or len(rest) < 4 or struct.unpack("!i", rest[:4])[0] != len(rest) - 4:
        raise ProtocolViolation("malformed SASL response")
    return _decoded(name), _decoded(rest[4:])


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ProtocolViolation("malformed SCRAM message") from None


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def channel_binding(certificate: bytes) -> bytes | None:
    """tls-server-end-point of a DER certificate; None where its signature names no hash."""
    try:
        name = Certificate.load(certificate).hash_algo
    except ValueError:
        return None
    return hashlib.new("sha256" if name in ("md5", "sha1") else name, certificate).digest()


def expiry(certificate: bytes) -> datetime:
    """The last moment at which clients take a DER certificate for good."""
    found: datetime = Certificate.load(certificate).not_valid_after
    return found
