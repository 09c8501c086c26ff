"""One query, top to bottom.

sql -> plan -> price          pure: no data, no randomness; EXPLAIN and Describe stop here
    -> ledger.charge          durable before any row is read
    -> backend.fetch          exact integers, opaque
    -> add_noise              the only thing that leaves
    -> post-processing        over released rows, in an empty DuckDB
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import logging
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import Final, Literal, TypeVar
from weakref import WeakValueDictionary

from dp4sql import errorbars
from dp4sql.admission import check_price, due
from dp4sql.algebra.types import BIGINT, Type, Value
from dp4sql.backends.base import Backend
from dp4sql.backends.duckdb import Scratch
from dp4sql.budget.cost import Charge, amount, show
from dp4sql.budget.journal import Asked, Journal, Outcome
from dp4sql.budget.kept import KeptAnswers, period
from dp4sql.budget.ledger import Ledger
from dp4sql.curator.differences import require_schema
from dp4sql.errorbars import Answer
from dp4sql.errors import BudgetExceeded, Dp4sqlError
from dp4sql.infer.facts import Facts
from dp4sql.mechanisms.calls import Environment, Opened
from dp4sql.mechanisms.derived import view
from dp4sql.mechanisms.explain import derivation_hash
from dp4sql.mechanisms.functions import FUNCTIONS
from dp4sql.mechanisms.notices import clamp_notices, epsilon_notices, noise_notices
from dp4sql.mechanisms.reading import histogram_sql
from dp4sql.mechanisms.release import Measured, add_noise, output_rows, public_rows
from dp4sql.mechanisms.shelf import Deriving, Shelf, repeated
from dp4sql.mechanisms.stages import (
    CallStage,
    Plan,
    Price,
    PublicRead,
    Release,
    ScalarStage,
)
from dp4sql.mechanisms.stored import digest, identities
from dp4sql.policy.labels import Allowance, PolicySet
from dp4sql.postprocess import Run, bins_of, evaluate
from dp4sql.preparation import (
    Parameters,
    Prepared,
    Shape,
    epsilons,
    explained,
    prepare,
    priced,
    shares_sums,
    stage_sql,
    typed,
    weight,
)
from dp4sql.remember import Remembered
from dp4sql.rows import OutputColumn, PrivateRows, Released
from dp4sql.settings import Settings
from dp4sql.sql.dialects import DIALECTS, DUCKDB
from dp4sql.sql.parse import MAX_LENGTH
from dp4sql.sql.render import Renderer

log = logging.getLogger(__name__)

WORKERS: Final = 4
FEW: Final = 256

T = TypeVar("T")
Rows = list[tuple[Value, ...]]


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
        self.dialect, self._journals, self._observe = DIALECTS[backend.dialect], journals, observe
        self._scratch = Scratch()
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="release")
        self._kept = kept or KeptAnswers(ledger.where)
        self._prepare = Remembered(self._prepared, weight, MAX_LENGTH)
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
                    await asyncio.to_thread(self._open_accounts)
                self._started = True

    def _open_accounts(self) -> None:
        found = self.ledger.open_accounts(self.policy.policies, database=self.backend.identity)
        for warning in found:
            log.warning(warning)

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

    def _prepared(self, sql: str, parameters: Parameters | None, sharing: bool) -> Prepared:
        """A plan that is known to render: what an engine has no safe SQL for is refused here, uncharged."""
        prepared = prepare(self.policy, sql, parameters, sharing)
        plan, facts = prepared.plan, prepared.facts
        reads = tuple(stage_sql(stage, facts, self.dialect, {}) for stage in plan.stages)
        known_by = identities(plan, facts, self.dialect)
        outputs = tuple((c.id, f"c{i}") for i, c in enumerate(plan.columns))
        Renderer(DUCKDB).statement(plan.final, outputs)
        hashed = derivation_hash(plan)
        return replace(prepared, reads=reads, identities=known_by, derivation=hashed)

    # ------------------------------------------------------------ free of charge

    def describe(
        self,
        sql: str,
        parameter_types: Sequence[Type | None] = (),
        settings: Settings | None = None,
    ) -> Shape:
        """Columns and parameter types; reads no data."""
        if any(type is not None for type in parameter_types):
            given: Parameters | None = tuple(
                (None, type or Type("unknown")) for type in parameter_types
            )
        else:
            given = None
        settings = settings or Settings()
        prepared = self._prepare(sql, given, shares_sums(settings))
        return Shape(prepared.columns(settings), prepared.plan.parameters)

    def explain(
        self,
        sql: str,
        parameters: Sequence[Value] = (),
        settings: Settings | None = None,
        *,
        format: Literal["text", "json"] = "text",
        role: str = "",
    ) -> str:
        """The free derivation of `sql`, and what would become of it. Reads the ledger, so it may take a
        moment; LedgerBroken where that fails."""
        settings = settings or Settings()
        prepared = self._prepare(sql, typed(parameters, ()), shares_sums(settings))
        found = explained(prepared, self.policy, settings, role, self.dialect)
        found = replace(found, forecast=self._forecast(prepared, settings, role))
        return found.text() if format == "text" else json.dumps(found.as_json(), indent=2)

    def _forecast(self, prepared: Prepared, settings: Settings, role: str) -> tuple[str, ...]:
        """Whether the statement would be answered now, and at what charge. Calls price themselves."""
        if not prepared.plan.releases():
            return ()
        wanted = priced(prepared, self.policy, settings, role)
        shelf = self._shelf(prepared, wanted, settings, role)
        cost = repeated(prepared.plan, wanted, shelf.found)
        charges = self._charges(cost, {}, role)
        self.ledger.refresh()
        said = [*shelf.words(prepared.plan), *self._left(charges)]
        try:
            check_price(charges, self.policy, settings, role)
        except BudgetExceeded as error:
            said.append(f"refused if asked now: {error.message}")
        return tuple(said)

    def _left(self, charges: Sequence[Charge]) -> Iterator[str]:
        """What the ledger holds before a charge, and whether that is enough."""
        for c in charges:
            for name, most, lost in self.ledger.caps(c, database=self.backend.identity):
                left = f"{name} has {show(max(most - lost, Fraction(0)))} of {show(most)} left"
                short = lost + c.epsilon > most
                yield f"refused if asked now: {left}" if short else left

    # ------------------------------------------------------------ answering

    async def query(
        self,
        sql: str,
        parameters: Sequence[Value] = (),
        settings: Settings | None = None,
        *,
        parameter_types: Sequence[Type | None] = (),
        role: str = "",
    ) -> Released:
        """Charge, read, release. Nothing is charged when this raises before the read."""
        asked = Asked(role, sql, parameters)
        try:
            await self.start()
            released = await self._answer(asked, settings or Settings(), parameter_types)
        except BaseException as error:
            self._ended(asked, "failed" if asked.started else "refused", error)
            raise
        self._ended(asked, "observed" if self._observe else "answered", None)
        return released

    async def _answer(
        self, asked: Asked, settings: Settings, parameter_types: Sequence[Type | None]
    ) -> Released:
        given = typed(asked.parameters, parameter_types)
        prepared = self._prepare(asked.statement, given, shares_sums(settings))
        # Equal statements take turns, so that all but the first are repeats.
        key = (prepared.identities, asked.role)
        turn = self._turns.setdefault(key, asyncio.Lock()) if settings.reuse != "off" else None
        async with turn or contextlib.nullcontext():
            return await self._answer_alone(asked, settings, prepared)

    async def _answer_alone(self, asked: Asked, settings: Settings, prepared: Prepared) -> Released:
        role = asked.role
        wanted = priced(prepared, self.policy, settings, role)
        shelf = self._bare(prepared)
        if prepared.plan.releases():
            shelf = await asyncio.to_thread(self._shelf, prepared, wanted, settings, role)
        cost = repeated(prepared.plan, wanted, shelf.found)
        calls = await self._open_calls(prepared.plan, settings, role)
        asked.charges = charges = self._charges(cost, calls, role)
        check_price(charges, self.policy, settings, role)
        asked.derivation = prepared.derivation
        self._priced(asked)
        notices = [
            *noise_notices(prepared.plan, cost),
            *clamp_notices(prepared.plan, settings),
            *epsilon_notices(self.policy, cost, settings, role),
            *chain(*(c.notices for c in calls.values())),
        ]
        columns = prepared.columns(settings)
        if self._observe:
            return Released(columns, [], (*notices, *_observed(charges)))
        await self._charge(asked)
        try:
            run = await self._run(prepared, cost, calls, shelf, settings)
            answer = Answer(self._scratch, prepared.plan, prepared.outputs, cost, settings)
            rows, widths = answer.of(run) if answer.light else await self._aside(answer.of, run)
        except (Exception, asyncio.CancelledError) as error:
            await asyncio.to_thread(self._close, asked.query, "failed", role)
            _say_charged(error, charges)
            raise
        await asyncio.to_thread(self._close, asked.query, "answered", role)
        simulated = errorbars.notices(prepared.outputs, widths)
        told = (*notices, *simulated, *shelf.words(prepared.plan), *self._accounts(charges))
        return Released(columns, rows, told)

    def _priced(self, asked: Asked) -> None:
        for journal in self._journals:
            journal.priced(asked)

    def _ended(self, asked: Asked, outcome: Outcome, error: BaseException | None) -> None:
        for journal in self._journals:
            journal.ended(asked, outcome, error)

    def refused(self, statement: str, role: str, error: Dp4sqlError) -> None:
        """Tell the journals of a statement that did not get as far as `query`."""
        self._ended(Asked(role, statement), "refused", error)

    def _data(self, role: str) -> str:
        """The database and the version of its data; for a role with an allowance the role, too.

        An allowance bounds what the role has been told, so it is not told what others paid for.
        """
        now = datetime.datetime.now(datetime.UTC)
        version = self._kept.data_version(self.backend.identity)
        limited = any(p.allowance(role) != Allowance() for p in self.policy.policies)
        parts = (self.backend.identity, str(version), period(self.policy.refreshed, now))
        return json.dumps([*parts, role if limited else None])

    def _shelf(self, prepared: Prepared, asked: Price, settings: Settings, role: str) -> Shelf:
        """What is kept of the statement already."""
        scope = f"{digest(self._data(role))}/{self.policy.fingerprint}"
        shelf = self._bare(prepared, scope)
        shelf.find(prepared.plan, asked, settings.reuse)
        return shelf

    def _bare(self, prepared: Prepared, scope: str = "") -> Shelf:
        deriving = Deriving(
            lambda stage: view(stage, self.policy, prepared.facts, self.dialect),
            partial(bins_of, self._scratch),
        )
        return Shelf(self._kept, scope, prepared.identities, deriving)

    async def _open_calls(self, plan: Plan, settings: Settings, role: str) -> dict[int, Opened]:
        """The functions in FROM, checked and priced; they may read what is public."""
        env = Environment(
            self.policy,
            epsilons(self.policy, settings, role),
            self.dialect,
            role,
            await asyncio.to_thread(self._data, role) if plan.calls() else "",
            self.backend.fetch,
            self._kept,
        )
        return {i: await FUNCTIONS[c.function].open(env, c.arguments) for i, c in plan.calls()}

    def _charges(self, cost: Price, calls: Mapping[int, Opened], role: str) -> list[Charge]:
        losses = [loss for call in calls.values() for loss in call.losses]
        return due(self.policy, cost, losses, role, self.ledger.today())

    async def _charge(self, asked: Asked) -> None:
        if asked.charges:
            try:
                asked.query = await asyncio.to_thread(self._charged, asked)
            except BudgetExceeded:
                raise
            except BaseException as error:
                # Cancelled or broken, it may have been charged all the same.
                asked.started = True
                error.add_note("The query may have been charged.")
                raise
        asked.started = True

    def _charged(self, asked: Asked) -> int | None:
        return self.ledger.charge(
            asked.charges,
            database=self.backend.identity,
            role=asked.role,
            statement=asked.statement,
            derivation=asked.derivation,
        )

    def _close(self, query: int | None, kind: Literal["answered", "failed"], role: str) -> None:
        self.ledger.close_query(query, kind, database=self.backend.identity, role=role)

    async def _run(
        self,
        prepared: Prepared,
        cost: Price,
        calls: Mapping[int, Opened],
        shelf: Shelf,
        settings: Settings,
    ) -> Run:
        run = Run()
        for index, stage in enumerate(prepared.plan.stages):
            match stage:
                case Release():
                    measured = await self._measured(prepared, index, run.constants, cost, shelf)
                    shown = (stage, measured, settings.nonnegative)
                    # A thread costs more than a few rows.
                    few = sum(map(len, measured.noisy)) <= FEW
                    rows = output_rows(*shown) if few else await self._aside(output_rows, *shown)
                    run.measured[index], run.tables[index] = measured, (stage.columns, rows)
                case PublicRead(columns=columns):
                    sql = self._read(prepared, index, run.constants)
                    exact = await self.backend.fetch(sql, tuple(OutputColumn(*c) for c in columns))
                    run.tables[index] = (columns, await self._aside(public_rows, stage, exact))
                case CallStage():
                    run.tables[index] = (stage.columns, await calls[index].run())
                case ScalarStage(node, column, type):
                    only = ((column, type),)
                    found = await self._aside(evaluate, self._scratch, node, only, run)
                    run.constants[index] = found[0][0] if found else None
        return run

    def _read(self, prepared: Prepared, index: int, constants: Mapping[int, object]) -> str:
        if not constants:
            return prepared.reads[index]
        return stage_sql(prepared.plan.stages[index], prepared.facts, self.dialect, constants)

    async def _aside(self, work: Callable[..., T], *arguments: object) -> T:
        """Run `work` in a thread: OpenDP takes some 10 microseconds a value, without Python's lock, and
        other sessions go on meanwhile."""
        return await asyncio.get_running_loop().run_in_executor(self._workers, work, *arguments)

    async def _measured(
        self,
        prepared: Prepared,
        index: int,
        constants: Mapping[int, object],
        cost: Price,
        shelf: Shelf,
    ) -> Measured:
        """A release: one that is kept, or the exact rows with noise, kept from now on."""
        if index in shelf.found:
            return shelf.found[index].measured
        stage = prepared.plan.stages[index]
        assert isinstance(stage, Release)
        names = tuple(OutputColumn(id, type) for id, type in stage.columns)
        private = await self.backend.fetch(self._read(prepared, index, constants), names)
        ranks = await self._histograms(stage, prepared.facts, constants)
        scales = [cost.scales[index, i] for i in range(len(stage.measurements))]
        return await self._aside(_noised, stage, private, ranks, scales, index, shelf)

    async def _histograms(
        self, stage: Release, facts: Facts, constants: Mapping[int, object]
    ) -> dict[int, PrivateRows]:
        """What the ranks (MIN, MAX, percentiles) of a release are chosen by."""
        found = {}
        keys = [OutputColumn(id, type) for id, type in stage.columns[: len(stage.node.keys)]]
        extra = [OutputColumn("place", BIGINT), OutputColumn("n", BIGINT)]
        for i, measurement in enumerate(stage.measurements):
            if measurement.quantity.kind == "rank":
                sql = histogram_sql(stage, i, facts, self.dialect, constants)
                found[i] = await self.backend.fetch(sql, (*keys, *extra))
        return found

    # ------------------------------------------------------------ words

    def _accounts(self, charges: Sequence[Charge]) -> tuple[str, ...]:
        """What was charged and what is left."""
        return tuple(chain(*(self._account(charge) for charge in charges)))

    def _account(self, c: Charge) -> Iterator[str]:
        whom = f" for one {c.entity}" if c.member else ""
        delta = f" and delta {float(c.delta):g}" if c.delta else ""
        charged = f"charged {amount(c)}{delta} to policy {c.policy}{whom}"
        left = [
            (name, f"{show(most - lost)} of {show(most)} left")
            for name, most, lost in self.ledger.caps(c, database=self.backend.identity)
        ]
        if c.budget is not None:
            (_, of_budget), *left = left
            charged += f", {of_budget}"
        yield charged
        yield from (f"{name} has {of_limit}" for name, of_limit in left)

    async def close(self) -> None:
        await self.backend.close()
        await asyncio.to_thread(self._workers.shutdown)
        self._kept.close()
        self.ledger.close()


def _noised(
    stage: Release,
    private: PrivateRows,
    ranks: Mapping[int, PrivateRows],
    scales: Sequence[Fraction],
    index: int,
    shelf: Shelf,
) -> Measured:
    losses = [
        max((b / s for b in m.bounds.values() if b), default=Fraction(0)) if s else Fraction(0)
        for m, s in zip(stage.measurements, scales, strict=True)
    ]
    measured = add_noise(stage, private, ranks, scales, losses)
    shelf.keep(index, stage, measured, scales, datetime.datetime.now(datetime.UTC))
    return measured


def _observed(charges: Sequence[Charge]) -> Iterator[str]:
    yield "observing: rows are withheld; nothing private was read and nothing charged"
    for charge in charges:
        yield f"it would charge {amount(charge)} to policy {charge.policy}"


def _say_charged(error: BaseException, charges: Sequence[Charge]) -> None:
    """A statement that fails after its charge says so; one that is cancelled through its notes."""
    if not charges:
        return
    what = ", ".join(f"{amount(c)} to policy {c.policy}" for c in charges)
    told = f"The charge stays, as data may have been read: {what}."
    if isinstance(error, Dp4sqlError):
        error.detail = f"{error.detail} {told}" if error.detail else told
    else:
        error.add_note(told)
