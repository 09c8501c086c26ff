"""The shape of the `profiles:` section and of domain files."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, PlainValidator, Tag

from dp4sql.policy.models import Count, FileModel, Names, Positive, by_shape
from dp4sql.policy.profiles.types import ScorerName
from dp4sql.policy.types import exact


def _unit(raw: Any) -> Fraction:
    number = exact(raw)
    if not 0 <= number <= 1:
        raise ValueError("a number from 0 to 1")
    return number


def _gamma(raw: Any) -> Fraction:
    number = exact(raw)
    if not 0 <= number <= 50:
        raise ValueError("a number from 0 to 50")
    return number


Unit = Annotated[Fraction, PlainValidator(_unit, json_schema_input_type=float)]
Gamma = Annotated[Fraction, PlainValidator(_gamma, json_schema_input_type=float)]
Pair = Annotated[list[str], Field(min_length=2, max_length=2)]


class CategoryModel(FileModel):
    code: str = Field(description="the category's code in quotes, as its source writes it")
    title: str = Field(description="what a release shows")
    texts: list[str] = Field(
        default_factory=list, description="[text, ...] that scorers compare values with"
    )
    parent: str | None = Field(
        default=None, description="the code of the wider category, in quotes"
    )


class DomainModel(FileModel):
    """A public classification that withheld values are released in."""

    name: str = Field(description="the file's name without .yaml")
    title: str = Field(description="what the classification is called")
    source: str = Field(description="who publishes it and under which name")
    verified: bool = Field(description="true when the list was compared with its source")
    categories: Annotated[list[CategoryModel], Field(min_length=2)] = Field(
        description="[{code: ..., title: ...}, ...], two or more"
    )


class FieldModel(FileModel):
    """One attribute of the profile."""

    column: str = Field(description="table.column, in the entity's table or one that refers to it")
    domain: str | None = Field(
        default=None,
        description="a file in domains/ by name; without one a withheld value is suppressed",
    )
    scorer: Annotated[
        Annotated[ScorerName, Tag("(word)")] | Annotated[list[ScorerName], Tag("(list)")],
        Discriminator(lambda raw: "(list)" if isinstance(raw, list) else "(word)"),
    ] = Field(
        default="codebook",
        description="codebook, table, lexical, embedding, or a list asked in order",
    )
    codebook: str | None = Field(
        default=None, description="a CSV file value,code; codebooks/<domain>.csv when left out"
    )
    scores: str | None = Field(
        default=None, description="a CSV file value,code,score for the scorer table"
    )
    values: Literal["public_list", "free_text"] | None = Field(
        default=None,
        description="public_list (the column's domain, or what the codebook lists) or free_text",
    )
    identifier: bool = Field(default=False, description="true where the value is always suppressed")
    comment: str | None = Field(
        default=None, description="a text for the person whose profile it is"
    )


class ClosureModel(FileModel):
    """How strongly one field tells of another."""

    source: str = Field(alias="from", description="the field that tells")
    target: str = Field(alias="to", description="the field it tells of")
    score: Unit = Field(description="how strongly, from 0 to 1")


class GroupModel(FileModel):
    """Fields that gain from being drawn together."""

    fields: Names = Field(description="[field, ...] of one table")
    score: Unit = Field(default=Fraction(1), description="how much they gain, from 0 to 1")


class PairModel(FileModel):
    """Which categories of two fields go together."""

    fields: Pair = Field(description="[field, field]")
    table: str = Field(
        description="a CSV file: codes of the first field down, of the second across"
    )


class PriorModel(FileModel):
    """The public prior of fields that are drawn together."""

    gamma: Gamma = Field(default=Fraction(2), description="its strength, from 0 (none) to 50")
    pairs: list[PairModel] = Field(
        default_factory=list, description="[{fields: [a, b], table: file}]"
    )


class ProfileModel(FileModel):
    """What may be released of one entity, and how."""

    entity: str = Field(description="the table whose rows have profiles")
    policy: str | None = Field(
        default=None, description="the policy that protects it; needed where several do"
    )
    budget: Positive | None = Field(
        default=None,
        description="what all releases of one entity may lose, such as 10; the policy's budget when left out",
    )
    fields: dict[str, FieldModel] = Field(
        description="{field: {column: table.column, ...}}, the attributes of the profile"
    )
    default_policy: dict[str, Literal["share", "withhold"]] = Field(
        default_factory=dict, description="{field: share or withhold}, as the labels say anyway"
    )
    closure: list[ClosureModel] = Field(
        default_factory=list, description="[{from: field, to: field, score: 0.9}, ...]"
    )
    closure_threshold: Unit = Field(
        default=Fraction(1, 2),
        description="a shared field joins the withheld ones from this score on",
    )
    groups: list[
        Annotated[
            Annotated[GroupModel, Tag("(mapping)")] | Annotated[Names, Tag("(list)")],
            by_shape("(mapping)", "(list)"),
        ]
    ] = Field(
        default_factory=list, description="[[field, field], ...] or [{fields: [...], score: 0.7}]"
    )
    group_threshold: Unit = Field(
        default=Fraction(1, 2), description="fields are drawn together above this score"
    )
    block_cap: Count = Field(
        default=2000, description="how many combinations one draw may have, 1 or more"
    )
    prior: PriorModel = Field(default_factory=PriorModel, description="{gamma: 2.0, pairs: [...]}")
    roles: (
        Annotated[
            Annotated[dict[str, str], Tag("(mapping)")] | Annotated[str, Tag("(word)")],
            by_shape("(mapping)", "(word)"),
        ]
        | None
    ) = Field(
        default=None,
        description="who may ask for whom: agent_{entity}, or {role: key}; anybody when left out",
    )
    comment: str | None = Field(default=None, description="what the profile is for")
