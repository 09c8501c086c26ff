"""Where the policy files are that come with dp4sql."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from dp4sql.errors import EngineError


def policy_file(name: str) -> Path:
    """The shipped policy file: in the checkout, or where an installation puts it."""
    checkout = Path(__file__).parent.parent.parent
    for place in (checkout, Path(sysconfig.get_path("data"), "share", "dp4sql")):
        if (file := place / "policies" / f"{name}.yaml").is_file():
            return file
    raise EngineError(
        f"the policy file {name}.yaml did not come with this installation",
        hint="Run this from a checkout of dp4sql.",
    )
