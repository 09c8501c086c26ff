"""One proxy for all tests of the wire, which get a socket that is logged in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.wire.live import Proxy, Raw, proxy


@pytest.fixture(scope="package")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with proxy(tmp_path_factory.mktemp("wire")) as running:
        yield running


@pytest.fixture
def raw(live: Proxy) -> Iterator[Raw]:
    with Raw(live.port) as client:
        client.log_in()
        yield client
