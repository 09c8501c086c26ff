"""The policy file's shape as pydantic models; the JSON Schema for editors is generated from them.

Values that must stay exact (epsilon, range, unit) are accepted as numbers or strings and turned into
Fractions later, from the text that stands in the file.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Scalar = bool | int | float | str
Exact = int | float | str


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=False)


class IntegerDomain(Strict):
    """Every integer from `from` to `to`."""

    from_: int = Field(alias="from")
    to: int


class ColumnModel(Strict):
    type: str = Field(description="A Postgres type: integer, numeric(15,2), text, date ...")
    nullable: bool = Field(default=False, description="Whether NULL may occur.")
    range: tuple[Exact, Exact] | None = Field(
        default=None, description="[lowest, highest] value; sums clamp to it. Dates as 'YYYY-MM-DD'."
    )
    unit: Exact | None = Field(default=None, description="The grid that sums are measured on, such as 0.01.")
    domain: list[Scalar] | IntegerDomain | None = Field(
        default=None, description="The public bins of GROUP BY: a list, or {from: 1, to: 100}."
    )
    other: Scalar | None = Field(default=None, description="The bin that takes values outside the domain.")
    comment: str | None = None


class ForeignKeyModel(Strict):
    columns: list[str] = Field(min_length=1)
    references: str


class FrequencyModel(Strict):
    columns: list[str] = Field(min_length=1)
    rows: int = Field(ge=1, description="Most rows that share one value of the columns.")
    enforce: Literal["trust", "truncate"] = "trust"


class FrequencyRows(Strict):
    rows: int = Field(ge=1)
    enforce: Literal["trust", "truncate"] = "trust"


def _short_column(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


ColumnEntry = Annotated[ColumnModel, BeforeValidator(_short_column)]


class TableModel(Strict):
    key: list[str] = Field(min_length=1, description="The primary key.")
    rows: int | None = Field(default=None, ge=0, description="The largest size the table can have.")
    foreign_keys: dict[str, str] | list[ForeignKeyModel] = Field(default_factory=dict)
    max_frequency: dict[str, int | FrequencyRows] | list[FrequencyModel] = Field(default_factory=dict)
    columns: dict[str, ColumnEntry] = Field(min_length=1)
    comment: str | None = None


class RepLabel(Strict):
    rep: list[str] | Literal["all"]


LabelModel = Literal["del", "pub"] | RepLabel


class PolicyModel(Strict):
    entity: str = Field(description="The table whose rows are protected, with all they own.")
    epsilon: Exact = Field(description="What one query may lose.")
    budget: Exact | None = Field(default=None, description="What all queries together may lose.")
    labels: dict[str, LabelModel]
    max_owned: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    comment: str | None = None


class PolicyFile(Strict):
    """A dp4sql policy file."""

    dp4sql: Literal[1]
    tables: dict[str, TableModel] = Field(min_length=1)
    policies: dict[str, PolicyModel] = Field(min_length=1)
    comment: str | None = None
    certify: dict[str, Any] | None = None
    profiles: dict[str, Any] | None = None


def json_schema() -> dict[str, Any]:
    """The JSON Schema that editors use (policies/policy.schema.json)."""
    schema = PolicyFile.model_json_schema(by_alias=True)
    for name in ("TableModel",):
        columns = schema["$defs"][name]["properties"]["columns"]
        columns["additionalProperties"] = {"anyOf": [columns["additionalProperties"], {"type": "string"}]}
    return schema
