"""A proxy as it is meant to be served: with TLS and passwords."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import trustme

from dp4sql.server import Tls
from dp4sql.wire.auth import Verifier
from tests.wire.live import Proxy, proxy

USER, PASSWORD = "ann", "pencil"


def certify(folder: Path, until: datetime | None = None) -> tuple[Path, Path, Path]:
    """Files of a root certificate, and of a server's chain and key for 127.0.0.1 and localhost."""
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1", "localhost", not_after=until)
    root, chain, key = (folder / name for name in ("root.pem", "chain.pem", "key.pem"))
    authority.cert_pem.write_to_path(str(root))
    issued.private_key_pem.write_to_path(str(key))
    issued.cert_chain_pems[0].write_to_path(str(chain))
    key.chmod(0o600)
    return root, chain, key


@contextlib.contextmanager
def secured(folder: Path, **changes: Any) -> Iterator[tuple[Proxy, Path]]:
    """The proxy, and the root certificate that vouches for it."""
    root, chain, key = certify(folder)
    options = {
        "users": {USER: Verifier.of_password(PASSWORD)},
        "tls": Tls.load(str(chain), str(key)),
    }
    with proxy(folder, trust=False, **options, **changes) as running:
        yield running, root
