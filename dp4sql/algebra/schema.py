"""The public half of a policy file: tables, keys, foreign keys and declared bounds.

Nothing here comes from data. A name is stored as Postgres stores it: an unquoted SQL identifier is
looked up in lower case, a quoted one as written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from dp4sql.algebra.types import Type, Value


@dataclass(frozen=True, slots=True)
class Column:
    """One attribute and what the curator declares of its values.

    `range` is inclusive. It holds numbers (as Fractions) for numeric columns and ISO days counted from
    1970-01-01 (as Fractions) for date and timestamp columns. `unit` is the grid sums are measured on.
    `domain` lists the public bins in display order, as a `range` where they are whole numbers in a row; values
    outside it fall into no bin, or into `other` where that is declared.
    """

    name: str
    type: Type
    nullable: bool = False
    range: tuple[Fraction, Fraction] | None = None
    unit: Fraction | None = None
    domain: Sequence[Value] | None = None
    other: Value = None
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """`columns` refer to the primary key of `references`, in the order of that key."""

    columns: tuple[str, ...]
    references: str


@dataclass(frozen=True, slots=True)
class Frequency:
    """At most `rows` rows share one (non-NULL) value of `columns`, in any admissible database.

    `truncate`: the proxy sees to it, by leaving rows out; otherwise the curator vouches for the data.
    """

    columns: frozenset[str]
    rows: int
    truncate: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """`name` is unique in the schema: `orders`, or `sales.orders` outside schema `public`.

    `rows` is the largest size in any admissible database, or None when it is not declared.
    `cut_parents` are the tables this one refers to that lose rows by truncation, with the foreign key.
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
    cut_parents: tuple[tuple[ForeignKey, Table], ...] = ()

    @property
    def truncation(self) -> Frequency | None:
        """The bound that the proxy enforces itself, at most one a table."""
        return next((f for f in self.frequencies if f.truncate), None)

    @property
    def left_out(self) -> str:
        """What truncation takes from this table, in words; empty where it takes nothing."""
        said = []
        if (bound := self.truncation) is not None:
            said.append(f"{bound.rows} rows of each {', '.join(sorted(bound.columns))} are seen")
        said += [f"rows go with their {parent.name}" for _, parent in self.cut_parents]
        return ", ".join(said)

    @property
    def cut(self) -> bool:
        """Whether queries see fewer rows than the engine holds."""
        return self.truncation is not None or bool(self.cut_parents)


@dataclass(frozen=True, slots=True)
class Schema:
    tables: Mapping[str, Table] = field(default_factory=dict)

    def table(self, name: str) -> Table:
        return self.tables[name]
