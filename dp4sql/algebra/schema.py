"""The public half of a policy file: tables, keys, foreign keys and declared bounds.

Nothing here comes from data. A name is stored as Postgres stores it: an unquoted SQL identifier is
looked up in lower case, a quoted one as written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from dp4sql.algebra.types import Type, Value


@dataclass(frozen=True, slots=True)
class Column:
    """One attribute and what the curator declares of its values.

    `range` is inclusive. It holds numbers (as Fractions) for numeric columns and ISO days counted from
    1970-01-01 (as Fractions) for date and timestamp columns. `unit` is the grid sums are measured on.
    `domain` lists the public bins in display order; values outside it fall into no bin, or into
    `other` where that is declared.
    """

    name: str
    type: Type
    nullable: bool = False
    range: tuple[Fraction, Fraction] | None = None
    unit: Fraction | None = None
    domain: tuple[Value, ...] | None = None
    other: Value = None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`columns` refer to the primary key of `references`, in the order of that key."""

    columns: tuple[str, ...]
    references: str


@dataclass(frozen=True, slots=True)
class Frequency:
    """At most `rows` rows share one (non-NULL) value of `columns`, in any admissible database."""

    columns: frozenset[str]
    rows: int
    truncate: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """`name` is unique in the schema: `orders`, or `sales.orders` outside schema `public`.

    `rows` is the largest size in any admissible database, or None when it is not declared.
    """

    name: str
    key: tuple[str, ...]
    columns: Mapping[str, Column]
    foreign_keys: tuple[ForeignKey, ...] = ()
    frequencies: tuple[Frequency, ...] = ()
    rows: int | None = None
    comment: str | None = None
    schema: str = "public"
    relname: str = ""


@dataclass(frozen=True, slots=True)
class Schema:
    tables: Mapping[str, Table] = field(default_factory=dict)

    def table(self, name: str) -> Table:
        return self.tables[name]
