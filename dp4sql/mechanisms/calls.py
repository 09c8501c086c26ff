"""What a function in FROM is to the pipeline: checked and priced first, charged, then run.

    open(environment, arguments) -> Opened     checks arguments; may read public columns; nothing is charged
    ledger.charge(opened.losses)               with the rest of the statement, all or none
    opened.run() -> rows                       reads private columns and releases

`dp4sql.mechanisms.functions` has the list.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeAlias

from dp4sql.algebra.types import Value
from dp4sql.policy.labels import PolicySet
from dp4sql.rows import OutputColumn, PrivateRows
from dp4sql.sql.dialects import Dialect
from dp4sql.sql.lower.calls import Argument, Signature

Rows: TypeAlias = list[tuple[Value, ...]]
Arguments: TypeAlias = Mapping[str, Argument]


@dataclass(frozen=True, slots=True)
class Loss:
    """What a call loses under a policy. `member` is the key of the entity whose rows alone the call reads:
    other entities lose nothing by it (parallel composition); empty where it reads the rows of many.
    `own_budget` limits what the member's calls may lose in all. With a `delta` the loss is (epsilon, delta), and
    `most_delta` limits those in all."""

    policy: str
    epsilon: Fraction
    member: str = ""
    own_budget: Fraction | None = None
    delta: Fraction = Fraction(0)
    most_delta: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """A call that may run once its losses are charged."""

    losses: tuple[Loss, ...]
    run: Callable[[], Awaitable[Rows]]
    notices: tuple[str, ...] = ()


class Kept(Protocol):
    """Released answers that are kept, so that asking again is free. Texts, under a key of the caller's."""

    def find(self, key: str) -> str | None: ...

    def keep(self, key: str, content: str) -> None: ...

    def keep_all(self, contents: Mapping[str, str]) -> None: ...

    def note(self, key: str, *, role: str, purpose: str, reused: bool) -> None:
        """Record who used the answer, and what for."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What a call may use. `epsilons`: what the session lets a query lose under each policy. `data` tells
    databases and the versions of their data apart."""

    policies: PolicySet
    epsilons: Mapping[str, Fraction]
    dialect: Dialect
    role: str
    data: str
    fetch: Callable[[str, Sequence[OutputColumn]], Awaitable[PrivateRows]]
    kept: Kept


@dataclass(frozen=True, slots=True)
class TableFunction:
    """`explain` gives the lines of EXPLAIN, from the policy file alone."""

    signature: Signature
    open: Callable[[Environment, Arguments], Awaitable[Opened]]
    explain: Callable[[PolicySet, Mapping[str, Fraction], Arguments], Sequence[str]]
