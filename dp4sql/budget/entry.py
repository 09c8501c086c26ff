"""One line of the ledger, and the hash that ties it to the line before."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from fractions import Fraction
from operator import attrgetter
from typing import Any, Final, Literal, TypeAlias

Kind: TypeAlias = Literal["open", "terms", "charge", "answered", "failed", "accepted"]


@dataclass(frozen=True, slots=True)
class Entry:
    """`open` an account with the policy's terms in `statement`; other `terms` later; a `charge`; or what
    became of `query`: `answered`, or `failed` once its data may have been read. `accepted` says that the
    curator goes on without entries that were missing.

    `total` is the running total of the account, of its `member` alone where there is one. `derivation`
    is whatever the caller gave to tell how the charge came about; of a query that was answered, the digests of
    the answers that are kept. `delta` is what a charge loses beside epsilon, where its mechanism does not
    promise pure epsilon.
    """

    id: int = 0
    query: int = 0
    at: str = ""
    kind: Kind = "charge"
    database: str = ""
    entity: str = ""
    policy: str = ""
    member: str = ""
    epsilon: Fraction = Fraction(0)
    total: Fraction = Fraction(0)
    role: str = ""
    statement: str = ""
    derivation: str = ""
    delta: Fraction = Fraction(0)


COLUMNS: Final = tuple(field.name for field in fields(Entry))
_values: Final = attrgetter(*COLUMNS)
START: Final = "0" * 64
_encode: Final = json.JSONEncoder(default=repr).encode

Row: TypeAlias = tuple[Any, ...]
"""The values of COLUMNS as they are stored: amounts as text such as 12/127."""


def to_row(entry: Entry, total: Fraction) -> Row:
    """The entry with the running total of its account."""
    *before, epsilon, _, role, statement, derivation, delta = _values(entry)
    return (*before, str(epsilon), str(total), role, statement, derivation, str(delta))


def from_row(row: Row) -> Entry:
    found = dict(zip(COLUMNS, row, strict=True))
    amounts = {name: Fraction(found[name]) for name in ("epsilon", "total", "delta")}
    return Entry(**{**found, **amounts})


def chain(previous: str, row: Row) -> str:
    """SHA-256 over the hash before and the row, as JSON, in hexadecimal.

    A delta of 0 is left out: such rows hash as they did before there were deltas.
    """
    *known, delta = row
    row = row if delta != "0" else tuple(known)
    return hashlib.sha256(_encode([previous, *row]).encode()).hexdigest()
