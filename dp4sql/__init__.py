"""dp4sql: SQL answered with differential privacy.

policy = dp4sql.load_policy("policies/university.yaml")
print(dp4sql.explain(policy, "SELECT COUNT(*) FROM student").text())
pipeline = dp4sql.open_pipeline(policy=policy, database="duckdb:///university.duckdb", ledger="my.ledger")
released = await pipeline.query("SELECT COUNT(*) FROM student")

One query passes through these packages, from the client's bytes and back; each one's docstring tells what its
modules are for, and pyproject.toml which may import which:

cli, serving, demo, bench    processes: a proxy from start to stop, commands, measurements
server, session, wire        sockets; what a session asks and keeps; the protocol without sockets
catalog                      what drivers ask beside queries, answered by an empty Postgres
pipeline                     one query, top to bottom: begin to read here
sql, algebra                 text to algebra, and algebra to an engine's text
policy, infer                what is private of whom; how much one entity can change a view
mechanisms, noise            plans, prices and releases; the only place that draws randomness
budget                       the ledger, and answers that are kept
backends                     engines that hold the private data
curator                      checks and drafts of policy files; data: sample data sets

What is shared by all: errors, settings, rows; remember (a cache), aside (threads), garbage (of Python).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from dp4sql.policy.labels import PolicySet

if TYPE_CHECKING:
    from dp4sql.budget.journal import Journal
    from dp4sql.mechanisms.explain import Explanation
    from dp4sql.pipeline import Pipeline

__version__ = version("dp4sql")

PolicySource = PolicySet | str | os.PathLike[str] | Mapping[str, Any]


def load_policy(source: str | os.PathLike[str] | Mapping[str, Any]) -> PolicySet:
    """A policy file (a path, or its parsed content) as a checked PolicySet; PolicyError lists all mistakes."""
    from dp4sql.policy import load_policy as load

    return load(source)


def _policies(source: PolicySource) -> PolicySet:
    return source if isinstance(source, PolicySet) else load_policy(source)


def explain(policy: PolicySource, sql: str) -> Explanation:
    """Per aggregate its `bounds` (policy name -> exact Fraction), derivation, noise scale. Reads no data."""
    from dp4sql.pipeline.preparation import explain as explained

    return explained(_policies(policy), sql)


def open_pipeline(
    *,
    policy: PolicySource,
    database: str,
    ledger: str | os.PathLike[str] | None = None,
    journals: Sequence[Journal] = (),
    observe: bool = False,
) -> Pipeline:
    """A pipeline on `database` (a URL such as duckdb:///file.duckdb) whose charges go to `ledger`, a file or
    a postgresql:// URL; by default a file beside the database. Before the first query, `start` sees to it
    that the database has what the policy names. `journals` are told of each statement; with `observe`
    statements are priced, and neither read nor charged."""
    from dp4sql.backends import open_backend
    from dp4sql.budget.database import beside
    from dp4sql.budget.ledger import Ledger
    from dp4sql.pipeline import Pipeline

    backend = open_backend(database)
    where = beside(backend.identity) if ledger is None else os.fspath(ledger)
    return Pipeline(_policies(policy), backend, Ledger(where), journals=journals, observe=observe)


__all__ = ["__version__", "explain", "load_policy", "open_pipeline"]
