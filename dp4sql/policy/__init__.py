"""Policy files: reading, validation, consistency checks."""

from dp4sql.policy.file import json_schema
from dp4sql.policy.lines import Lines
from dp4sql.policy.load import load_policy
from dp4sql.policy.models import FileModel
from dp4sql.policy.shape import validate_section

__all__ = ["FileModel", "Lines", "json_schema", "load_policy", "validate_section"]
