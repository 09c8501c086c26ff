"""The `profiles:` section as the mechanisms read it. All of it is public and reviewable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias

ScorerName: TypeAlias = Literal["codebook", "table", "lexical", "embedding"]


@dataclass(frozen=True, slots=True)
class Category:
    """One value that a release can show. `texts` describe it to the scorers, the title first."""

    code: str
    title: str
    texts: tuple[str, ...]
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Domain:
    """A public classification. `verified` is false where the list was not compared with its source."""

    name: str
    title: str
    source: str
    verified: bool
    categories: tuple[Category, ...]

    @property
    def codes(self) -> tuple[str, ...]:
        return tuple(category.code for category in self.categories)


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """One attribute of a profile: a column of the entity's row or of rows it owns.

    `private`: the column is rep under the profile's policy. `values` lists what the private value can be
    (None for free text). `codebook` maps texts to positions in the domain, `scores` texts to one score a
    category; both are keyed by `normal` text.
    """

    name: str
    table: str
    column: str
    private: bool
    identifier: bool = False
    domain: Domain | None = None
    scorers: tuple[ScorerName, ...] = ()
    values: tuple[str, ...] | None = None
    codebook: Mapping[str, int] = field(default_factory=dict)
    scores: Mapping[str, tuple[Fraction, ...]] = field(default_factory=dict)
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A public judgement about two fields: how strongly `source` tells of `target` (closure), or how much
    the two gain from being drawn together (groups)."""

    source: str
    target: str
    score: Fraction


@dataclass(frozen=True, slots=True, eq=False)
class Compatibility:
    """How well each category of one field goes with each of another, from 0 to 1, by position."""

    fields: tuple[str, str]
    table: tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """What may be released of one entity. `policies` are the names of the policies that some private
    field is rep under: each is charged. `budget` is what all releases of one entity may lose, within the
    policies' own budgets. `roles` names the entity that a role may ask for: a pattern
    such as agent_{entity}, or a mapping; None binds nobody."""

    name: str
    entity: str
    policy: str
    policies: tuple[str, ...]
    fields: Mapping[str, Field]
    closure: tuple[Link, ...] = ()
    closure_threshold: Fraction = Fraction(1, 2)
    groups: tuple[Link, ...] = ()
    group_threshold: Fraction = Fraction(1, 2)
    block_cap: int = 2000
    gamma: Fraction = Fraction(2)
    pairs: tuple[Compatibility, ...] = ()
    budget: Fraction | None = None
    roles: str | Mapping[str, str] | None = None
    comment: str | None = None

    @property
    def withheld(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.fields.values() if f.private or f.identifier)


def normal(text: str) -> str:
    """The form in which texts are compared: case and spacing do not matter."""
    return " ".join(text.split()).casefold()
