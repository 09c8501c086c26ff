"""What a database has released already under one policy file, statement by statement."""

from __future__ import annotations

import datetime
import json
from functools import partial

from dp4sql.budget.kept import KeptAnswers, period
from dp4sql.execution import Engine
from dp4sql.mechanisms.derived import view
from dp4sql.mechanisms.shelf import Deriving, Shelf
from dp4sql.mechanisms.stages import Price
from dp4sql.mechanisms.stored import digest
from dp4sql.policy.labels import Allowance, PolicySet
from dp4sql.postprocess import bins_of
from dp4sql.preparation import Prepared
from dp4sql.settings import Settings


class Shelves:
    def __init__(self, policy: PolicySet, engine: Engine, kept: KeptAnswers) -> None:
        self._policy, self._engine, self._kept = policy, engine, kept

    def of(self, prepared: Prepared, asked: Price, settings: Settings, role: str) -> Shelf:
        """What is kept of the statement already."""
        shelf = self._shelf(prepared, f"{digest(self.data(role))}/{self._policy.fingerprint}")
        shelf.find(prepared.plan, asked, settings.reuse)
        return shelf

    def empty(self, prepared: Prepared) -> Shelf:
        """For a statement that releases nothing."""
        return self._shelf(prepared, "")

    def _shelf(self, prepared: Prepared, scope: str) -> Shelf:
        deriving = Deriving(
            lambda stage: view(stage, self._policy, prepared.facts, self._engine.dialect),
            partial(bins_of, self._engine.scratch),
        )
        return Shelf(self._kept, scope, prepared.identities, deriving)

    def data(self, role: str) -> str:
        """The database and the version of its data; for a role with an allowance the role, too.

        An allowance bounds what the role has been told, so it is not told what others paid for.
        """
        now, database = datetime.datetime.now(datetime.UTC), self._engine.backend.identity
        version = self._kept.data_version(database)
        limited = any(p.allowance(role) != Allowance() for p in self._policy.policies)
        parts = (database, str(version), period(self._policy.refreshed, now))
        return json.dumps([*parts, role if limited else None])
