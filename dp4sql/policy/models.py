"""The shape of a policy file; the JSON Schema for editors is generated from it.

A field's description is its documentation twice: in editors, and as the hint when the field is
wrong. That tables, policies, columns and keys are not empty is checked later, because something
empty stands in for one that cannot be read.

A model derived from `FileModel` gets line numbers, hints and a place in the JSON Schema by being the
type of a field of `PolicyFile` (dp4sql/policy/file.py).
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    ValidationInfo,
    model_validator,
)

from dp4sql.algebra.types import Type
from dp4sql.policy.types import exact, parse_type


class FileModel(BaseModel):
    """A mapping of the file: unknown keys are errors and nothing is converted."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True
    )

    @model_validator(mode="before")
    @classmethod
    def _remember(cls, raw: Any, info: ValidationInfo) -> Any:
        """Note which model reads which mapping: a mistake in it can then name its fields."""
        if isinstance(info.context, dict):
            info.context[id(raw)] = cls
        return raw


def _type(raw: Any) -> Type:
    # A Type stands in for a type that could not be read.
    return raw if isinstance(raw, Type) else parse_type(str(raw))


def _positive(raw: Any) -> Fraction:
    number = exact(raw)
    if number <= 0:
        raise ValueError("a number above 0")
    return number


def _scalar(raw: Any) -> Any:
    if not isinstance(raw, str | bool | int | Decimal | Fraction):
        raise ValueError("a single value")
    return raw


def by_shape(mapping: str, other: str) -> Discriminator:
    """Choose the member of a union by whether the file has a mapping: one error instead of two."""

    def choose(raw: Any) -> str:
        return mapping if isinstance(raw, dict) else other

    return Discriminator(choose)


def _whole_column(raw: Any) -> Any:
    return {"type": raw} if isinstance(raw, str) else raw


TypeName = Annotated[Type, PlainValidator(_type, json_schema_input_type=str)]
Positive = Annotated[Fraction, PlainValidator(_positive, json_schema_input_type=float)]
Scalar = Annotated[Any, PlainValidator(_scalar, json_schema_input_type=str | bool | float)]
Names = Annotated[list[str], Field(min_length=1)]
Count = Annotated[int, Field(ge=1)]
Refreshed: TypeAlias = Literal["hourly", "daily", "weekly", "monthly"]


class IntegerDomain(FileModel):
    """Every whole number from `from` to `to`, both included."""

    first: int = Field(alias="from", description="the first whole number of the domain")
    last: int = Field(alias="to", description="the last whole number of the domain")


class ColumnModel(FileModel):
    """One column; `name: integer` is short for `name: {type: integer}`."""

    type: TypeName = Field(
        description="a Postgres type such as integer, bigint, numeric(15,2), double precision, "
        "boolean, text, varchar(25), char(1), date, timestamp, timestamptz or uuid"
    )
    nullable: bool = Field(
        False, description="true where NULL may occur, false (the default) where not"
    )
    range: Annotated[list[Scalar], Field(min_length=2, max_length=2)] | None = Field(
        None, description="[lowest, highest], numbers or ISO dates; sums clamp values to it"
    )
    unit: Positive | None = Field(
        None, description="the grid sums are measured on, such as 0.01 for cents"
    )
    domain: (
        Annotated[
            Annotated[IntegerDomain, Tag("(span)")] | Annotated[list[Scalar], Tag("(list)")],
            by_shape("(span)", "(list)"),
        ]
        | None
    ) = Field(None, description="the public bins of GROUP BY: [CS, Math], or {from: 1, to: 1000}")
    other: Scalar | None = Field(None, description="the bin for values outside the domain")
    comment: str | None = Field(None, description="a text for the analysts who read the schema")


class ForeignKeyModel(FileModel):
    """A foreign key, of one column or several."""

    columns: Names = Field(
        description="the referring columns, in the order of the other table's key"
    )
    references: str = Field(description="the table referred to")


class FrequencyRows(FileModel):
    """A bound with its enforcement, for one column."""

    rows: Count = Field(description="how many rows share one value at most, 1 or more")
    enforce: Literal["trust", "truncate"] = Field(
        "trust", description="trust (the default) or truncate"
    )


class FrequencyModel(FrequencyRows):
    """A bound for the values of several columns together."""

    columns: Names = Field(
        description="the columns whose values, taken together, the bound is about"
    )


