"""The functions that may stand in FROM, by name."""

from __future__ import annotations

from typing import Final

from dp4sql.mechanisms.calls import TableFunction
from dp4sql.mechanisms.certify import functions as certify
from dp4sql.mechanisms.profile import functions as profile
from dp4sql.sql.lower.calls import Signature

FUNCTIONS: Final[dict[str, TableFunction]] = {
    f.signature.name: f for f in (*certify.FUNCTIONS, *profile.FUNCTIONS)
}
SIGNATURES: Final[dict[str, Signature]] = {name: f.signature for name, f in FUNCTIONS.items()}
