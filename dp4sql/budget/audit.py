"""The audit log: JSON lines that say who asked what, when, at which price, and what became of it.

A statement that is priced gets a line before it is charged, with outcome "asked", and another one when it
has ended; one that is refused before that gets the second alone. `id` ties them together. Statements and
parameters are the analysts' texts. Answers, and whatever else comes from the data, are never here.
"""

from __future__ import annotations

import datetime
import json
import logging
import os
import threading
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from dp4sql.budget.cost import Charge
from dp4sql.budget.journal import Asked, Outcome
from dp4sql.errors import AuditBroken, Dp4sqlError

log = logging.getLogger(__name__)


class Audit:
    """Appends to a file, a line in one call, so that several proxies may share it. AuditBroken where it
    cannot be opened; what cannot be written is refused before it is charged."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path, self._lock = Path(path), threading.Lock()
        self._file = self._opened()

    def _opened(self) -> int:
        try:
            return os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o640)
        except OSError as error:
            raise _broken("opened", error) from None

    def reopen(self) -> None:
        """Go on in a new file after the old one was moved away (log rotation)."""
        new = self._opened()
        with self._lock:
            old, self._file = self._file, new
            os.close(old)

    def close(self) -> None:
        os.close(self._file)

    # ------------------------------------------------------------ lines

    def priced(self, asked: Asked) -> None:
        self._write(_record(asked, "asked"))

    def ended(self, asked: Asked, outcome: Outcome, error: BaseException | None) -> None:
        try:
            self._write(_record(asked, outcome) | _reason(error))
        except AuditBroken as broken:
            # Its first line is there if anything was charged, and the ledger has its end.
            log.error("%s: the end of statement %s is missing there", broken.message, asked.id)

    def _write(self, record: dict[str, Any]) -> None:
        line = json.dumps(record, default=str).encode() + b"\n"
        try:
            with self._lock:
                written = os.write(self._file, line)
        except OSError as error:
            raise _broken("written", error) from None
        if written < len(line):
            raise _broken("written", OSError(0, "no space left"))


def _record(asked: Asked, outcome: str) -> dict[str, Any]:
    return {
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"),
        "id": asked.id,
        "role": asked.role,
        "outcome": outcome,
        "query": asked.query,
        "charges": _totals(asked.charges),
        "derivation": asked.derivation,
        "statement": asked.statement,
        "parameters": list(asked.parameters),
    }


def _totals(charges: Sequence[Charge]) -> dict[str, str]:
    """Exact, by policy. Whose account it is, where it is one member's, is not for this log."""
    totals: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for charge in charges:
        totals[charge.policy, "" if charge.measure == "epsilon" else " rho"] += charge.epsilon
    return {policy: f"{total}{measure}" for (policy, measure), total in totals.items()}


def _reason(error: BaseException | None) -> dict[str, str]:
    if error is None:
        return {}
    if isinstance(error, Dp4sqlError):
        return {"sqlstate": error.sqlstate, "error": error.message}
    return {"error": type(error).__name__}


def _broken(what: str, error: OSError) -> AuditBroken:
    return AuditBroken(
        f"the audit log cannot be {what} ({error.strerror})",
        hint="Nothing was charged. No statement is answered without its line in the log: check the disk and "
        "the file's permissions.",
    )
