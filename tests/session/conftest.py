"""A socket that is logged in to a proxy of this package."""

from __future__ import annotations

from tests.wire.conftest import live, raw

__all__ = ["live", "raw"]
