"""What is answered, with which bound and error, and what is refused and why: the text of docs/coverage.md.

The noise is drawn from a seeded generator with the law and the scale of the real one, so that the text is
the same each time. Errors are those of the DP4SQL paper (section 9.1): |true - noisy| / max(1, |true|) for
each group and measure of the true answer, and 1 for a group that is missing.
"""

from __future__ import annotations

import asyncio
import datetime
import math
import random
import shutil
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import duckdb

import dp4sql
from dp4sql.bench.measure import errors
from dp4sql.data import tpch, university
from dp4sql.errors import Dp4sqlError
from dp4sql.mechanisms.explain import Explanation
from dp4sql.pipeline import Pipeline
from dp4sql.policy.labels import PolicySet
from dp4sql.rows import OutputColumn, PrivateRows
from dp4sql.settings import Settings
from tests.coverage.questions import Query, read, tpch22

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "coverage.md"
SCALE, RUNS, FEWER = "0.01", 5, 2

# ---------------------------------------------------------------- answers with seeded noise


class Once:
    """A backend that runs each read once: only the noise differs from run to run."""

    def __init__(self, backend: Any) -> None:
        self.dialect: Literal["duckdb"] = backend.dialect
        self.identity = backend.identity
        self._backend, self._seen = backend, dict[str, PrivateRows]()

    async def fetch(
        self, sql: str, columns: Sequence[OutputColumn], *, many: bool = False
    ) -> PrivateRows:
        if sql not in self._seen:
            self._seen[sql] = await self._backend.fetch(sql, columns, many=many)
        return self._seen[sql]

    async def ping(self) -> None:
        await self._backend.ping()

    async def close(self) -> None:
        await self._backend.close()


@contextmanager
def noise(seed: str | None) -> Iterator[None]:
    """Noise from a seeded generator, or none at all."""
    drawn = random.Random(seed)

    def geometric(scale: Fraction) -> int:
        return math.floor(-math.log(1.0 - drawn.random()) * float(scale))

    def laplace(values: Sequence[int], _: int, scale: Fraction, __: Fraction) -> list[int]:
        if seed is None:
            return list(values)
        return [v + geometric(scale) - geometric(scale) for v in values]

    def select(
        scores: Sequence[Sequence[int]],
        _: int,
        scale: Fraction,
        __: Fraction,
        *,
        apart: bool = False,
    ) -> list[int]:
        noisy = [[s + (geometric(scale) if seed else 0) for s in row] for row in scores]
        return [row.index(max(row)) for row in noisy]

    place = "dp4sql.mechanisms.release"
    with mock.patch(f"{place}.laplace", laplace), mock.patch(f"{place}.select", select):
        yield


def policy(name: str) -> PolicySet:
    """A shipped policy without budgets."""
    found = dp4sql.load_policy(ROOT / "policies" / f"{name}.yaml")
    return replace(found, policies=tuple(replace(p, budget=None) for p in found.policies))


#: What Postgres has and DuckDB has not.
POSTGRES = (
    "SET integer_division = true",
    "CREATE MACRO width_bucket(x, low, high, n) AS CASE WHEN x < low THEN 0 WHEN x >= high THEN n + 1 "
    "ELSE CAST(FLOOR((x - low) * 1.0 * n / (high - low)) AS INTEGER) + 1 END",
    "CREATE MACRO to_char(t, f) AS strftime(t, replace(replace(replace(f, 'YYYY', '%Y'), 'MM', '%m'), 'Mon', '%b'))",
    "CREATE SCHEMA public",
)


