"""From a policy file to a checked PolicySet, or to all of its mistakes in one run."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dp4sql.policy.certify import load_certify
from dp4sql.policy.checks import check
from dp4sql.policy.file import PolicyFile
from dp4sql.policy.labels import PolicySet
from dp4sql.policy.policies import build_policies
from dp4sql.policy.profiles import load_profiles
from dp4sql.policy.shape import read_shape
from dp4sql.policy.source import Source, canonical, read
from dp4sql.policy.tables import build_schema
from dp4sql.policy.truncation import check_truncation, displaced_tables, with_cut_parents


def load_policy(source: str | os.PathLike[str] | Mapping[str, Any]) -> PolicySet:
    """Read and check a policy file, given as a path or as its parsed content.

    Raises PolicyError (F0000) with every mistake in file order. For parsed content the file is
    called `<mapping>` and lines are 0.
    """
    found = read(source)
    file = read_shape(PolicyFile, found.content, found)
    if file is None:
        raise found.error()
    schema = build_schema(file.tables, found)
    policies = check(schema, build_policies(file.policies, schema, found), found)
    displaced: frozenset[str] = frozenset()
    if not found.reports:
        schema = with_cut_parents(schema)
        check_truncation(schema, policies, found)
        displaced = frozenset(t for p in policies for t in displaced_tables(schema, p))
    loaded = PolicySet(
        schema=schema,
        policies=policies,
        covered=frozenset(table for policy in policies for table in policy.labels),
        displaced=displaced,
        source=found.lines.file,
        fingerprint=_fingerprint(found.content),
        refreshed=file.data.refreshed if file.data else None,
        lines=found.lines,
    )
    loaded = replace(loaded, extras=_extras(file, loaded, found))
    if found.reports:
        raise found.error()
    return loaded


def _extras(file: PolicyFile, loaded: PolicySet, source: Source) -> dict[str, Any]:
    """The further sections; what refers to tables and labels is read where those are sound."""
    extras: dict[str, Any] = {}
    if file.certify is not None:
        extras["certify"] = load_certify(file.certify, source)
    if file.profiles is not None and not source.reports:
        extras["profiles"] = load_profiles(file.profiles, loaded, source)
    return extras


def _fingerprint(content: Any) -> str:
    """Changes with anything in the file but layout and remarks; order counts, columns have one."""
    return hashlib.sha256(json.dumps(canonical(content)).encode()).hexdigest()
