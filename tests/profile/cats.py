"""Cats with moods: the toy policy on a small database, and how tests ask of it."""

from __future__ import annotations

import asyncio

import dp4sql
from tests.profile.toys import policy, write

CATS = [
    ("c1", "Tom", "happy", "happy", "huge"),
    ("c2", "Kit", "sad", "sad", "tiny"),
    ("c3", "Ann", None, None, None),
]
MEALS = [(1, "c1", "small"), (2, "c1", "large"), (3, "c2", None), (4, "c1", "medium")]
CERTAIN = 900
"""An epsilon at which another category than the best has no chance worth mentioning."""


def opened(tmp_path, database, content=None):
    path = write(tmp_path, content)
    return dp4sql.open_pipeline(policy=path, database=database, ledger=tmp_path / "ledger")


def rich(**profile):
    """The toy policy with a budget for tests that want certain answers."""
    content = policy()
    content["policies"]["cat"]["budget"] = 100_000
    content["profiles"]["vet"] |= profile
    return content


def ask(pipeline, sql, *parameters, role="", settings=None):
    return asyncio.run(pipeline.query(sql, parameters, settings, role=role))


def release(pipeline, arguments, columns="*", role=""):
    return ask(pipeline, f"SELECT {columns} FROM dp4sql.release_profile({arguments})", role=role)


def spent(pipeline, member=""):
    return pipeline.ledger.spent(pipeline.backend.identity, "cat", "cat", member)
