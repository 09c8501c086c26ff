"""Policy files: reading, validation, consistency checks."""

from dp4sql.policy.load import load_policy
from dp4sql.policy.models import json_schema

__all__ = ["json_schema", "load_policy"]
