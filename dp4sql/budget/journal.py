"""What becomes of each statement, told to whoever keeps account of it: the audit log, the metrics."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal, Protocol, TypeAlias

from dp4sql.algebra.types import Value
from dp4sql.budget.cost import Charge
from dp4sql.errors import EngineError

Outcome: TypeAlias = Literal["answered", "refused", "failed", "observed"]


@dataclass(slots=True, eq=False)
class Asked:
    """A statement on its way. `charges` and `derivation` are known once it is priced, `query` once it is
    charged, and `started` says that its data may have been read since. `charged` says that the ledger has what it
    costs, if it costs anything. `trouble` is an engine's that
    cannot be read now, so that nothing is to be charged. `withdrawn` is nobody's any more,
    and `closed` is taken by who tells the ledger how it ended, once."""

    role: str
    statement: str
    parameters: Sequence[Value] = ()
    charges: Sequence[Charge] = ()
    derivation: str = ""
    query: int | None = None
    started: bool = False
    charged: bool = False
    withdrawn: bool = False
    trouble: EngineError | None = None
    closed: threading.Lock = field(default_factory=threading.Lock)
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    since: float = field(default_factory=monotonic)


class Journal(Protocol):
    """Told in this order. Neither ever sees data."""

    def priced(self, asked: Asked) -> None:
        """Before anything is charged. What this raises refuses the statement."""

    def ended(self, asked: Asked, outcome: Outcome, error: BaseException | None) -> None:
        """Whatever became of the statement. Raises nothing."""
