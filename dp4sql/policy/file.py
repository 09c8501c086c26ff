"""A policy file as a whole: tables, policies, and the sections of single features."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

from pydantic import Field
from pydantic.json_schema import GenerateJsonSchema

from dp4sql.policy.certify import CertifyModel
from dp4sql.policy.models import DataModel, FileModel, PolicyModel, TableModel
from dp4sql.policy.profiles.models import ProfileModel


class PolicyFile(FileModel):
    """A dp4sql policy file: the public schema, and what is private of whom."""

    dp4sql: Literal[1] = Field(1, description="the version of this format, 1")
    tables: dict[str, TableModel] = Field(
        json_schema_extra={"minProperties": 1},
        description="{table: {key: [...], columns: {...}}}, every table that queries may read",
    )
    policies: dict[str, PolicyModel] = Field(
        json_schema_extra={"minProperties": 1},
        description="{policy: {entity: ..., epsilon: ..., labels: {...}}}, at least one",
    )
    comment: str | None = Field(None, description="what the data set is")
    certify: CertifyModel | None = Field(
        None, description="{defaults: {...}, templates: {...}}, statements that may be certified"
    )
    data: DataModel | None = Field(
        None, description="{refreshed: daily}, when the data changes: repeats show no older answers"
    )
    profiles: dict[str, ProfileModel] | None = Field(
        None,
        description="{profile: {entity: ..., fields: {...}}}, what may be released of one entity",
    )


class _Generator(GenerateJsonSchema):
    """Writes the default 1/20 as the number 0.05."""

    def encode_default(self, dft: Any) -> Any:
        return float(dft) if isinstance(dft, Fraction) else super().encode_default(dft)


def json_schema() -> dict[str, Any]:
    """The JSON Schema of policy files, as policies/policy.schema.json holds it for editors."""
    return PolicyFile.model_json_schema(by_alias=True, schema_generator=_Generator)
