"""The accounts of one database: they are opened, charged, and told of."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain
from typing import Literal

from dp4sql.budget.cost import Charge, amount, show
from dp4sql.budget.journal import Asked
from dp4sql.budget.kept import Keeping
from dp4sql.budget.ledger import Ledger
from dp4sql.errors import Dp4sqlError, LedgerBroken
from dp4sql.policy.labels import PolicySet

log = logging.getLogger(__name__)


class Accounts:
    """What `ledger` holds for one database. Methods may wait for the disk unless they say otherwise."""

    def __init__(self, ledger: Ledger, database: str) -> None:
        self._ledger, self._database = ledger, database

    def open(self, policies: PolicySet) -> None:
        for warning in self._ledger.open_accounts(policies.policies, database=self._database):
            log.warning(warning)

    def charge(self, asked: Asked) -> int | None:
        """Durable when it returns; the query's number in the ledger."""
        return self._ledger.charge(
            asked.charges,
            database=self._database,
            role=asked.role,
            statement=asked.statement,
            derivation=asked.derivation,
        )

    def close(self, asked: Asked, kind: Literal["answered", "failed"], keeping: Keeping) -> bool:
        """Whether the ledger took it. The charge is there, so where it did not the answer is good all the
        same, and a repeat is charged. The first end is the one that counts: a statement that is cancelled
        may be about to end otherwise."""
        if not asked.closed.acquire(blocking=False):
            return True
        try:
            self._ledger.close_query(
                asked.query, kind, database=self._database, role=asked.role, keeping=keeping
            )
        except LedgerBroken as error:
            log.error("query %s stays without its end in the ledger: %s", asked.query, error)
            return False
        return True

    # ------------------------------------------------------------ words

    def charged(self, charges: Sequence[Charge]) -> tuple[str, ...]:
        """What was charged and what is left, as of the last charge here; waits for nothing."""
        return tuple(chain(*(self._charged(charge) for charge in charges)))

    def _charged(self, c: Charge) -> Iterator[str]:
        whom = f" for one {c.entity}" if c.member else ""
        delta = f" and delta {float(c.delta):g}" if c.delta else ""
        charged = f"charged {amount(c)}{delta} to policy {c.policy}{whom}"
        left = [
            (name, f"{show(max(most - lost, Fraction(0)))} of {show(most)} left")
            for name, most, lost in self._ledger.caps(c, database=self._database)
        ]
        if c.budget is not None:
            (_, of_budget), *left = left
            charged += f", {of_budget}"
        yield charged
        yield from (f"{name} has {of_limit}" for name, of_limit in left)

    def before(self, charges: Sequence[Charge]) -> Iterator[str]:
        """What the accounts hold now, before a charge, and whether that is enough."""
        self._ledger.refresh()
        for c in charges:
            for name, most, lost in self._ledger.caps(c, database=self._database):
                left = f"{name} has {show(max(most - lost, Fraction(0)))} of {show(most)} left"
                short = lost + c.epsilon > most
                yield f"refused if asked now: {left}" if short else left


def observed(charges: Sequence[Charge]) -> Iterator[str]:
    yield "observing: rows are withheld; nothing private was read and nothing charged"
    for charge in charges:
        yield f"it would charge {amount(charge)} to policy {charge.policy}"


def say_charged(error: BaseException, charges: Sequence[Charge]) -> None:
    """A statement that fails after its charge says so; one that is cancelled through its notes."""
    if not charges:
        return
    what = ", ".join(f"{amount(c)} to policy {c.policy}" for c in charges)
    told = f"The charge stays, as data may have been read: {what}."
    if isinstance(error, Dp4sqlError):
        error.detail = f"{error.detail} {told}" if error.detail else told
    else:
        error.add_note(told)
