"""Actions as sums of terms (sensitivity.md section 2; paper section 6.1).

A term stands for at most `n` slots. A slot holds at most one row of the view before and at most one
after; rows outside every slot are the same on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from dp4sql.algebra.bounds import Bound, least, plus
from dp4sql.errors import TooComplex

TermKind: TypeAlias = Literal["Del", "Add", "Rep", "Opt"]
Attrs: TypeAlias = frozenset[str]
Distinct: TypeAlias = Mapping[Attrs, tuple[Bound, Bound]]

NONE: Attrs = frozenset()


@dataclass(frozen=True, slots=True)
class Term:
    """`kind` n A. `attrs` are the columns that may differ where a slot has a row on both sides.

    `distinct[X]` bounds how many different X-values the slots take (before, after). `absent` are columns that
    are NULL in every row of the slots, on either side.
    """

    kind: TermKind
    n: Bound
    attrs: Attrs = NONE
    distinct: Distinct = field(default_factory=dict, compare=False)
    absent: Attrs = field(default=NONE, compare=False)

    def before(self, columns: Attrs) -> Bound:
        if self.kind == "Add":
            return 0
        return self._values(columns, 0)

    def after(self, columns: Attrs) -> Bound:
        if self.kind == "Del":
            return 0
        return self._values(columns, 1)

    def _values(self, columns: Attrs, side: Literal[0, 1]) -> Bound:
        if not columns:
            return least(1, self.n)
        wider = [pair[side] for known, pair in self.distinct.items() if columns <= known]
        return least(self.n, *wider)

    def fixes(self, columns: Attrs) -> bool:
        """A slot with rows on both sides has the same values of `columns` in both."""
        return not self.attrs & columns

    def stays(self, columns: Attrs) -> bool:
        """Rep with `columns` fixed: seen through them alone nothing has changed."""
        return self.kind == "Rep" and self.fixes(columns)

    def __str__(self) -> str:
        attrs = f" {{{', '.join(sorted(self.attrs))}}}" if self.attrs else ""
        return f"{self.kind} {self.n}{attrs}"


Terms: TypeAlias = tuple[Term, ...]
MOST_TERMS: Final = 4096


def touched(term: Term, columns: Attrs) -> Bound:
    """How many values of `columns` have a row that changed, came or went."""
    before, after = term.before(columns), term.after(columns)
    if term.stays(columns):
        return least(before, after)
    both = plus(before, after)
    return least(both, term.n) if term.fixes(columns) else both


def tidy(terms: Iterable[Term]) -> Terms:
    """Without the terms that say nothing: no slots, or rows that stay equal. An outer join may double them."""
    found = tuple(t for t in terms if t.n != 0 and not (t.kind == "Rep" and not t.attrs))
    if len(found) > MOST_TERMS:
        raise TooComplex(
            "the statement joins too many tables for its bounds to be worked out",
            hint="Leave out what is not asked for; joins from a foreign key to its key cost nothing.",
        )
    return found


def total(terms: Iterable[Term]) -> Bound:
    return plus(*(term.n for term in terms))


def changed(terms: Iterable[Term]) -> Attrs:
    return frozenset().union(*(term.attrs for term in terms))


def comes_or_goes(terms: Iterable[Term]) -> bool:
    return any(term.kind != "Rep" for term in terms)


def show(terms: Terms) -> str:
    return " + ".join(map(str, terms)) if terms else "(none)"


def map_distinct(distinct: Distinct, name: Callable[[str], str | None]) -> Distinct:
    """Entries under new column names; an entry with a column that has none is dropped."""
    result: dict[Attrs, tuple[Bound, Bound]] = {}
    for columns, pair in distinct.items():
        new = [name(column) for column in columns]
        if all(n is not None for n in new):
            result[frozenset(n for n in new if n is not None)] = pair
    return result


def seen_through(terms: Terms, columns: Attrs) -> Terms:
    """The terms seen through `columns` alone (a projection without computed columns)."""
    return tidy(
        replace(
            term,
            attrs=term.attrs & columns,
            distinct={x: pair for x, pair in term.distinct.items() if x <= columns},
            absent=term.absent & columns,
        )
        for term in terms
    )
