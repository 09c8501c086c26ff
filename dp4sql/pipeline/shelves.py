"""What a database has released already under one policy file, statement by statement."""

from __future__ import annotations

import datetime
import json
from functools import lru_cache, partial
from typing import Final

from dp4sql.budget.kept import Keeping, KeptAnswers, period
from dp4sql.mechanisms.kept.derived import View, view
from dp4sql.mechanisms.kept.shelf import Deriving, Shelf
from dp4sql.mechanisms.kept.stored import digest
from dp4sql.mechanisms.stages import Price, Release
from dp4sql.pipeline.engine import Engine
from dp4sql.pipeline.postprocess import bins_of
from dp4sql.pipeline.preparation import Prepared
from dp4sql.policy.labels import Allowance, PolicySet
from dp4sql.settings import Settings

NOTHING: Final = Allowance()


class Shelves:
    def __init__(self, policy: PolicySet, engine: Engine, kept: KeptAnswers) -> None:
        self._policy, self._engine, self._kept = policy, engine, kept

    def keeping(self) -> Keeping:
        """For one statement. Waits for nothing: the version of the data comes with `of`."""
        return Keeping(self._kept, self._engine.backend.identity)

    def date(self, keeping: Keeping) -> None:
        keeping.version = self._kept.data_version(keeping.database)

    def of(
        self, prepared: Prepared, keeping: Keeping, asked: Price, settings: Settings, role: str
    ) -> Shelf:
        """What is kept of the statement already."""
        self.date(keeping)
        scope = _scope(self.data(keeping, role), self._policy.fingerprint)
        shelf = self._shelf(prepared, keeping, scope, settings.nonnegative)
        shelf.find(prepared.plan, asked, settings.reuse)
        return shelf

    def empty(self, prepared: Prepared, keeping: Keeping) -> Shelf:
        """For a statement that releases nothing."""
        return self._shelf(prepared, keeping, "", clamped=False)

    def _shelf(self, prepared: Prepared, keeping: Keeping, scope: str, clamped: bool) -> Shelf:
        bins = partial(bins_of, self._engine.scratch)
        deriving = Deriving(partial(self._view, prepared), bins)
        return Shelf(keeping, scope, prepared.identities, deriving, clamped)

    def _view(self, prepared: Prepared, index: int) -> View | None:
        if index not in prepared.views:
            stage, facts = prepared.plan.stages[index], prepared.facts
            assert isinstance(stage, Release)
            found = view(stage, self._policy, facts, self._engine.dialect)
            prepared.views[index] = found
        return prepared.views[index]

    def data(self, keeping: Keeping, role: str) -> str:
        """The database and the version of its data; for a role with an allowance the role, too.

        An allowance bounds what the role has been told, so it is not told what others paid for.
        """
        now = datetime.datetime.now(datetime.UTC)
        limited = any(p.allowance(role) != NOTHING for p in self._policy.policies)
        parts = (keeping.database, str(keeping.version), period(self._policy.refreshed, now))
        return json.dumps([*parts, role if limited else None])


@lru_cache(maxsize=256)
def _scope(data: str, fingerprint: str) -> str:
    return f"{digest(data)}/{fingerprint}"
