"""What a database has released already under one policy file, statement by statement."""

from __future__ import annotations

import datetime
import json
from functools import partial

from dp4sql.budget.kept import Keeping, KeptAnswers, period
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

    def keeping(self) -> Keeping:
        """For one statement. Waits for nothing: the version of the data comes with `of`."""
        return Keeping(self._kept, self._engine.backend.identity)

    def of(
        self, prepared: Prepared, keeping: Keeping, asked: Price, settings: Settings, role: str
    ) -> Shelf:
        """What is kept of the statement already."""
        keeping.version = self._kept.data_version(keeping.database)
        scope = f"{digest(self.data(keeping, role))}/{self._policy.fingerprint}"
        shelf = self._shelf(prepared, keeping, scope)
        shelf.find(prepared.plan, asked, settings.reuse)
        return shelf

    def empty(self, prepared: Prepared, keeping: Keeping) -> Shelf:
        """For a statement that releases nothing."""
        return self._shelf(prepared, keeping, "")

    def _shelf(self, prepared: Prepared, keeping: Keeping, scope: str) -> Shelf:
        deriving = Deriving(
            lambda stage: view(stage, self._policy, prepared.facts, self._engine.dialect),
            partial(bins_of, self._engine.scratch),
        )
        return Shelf(keeping, scope, prepared.identities, deriving)

    def data(self, keeping: Keeping, role: str) -> str:
        """The database and the version of its data; for a role with an allowance the role, too.

        An allowance bounds what the role has been told, so it is not told what others paid for.
        """
        now = datetime.datetime.now(datetime.UTC)
        limited = any(p.allowance(role) != Allowance() for p in self._policy.policies)
        parts = (keeping.database, str(keeping.version), period(self._policy.refreshed, now))
        return json.dumps([*parts, role if limited else None])
