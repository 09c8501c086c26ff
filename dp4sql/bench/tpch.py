"""TPC-H, plain and private, on one engine."""

from __future__ import annotations

import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from dp4sql.backends import open_backend
from dp4sql.bench.measure import Clock, TimedBackend, TimedLedger, errors, plain, private, quantiles
from dp4sql.bench.queries import Query, tpch_queries
from dp4sql.bench.results import Measured, Results
from dp4sql.errors import Dp4sqlError
from dp4sql.garbage import settled
from dp4sql.pipeline import Pipeline
from dp4sql.policy.labels import PolicySet

Tell = Callable[[str], None]
Load = Callable[[int, int, str], None]


def unlimited(policies: PolicySet, epsilon: Fraction) -> PolicySet:
    """The same policies at `epsilon` a query and without budgets: nobody sees these answers."""
    loose = (
        replace(p, epsilon=epsilon, budget=None, max_charge=None, renewal={}, roles={})
        for p in policies.policies
    )
    return replace(policies, policies=tuple(loose))


async def run_tpch(
    policies: PolicySet, url: str, runs: int, results: Results, path: Path, tell: Tell
) -> None:
    """Bring every query to `runs` runs, saving `results` to `path` after each."""
    clock, backend = Clock(), open_backend(url)
    try:
        with tempfile.TemporaryDirectory() as folder:
            ledger = TimedLedger(f"{folder}/ledger", clock)
            pipeline = Pipeline(policies, TimedBackend(backend, clock), ledger)
            await pipeline.start()
            with settled():
                for query in tpch_queries():
                    await _measure(pipeline, clock, query, runs, results, path, tell)
            await pipeline.close()
    finally:
        await backend.close()


async def _measure(
    pipeline: Pipeline,
    clock: Clock,
    query: Query,
    runs: int,
    results: Results,
    path: Path,
    tell: Tell,
) -> None:
    found = results.queries.setdefault(query.name, Measured())
    try:
        pipeline.describe(query.sql)
    except Dp4sqlError as error:
        found.refused = f"{error.sqlstate}: {error.message}"
    if found.refused is None:
        # The first run of each kind warms caches, and is nobody's.
        if len(found.seconds) < runs:
            await plain(pipeline.backend, query)
            await private(pipeline, clock, query, -1)
        for run in range(len(found.seconds), runs):
            tell(f"{query.name}: run {run + 1} of {runs}")
            await _run(pipeline, clock, query, run, found)
            results.resident_megabytes = max(results.resident_megabytes, resident())
            results.save(path)
    results.save(path)
    tell(_line(query.name, found))


async def _run(pipeline: Pipeline, clock: Clock, query: Query, run: int, found: Measured) -> None:
    """Plain and private take turns, so that what else the machine does meets both."""
    truth, seconds = await plain(pipeline.backend, query)
    answer, stages = await private(pipeline, clock, query, run)
    found.seconds.append({**seconds, **stages})
    found.private = "charge" in stages
    found.errors.append(quantiles(errors(truth, answer, query.keys)))


def _line(name: str, found: Measured) -> str:
    if found.refused is not None:
        return f"{name}: refused, {found.refused}"
    return f"{name}: {len(found.seconds)} runs"


def resident() -> int:
    """The most memory this process has held, in megabytes; an embedded engine's is in it."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most // (1 << 20 if sys.platform == "darwin" else 1 << 10)


# ---------------------------------------------------------------- data


@contextmanager
def data(engine: str, scale: str, url: str | None, folder: Path, tell: Load) -> Iterator[str]:
    """The URL of a TPC-H database: `url`, an empty Postgres being filled, else one that is made in `folder`."""
    from dp4sql.bench.server import kept_server
    from dp4sql.data import postgres, tpch

    path = folder / f"tpch-{scale}.duckdb"
    match engine:
        case "postgres":
            with (
                kept_server(folder / f"tpch-{scale}-postgres") if url is None else nullcontext(url)
            ) as server:
                postgres.load(server, scale, tell)
                yield server
        case _ if url is not None:
            yield url
        case "duckdb":
            tpch.generate(path, scale)
            yield f"duckdb://{path.resolve()}"
        case _:
            tpch.generate(path, scale)
            tpch.export(path, folder / f"tpch-{scale}")
            yield f"spark://{(folder / f'tpch-{scale}').resolve()}"