def schema_public(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """Each table under the schema that Postgres has it in."""
    tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    return [f'CREATE VIEW public."{name}" AS SELECT * FROM main."{name}"' for (name,) in tables]


class Database:
    """The demonstration's data under one policy."""

    def __init__(self, folder: Path, name: str, policies: str) -> None:
        self.path = folder / f"{name}.duckdb"
        if name == "university":
            university.generate(self.path)
        else:
            tpch.generate(self.path, SCALE)
        # A copy of its own: the proxy locks the settings of the file it has open.
        self.copy = folder / f"{policies}.copy"
        shutil.copy(self.path, self.copy)
        self.policy = policy(policies)
        self.pipeline: Pipeline = dp4sql.open_pipeline(
            policy=self.policy,
            database=f"duckdb:///{self.path}",
            ledger=folder / f"{policies}.ledger",
        )
        self.pipeline.backend = Once(self.pipeline.backend)
        self._runner = asyncio.Runner()
        self._plain = duckdb.connect(str(self.copy))
        for statement in (*POSTGRES, *schema_public(self._plain)):
            self._plain.execute(statement)

    def answer(self, sql: str, seed: str | None) -> list[tuple[Any, ...]]:
        with noise(seed):
            released = self._runner.run(self.pipeline.query(sql, settings=Settings(reuse="off")))
        return [tuple(map(comparable, row)) for row in released.rows]

    def truth(self, sql: str) -> list[tuple[Any, ...]]:
        """What DuckDB says to the text as it stands, with Postgres's division."""
        return [tuple(map(comparable, row)) for row in self._plain.execute(sql).fetchall()]

    def close(self) -> None:
        self._runner.run(self.pipeline.close())
        self._runner.close()
        self._plain.close()


def comparable(value: Any) -> Any:
    """DATE_TRUNC gives a date in DuckDB."""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date()
    return value


def median_error(database: Database, query: Query) -> float | None:
    truth = database.truth(query.sql)
    found = [
        error
        for run in range(FEWER if query.id[0] in "BW" else RUNS)
        for error in errors(truth, database.answer(query.sql, f"{query.id} {run}"), query.keys)
    ]
    return statistics.median(found) if found else None


# ---------------------------------------------------------------- the text


@dataclass(frozen=True, slots=True)
class Outcome:
    query: Query
    explained: Explanation | None
    error: float | None
    refusal: Dp4sqlError | None

    @property
    def exact(self) -> bool:
        return self.explained is not None and not any(self.explained.charges.values())

    def line(self) -> str:
        cells = [self.query.id, self.query.name, *self._cells()]
        return "| " + " | ".join(cells) + " |"

    def _cells(self) -> tuple[str, str, str]:
        if self.refusal is not None:
            hint = f" {self.refusal.hint}" if self.refusal.hint else ""
            return "refused", f"{self.refusal.message}.{hint}".replace("|", "\\|"), ""
        assert self.explained is not None
        if self.exact:
            return "exact, free", "", "0"
        return "noisy", bounds(self.explained), percent(self.error)


def outcome(database: Database, query: Query) -> Outcome:
    try:
        explained = dp4sql.explain(database.policy, query.sql)
    except Dp4sqlError as refusal:
        return Outcome(query, None, None, refusal)
    found = Outcome(query, explained, None, None)
    return found if found.exact else replace(found, error=median_error(database, query))


def bounds(explained: Explanation) -> str:
    """`customer 287, supplier 694` where all aggregates have the same, else by aggregate."""
    by_aggregate: dict[str, list[str]] = {}
    for a in explained.aggregates:
        moving = ", ".join(f"{p} {number(b)}" for p, b in a.bounds.items() if b)
        by_aggregate.setdefault(moving or "0", []).append(a.name.split("#")[0])
    if len(by_aggregate) == 1:
        return next(iter(by_aggregate))
    return "; ".join(f"{', '.join(dict.fromkeys(n))}: {b}" for b, n in by_aggregate.items())


def number(bound: Fraction) -> str:
    return f"{bound.numerator:,}" if bound.denominator == 1 else f"{float(bound):,.6g}"


def percent(error: float | None) -> str:
    if error is None:
        return "the truth has no number"
    return f"{100 * error:.2g} %" if error < 1 else f"{100 * error:,.0f} %"


HEAD = f"""# What is answered

Queries as analysts, dashboards and notebooks write them, under the policies that come with dp4sql at epsilon 1. A
test makes this page (`python -m tests.coverage` writes it anew) on the demonstration's data: the university, and
TPC-H at scale {SCALE}. *Bound* is how far one entity can move an aggregate (for AVG and STDDEV their sum), under each
policy that can move it at all. *Error* is the median over groups and measures of |true - noisy| / max(1, |true|), in
{RUNS} runs, {FEWER} for dashboards and notebooks. The queries' texts are in tests/coverage.

TPC-H's policies bound what a customer or a supplier owns at scale 1, a hundred times this one. Sums and counts grow
with the scale and the noise does not, so their errors at scale 1 are about a hundredth of these; `make bench
SCALE=1` measures them.
"""
TABLE = (
    "| | query | answer | bound, or why not | error |\n| --- | --- | --- | --- | --- |\n"
)  # fmt: skip


def section(title: str, found: Sequence[Outcome]) -> str:
    answered = [o for o in found if o.refusal is None]
    free = sum(o.exact for o in answered)
    said = f"{len(answered)} of {len(found)} answered, {free} of them exactly and at no cost."
    return f"\n## {title}\n\n{said}\n\n{TABLE}" + "\n".join(o.line() for o in found) + "\n"


ANALYSTS, DASHBOARDS, NOTEBOOKS, BOTH, ALONE = (
    "Analysts' queries",
    "Dashboards",
    "Notebooks",
    "TPC-H, customers and suppliers private",
    "TPC-H, customers alone private",
)


@contextmanager
def asked(folder: Path) -> Iterator[dict[str, list[tuple[Database, Query]]]]:
    """Each section's queries with the database they are asked of."""
    both, alone = (Database(folder, "tpch", name) for name in ("tpch", "tpch_customer"))
    taught = Database(folder, "university", "university")
    files = {ANALYSTS: "analysts", DASHBOARDS: "dashboards", NOTEBOOKS: "notebooks"}
    yield {
        title: [(taught if q.database == "university" else both, q) for q in read(file)]
        for title, file in files.items()
    } | {
        BOTH: [(both, q) for q in tpch22()],
        ALONE: [(alone, q) for q in tpch22()],
    }
    for database in (both, alone, taught):
        database.close()


def outcomes(questions: dict[str, list[tuple[Database, Query]]]) -> dict[str, list[Outcome]]:
    return {title: [outcome(*pair) for pair in pairs] for title, pairs in questions.items()}


def document(found: dict[str, list[Outcome]]) -> str:
    return HEAD + "".join(section(title, rows) for title, rows in found.items())