class TableModel(FileModel):
    """One table of the database, or of another schema as `sales.orders`."""

    key: list[str] = Field(
        json_schema_extra={"minItems": 1}, description="[column, ...], the primary key"
    )
    rows: Annotated[int, Field(ge=1)] | None = Field(
        None, description="the largest size in any admissible database, 1 or more"
    )
    foreign_keys: Annotated[
        Annotated[dict[str, str], Tag("(mapping)")]
        | Annotated[list[ForeignKeyModel], Tag("(list)")],
        by_shape("(mapping)", "(list)"),
    ] = Field(
        default_factory=dict,
        description="{column: table}, or a list of {columns: [column, ...], references: table}",
    )
    max_frequency: Annotated[
        Annotated[
            dict[
                str,
                Annotated[
                    Annotated[FrequencyRows, Tag("(rows)")] | Annotated[Count, Tag("(count)")],
                    by_shape("(rows)", "(count)"),
                ],
            ],
            Tag("(mapping)"),
        ]
        | Annotated[list[FrequencyModel], Tag("(list)")],
        by_shape("(mapping)", "(list)"),
    ] = Field(
        default_factory=dict,
        description="{column: most rows with one value}, "
        "or a list of {columns: [column, ...], rows: 7}",
    )
    columns: dict[
        str,
        Annotated[
            ColumnModel, BeforeValidator(_whole_column, json_schema_input_type=str | ColumnModel)
        ],
    ] = Field(
        json_schema_extra={"minProperties": 1},
        description="{column: type} or {column: {type: ..., ...}}, in the table's order",
    )
    comment: str | None = Field(None, description="a text for the analysts who read the schema")


class RepModel(FileModel):
    """The label REP: values are private, rows are not."""

    rep: Annotated[
        Annotated[Literal["all"], Tag("(word)")] | Annotated[Names, Tag("(list)")],
        Discriminator(lambda raw: "(word)" if isinstance(raw, str) else "(list)"),
    ] = Field(description="[column, ...] or all, which is every column but the key")


class RenewalModel(FileModel):
    """Amounts that are available anew at midnight UTC."""

    day: Positive | None = Field(None, description="what may be spent each day, such as 1")
    week: Positive | None = Field(
        None, description="what may be spent each week from Monday on, such as 5"
    )
    month: Positive | None = Field(
        None, description="what may be spent each calendar month, such as 10"
    )


class AllowanceModel(FileModel):
    """What one role may spend under a policy, within what everybody may."""

    budget: Positive | None = Field(
        None, description="what all queries of the role may spend together, such as 5"
    )
    max_charge: Positive | None = Field(
        None, description="what one query of the role may cost, such as 0.5"
    )
    renewal: RenewalModel | None = Field(
        None, description="{day: 1}, {week: 5} or {month: 10}, or several of them"
    )


class PolicyModel(FileModel):
    """What is private of one entity, and how strongly."""

    entity: str = Field(
        description="the table whose rows are protected, with all they own elsewhere"
    )
    epsilon: Positive = Field(
        description="what one query spends unless it asks otherwise, such as 1.0"
    )
    budget: Positive | None = Field(
        None, description="what all queries together may spend, such as 20; no limit when left out"
    )
    labels: dict[
        str,
        Annotated[
            Annotated[RepModel, Tag("(rep)")] | Annotated[Literal["del", "pub"], Tag("(word)")],
            by_shape("(rep)", "(word)"),
        ],
    ] = Field(description="one label for each table: del, pub, {rep: [column, ...]} or {rep: all}")
    max_owned: dict[str, Count] = Field(
        default_factory=dict,
        description="{table: most rows one entity owns in it}, where that is known to be less "
        "than what max_frequency implies",
    )
    accountant: Literal["pure", "zcdp"] = Field(
        "pure",
        description="pure (the default) or zcdp: how losses add up; zcdp needs a delta",
    )
    delta: Positive | None = Field(
        None, description="the delta of the guarantee under accountant zcdp, such as 0.000001"
    )
    max_charge: Positive | None = Field(
        None,
        description="what one query may cost at most, such as 2: up to it a session may ask for more "
        "than epsilon",
    )
    renewal: RenewalModel | None = Field(
        None,
        description="{day: 1}, {week: 5} or {month: 10}, or several of them: what all queries together "
        "may spend in each, besides the budget",
    )
    roles: dict[
        str,
        Annotated[
            Annotated[AllowanceModel, Tag("(limits)")] | Annotated[Positive, Tag("(amount)")],
            by_shape("(limits)", "(amount)"),
        ],
    ] = Field(
        default_factory=dict,
        description="{role: budget} or {role: {budget: ..., max_charge: ..., renewal: ...}}; the role "
        "public stands for each one that is not named",
    )
    comment: str | None = Field(None, description="what the policy protects, in words")


class DataModel(FileModel):
    """When the data changes."""

    refreshed: Refreshed = Field(
        description="hourly, daily, weekly or monthly (in UTC, weeks start on Monday)"
    )
