"""How a server is told to serve."""

from __future__ import annotations

import ipaddress
import logging
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, TypeAlias

from dp4sql.errors import InvalidParameter
from dp4sql.wire import messages as m
from dp4sql.wire.auth import Verifier, channel_binding, expiry, warn_if_open

log = logging.getLogger(__name__)

RequireTls: TypeAlias = Literal["remote", "all", "none"]

_PEM: Final = "-----BEGIN CERTIFICATE-----"
_PEM_END: Final = "-----END CERTIFICATE-----"


@dataclass(frozen=True, slots=True)
class Tls:
    """A server's side of TLS, and the hash of its certificate that SCRAM binds logins to."""

    context: ssl.SSLContext
    binding: bytes | None

    @classmethod
    def load(cls, certificate: str, key: str) -> Tls:
        """TLS 1.2 or later from a PEM chain and its key. InvalidParameter on files that are neither."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            # Without a password of ours OpenSSL would ask for one at the terminal.
            context.load_cert_chain(certificate, key, lambda: "")
        except OSError as error:
            raise InvalidParameter(
                f"{certificate} and {key} cannot be used for TLS ({error.strerror})",
                hint="PEM files are wanted: the certificate with its chain, and its key without a passphrase.",
            ) from None
        warn_if_open(key)
        context.set_alpn_protocols(["postgresql"])
        own = _first(certificate)
        if (last := expiry(own)) < datetime.now(UTC):
            log.warning("%s has expired on %s: clients will refuse it", certificate, last.date())
        return cls(context, channel_binding(own))


def _first(chain: str) -> bytes:
    """The server's own certificate, which is the first of its chain."""
    text = Path(chain).read_text(encoding="latin-1")
    if _PEM not in text:
        raise InvalidParameter(f"{chain} holds no line {_PEM}", hint="PEM files are wanted.")
    return ssl.PEM_cert_to_DER_cert(text[text.index(_PEM) :].split(_PEM_END)[0] + _PEM_END)


@dataclass(frozen=True, slots=True)
class Options:
    """How clients get in, and how much of everything they may use. Times are in seconds.

    `users` are SCRAM verifiers; `trust` lets anyone in, from this machine alone. `database` is the one
    name clients may ask for. `require_tls` says of whom TLS is required where there is `tls`: clients of
    other machines, all, or none. `max_logins` is how many may be about to log in at once, and
    `max_role_connections` how many sessions one role may have.
    """

    database: str = "dp4sql"
    users: Mapping[str, Verifier] | None = None
    trust: bool = False
    tls: Tls | None = None
    require_tls: RequireTls = "remote"
    catalog: str | None = None
    max_connections: int = 1200
    max_role_connections: int | None = None
    max_logins: int = 400
    max_message: int = m.MAX_MESSAGE
    login_timeout: float = 30.0
    idle_timeout: float | None = None


def is_local(host: str) -> bool:
    """Whether an address or name is this machine, seen from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
