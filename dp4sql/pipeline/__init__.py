"""One query, top to bottom.

sql -> plan -> price          pure: no data, no randomness; EXPLAIN and Describe stop here
    -> accounts.charge        durable before any row is read
    -> backend.fetch          exact integers, opaque
    -> add_noise              the only thing that leaves
    -> post-processing        over released rows, in an empty DuckDB

The steps have modules of their own, in this order: preparation (plan, price and what is said of them), shelves
(what was released already), admission (what is due, and whether one query may cost it), accounts (the charge),
execution (stage after stage, on the engine), postprocess (over released rows), errorbars (how far off they
may be).
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Final, Literal
from weakref import WeakValueDictionary

from dp4sql.algebra.types import Type, Value
from dp4sql.aside import aside
from dp4sql.backends.base import Backend, query_canceled
from dp4sql.budget.cost import Charge
from dp4sql.budget.journal import Asked, Journal, Outcome
from dp4sql.budget.kept import Keeping, KeptAnswers
from dp4sql.budget.ledger import Ledger
from dp4sql.curator.differences import require_schema
from dp4sql.errors import BudgetExceeded, Dp4sqlError, EngineError, QueryCanceled
from dp4sql.mechanisms.calls import Environment, Opened
from dp4sql.mechanisms.functions import FUNCTIONS
from dp4sql.mechanisms.kept.shelf import NOT_KEPT, Shelf, repeated
from dp4sql.mechanisms.stages import Plan, Price
from dp4sql.pipeline import errorbars
from dp4sql.pipeline.accounts import Accounts, observed, say_charged
from dp4sql.pipeline.admission import check_price, due
from dp4sql.pipeline.engine import Engine, Steps
from dp4sql.pipeline.execution import Execution
from dp4sql.pipeline.postprocess import Rows
from dp4sql.pipeline.preparation import (
    Parameters,
    Prepared,
    Quote,
    Shape,
    epsilons,
    explained,
    prepare,
    priced,
    quoted,
    rendered,
    shares_sums,
    told,
    typed,
    weight,
)
from dp4sql.pipeline.shelves import Shelves
from dp4sql.policy.labels import PolicySet
from dp4sql.remember import Remembered
from dp4sql.rows import Released
from dp4sql.settings import Settings
from dp4sql.sql.lower.expressions.moments import fixed

#: Characters of the statements whose plans are kept; a plan takes up to a kilobyte for each.
MAX_PLANS: Final = 250_000
MAYBE_CHARGED: Final = "The query may have been charged."


class Pipeline:
    """Answers queries on one database under one policy file."""

    def __init__(
        self,
        policies: PolicySet,
        backend: Backend,
        ledger: Ledger,
        *,
        journals: Sequence[Journal] = (),
        observe: bool = False,
        kept: KeptAnswers | None = None,
    ) -> None:
        """`observe`: queries are priced and nothing else; no rows, no charges. `kept`: answers that are
        beside the ledger, where that is open already."""
        self.policy, self.backend, self.ledger = policies, backend, ledger
        self._journals, self._observe = journals, observe
        self._kept = kept or KeptAnswers(ledger.where)
        self._engine, self._accounts = Engine(backend), Accounts(ledger, backend.identity)
        self._shelves = Shelves(policies, self._engine, self._kept)
        self._prepare = Remembered(self._prepared, weight, MAX_PLANS)
        self._starting, self._started = asyncio.Lock(), False
        self._turns: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()

    async def start(self) -> None:
        """Compare the database with the policy and open its accounts, once: before the first query, unless
        it is called earlier. PolicyError lists what the database lacks."""
        if self._started:
            return
        async with self._starting:
            if not self._started:
                await require_schema(self.policy, self.backend)
                if not self._observe:
                    await asyncio.to_thread(self._accounts.open, self.policy)
                self._started = True

    def renewed(self, policies: PolicySet) -> Pipeline:
        """The same under another policy file. Queries that run here go on as they began."""
        return Pipeline(
            policies,
            self.backend,
            self.ledger,
            journals=self._journals,
            observe=self._observe,
            kept=self._kept,
        )

    def _prepared(
        self,
        sql: str,
        parameters: Parameters | None,
        sharing: bool,
        now: datetime.datetime | None,
    ) -> Prepared:
        return rendered(prepare(self.policy, sql, parameters, sharing, now), self._engine.dialect)

    def _planned(
        self,
        sql: str,
        parameters: Parameters | None,
        sharing: bool,
        now: datetime.datetime | None,
    ) -> Prepared:
        """Remembered, as long as what the statement may know of the moment `now` is the same; one plan serves
        Describe and the answer where there are no parameters."""
        now = fixed(sql, now)
        if not parameters:
            found = self._prepare(sql, None, sharing, now)
            if parameters is None or not found.plan.parameters:
                return found
        return self._prepare(sql, parameters, sharing, now)

    # ------------------------------------------------------------ free of charge

    def describe(
        self,
        sql: str,
        parameter_types: Sequence[Type | None] = (),
        settings: Settings | None = None,
        *,
        now: datetime.datetime | None = None,
    ) -> Shape:
        """Columns and parameter types; reads no data."""
        if any(type is not None for type in parameter_types):
            given: Parameters | None = tuple(
                (None, type or Type("unknown")) for type in parameter_types
            )
        else:
            given = None
        settings = settings or Settings()
        prepared = self._planned(sql, given, shares_sums(settings), now)
        return Shape(prepared.columns(settings), prepared.plan.parameters)

    def explain(
        self,
        sql: str,
        parameters: Sequence[Value] = (),
        settings: Settings | None = None,
        *,
        format: Literal["text", "json"] = "text",
        role: str = "",
        now: datetime.datetime | None = None,
    ) -> str:
        """The free derivation of `sql`, and what would become of it. Reads the ledger, so it may take a
        moment; LedgerBroken where that fails."""
        settings = settings or Settings()
        prepared = self._planned(sql, typed(parameters, ()), shares_sums(settings), now)
        found = explained(prepared, self.policy, settings, role, self._engine.dialect)
        found = replace(found, forecast=self._forecast(prepared, settings, role))
        return found.text() if format == "text" else json.dumps(found.as_json(), indent=2)

    def _forecast(self, prepared: Prepared, settings: Settings, role: str) -> tuple[str, ...]:
        """Whether the statement would be answered now, and at what charge. Calls price themselves."""
        if not prepared.plan.releases():
            return ()
        wanted = priced(prepared, self.policy, settings, role)
        shelf = self._shelves.of(prepared, self._shelves.keeping(), wanted, settings, role)
        charges = self._charges(repeated(prepared.plan, wanted, shelf.found), {}, role)
        said = [*shelf.words(prepared.plan), *self._accounts.before(charges)]
        try:
            check_price(charges, self.policy, settings, role)
        except BudgetExceeded as error:
            said.append(f"refused if asked now: {error.message}")
        return tuple(said)

    # ------------------------------------------------------------ answering

    async def query(
        self,
        sql: str,
        parameters: Sequence[Value] = (),
        settings: Settings | None = None,
        *,
        parameter_types: Sequence[Type | None] = (),
        role: str = "",
        now: datetime.datetime | None = None,
    ) -> Released:
        """Charge, read, release. Nothing is charged when this raises before the read. `now` is the moment of
        the statement in the session's time zone, by default the present in UTC."""
        asked = Asked(role, sql, parameters)
        try:
            await self.start()
            released = await self._answer(asked, settings or Settings(), parameter_types, now)
        except BaseException as error:
            self._ended(asked, "failed" if asked.started else "refused", error)
            raise
        self._ended(asked, "observed" if self._observe else "answered", None)
        return released

    async def _answer(
        self,
        asked: Asked,
        settings: Settings,
        parameter_types: Sequence[Type | None],
        now: datetime.datetime | None,
    ) -> Released:
        given = typed(asked.parameters, parameter_types)
        sharing = shares_sums(settings)
        prepared = await aside(asked.statement, self._planned, asked.statement, given, sharing, now)
        # Equal statements take turns, so that all but the first are repeats.
        key = (prepared.identities, asked.role)
        turn = self._turns.setdefault(key, asyncio.Lock()) if settings.reuse != "off" else None
        async with turn or contextlib.nullcontext():
            return await self._answer_alone(asked, settings, prepared)

    async def _answer_alone(self, asked: Asked, settings: Settings, prepared: Prepared) -> Released:
        keeping = self._shelves.keeping()
        asked.trouble = await self._engine.trouble()
        calls = await self._open_calls(prepared.plan, keeping, settings, asked.role)
        steps = self._steps(asked, settings, prepared, keeping, calls)
        abandon = partial(self._abandon, asked, keeping)
        return await self._engine.run(steps, abandon, calls=bool(calls))

    def _steps(
        self,
        asked: Asked,
        settings: Settings,
        prepared: Prepared,
        keeping: Keeping,
        calls: Mapping[int, Opened],
    ) -> Steps[Released]:
        """All that waits for the disk, the engine and the noise."""
        quote = quoted(prepared, self.policy, settings, asked.role)
        shelf, cost = self._admit(asked, settings, prepared, quote, keeping, calls)
        known = cost is quote.price
        notices = [
            *(quote.notices if known else told(prepared, self.policy, cost, settings, asked.role)),
            *chain(*(c.notices for c in calls.values())),
        ]
        columns = prepared.columns(settings)
        if self._observe:
            return Released(columns, [], (*notices, *observed(asked.charges)))
        execution = Execution(self._engine, prepared, cost, calls, shelf, settings)
        rows, widths, ended = yield from self._paid(asked, execution, keeping)
        accounts = self._accounts.charged(asked.charges) if ended else (NOT_KEPT,)
        simulated = errorbars.notices(prepared.outputs, widths)
        said = (*notices, *simulated, *shelf.words(prepared.plan), *accounts)
        return Released(columns, rows, said)

    def _admit(
        self,
        asked: Asked,
        settings: Settings,
        prepared: Prepared,
        quote: Quote,
        keeping: Keeping,
        calls: Mapping[int, Opened],
    ) -> tuple[Shelf, Price]:
        """What is kept of the statement already, and the price of the rest, which is charged."""
        shelf = self._shelves.empty(prepared, keeping)
        if prepared.plan.releases():
            shelf = self._shelves.of(prepared, keeping, quote.price, settings, asked.role)
        cost = repeated(prepared.plan, quote.price, shelf.found) if shelf.found else quote.price
        asked.charges = self._due(quote, cost, calls, settings, asked.role)
        if asked.charges and asked.trouble is not None:
            raise asked.trouble
        asked.derivation = prepared.derivation
        self._priced(asked)
        if asked.withdrawn:
            raise query_canceled()
        if not self._observe:
            self._charge(asked)
        return shelf, cost

    def _charge(self, asked: Asked) -> None:
        asked.started = True
        try:
            asked.query = self._accounts.charge(asked) if asked.charges else None
            asked.charged = True
        except BudgetExceeded:
            asked.started = False
            raise
        except BaseException as error:
            error.add_note(MAYBE_CHARGED)
            raise

    def _paid(
        self, asked: Asked, execution: Execution, keeping: Keeping
    ) -> Steps[tuple[Rows, errorbars.Widths, bool]]:
        """The answer; the ledger is told how it ended, and whether it took that."""
        try:
            if asked.withdrawn:
                raise query_canceled()
            yield None
            rows, widths = yield from execution.steps()
            return rows, widths, self._accounts.close(asked, "answered", keeping)
        except (Exception, asyncio.CancelledError) as error:
            stopped = isinstance(error, QueryCanceled)
            self._engine.doubtful |= isinstance(error, EngineError) and not stopped
            self._accounts.close(asked, "failed", keeping)
            say_charged(error, asked.charges)
            raise

    async def _abandon(self, asked: Asked, keeping: Keeping, error: BaseException) -> None:
        """A cancelled statement whose steps may be anywhere. They charge nothing and read nothing any more, but
        for what they are about to do."""
        asked.withdrawn = asked.started = True
        if asked.charged:
            await asyncio.to_thread(self._accounts.close, asked, "failed", keeping)
            say_charged(error, asked.charges)
        else:
            error.add_note(MAYBE_CHARGED)

    def _due(
        self,
        quote: Quote,
        cost: Price,
        calls: Mapping[int, Opened],
        settings: Settings,
        role: str,
    ) -> Sequence[Charge]:
        """The charges, as far as a query may cost them; those of a quote hold for a day."""
        today, quoted = self.ledger.today(), cost is quote.price and not calls
        if quoted and quote.due is not None and quote.due[0] == today:
            return quote.due[1]
        charges = self._charges(cost, calls, role)
        check_price(charges, self.policy, settings, role)
        if quoted:
            quote.due = today, charges
        return charges

    def _charges(self, cost: Price, calls: Mapping[int, Opened], role: str) -> list[Charge]:
        losses = [loss for call in calls.values() for loss in call.losses]
        return due(self.policy, cost, losses, role, self.ledger.today())

    async def _open_calls(
        self, plan: Plan, keeping: Keeping, settings: Settings, role: str
    ) -> dict[int, Opened]:
        """The functions in FROM, checked and priced; they may read what is public."""
        if not plan.calls():
            return {}
        env = Environment(
            self.policy,
            epsilons(self.policy, settings, role),
            self._engine.dialect,
            role,
            await self._dated(keeping, role),
            self.backend.fetch,
            keeping,
        )
        return {i: await FUNCTIONS[c.function].open(env, c.arguments) for i, c in plan.calls()}

    async def _dated(self, keeping: Keeping, role: str) -> str:
        await asyncio.to_thread(self._shelves.date, keeping)
        return self._shelves.data(keeping, role)

    # ------------------------------------------------------------ journals

    def _priced(self, asked: Asked) -> None:
        for journal in self._journals:
            journal.priced(asked)

    def _ended(self, asked: Asked, outcome: Outcome, error: BaseException | None) -> None:
        for journal in self._journals:
            journal.ended(asked, outcome, error)

    def refused(self, statement: str, role: str, error: Dp4sqlError) -> None:
        """Tell the journals of a statement that did not get as far as `query`."""
        self._ended(Asked(role, statement), "refused", error)

    async def close(self) -> None:
        await self._engine.close()
        self._kept.close()
        self.ledger.close()
