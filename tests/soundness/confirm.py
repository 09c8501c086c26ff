"""What DuckDB has to say about a case: the same distances, and the SQL that dp4sql would send itself.

The rendered reads are run on both databases too: their bins must be the same on both, their measurements
must stay within the same bounds, and where one read answers the whole query it must agree with the client's SQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dp4sql.mechanisms.explain import MeasurementReport

from .claims import SLACK, Answer, Case, answer, distances, exceeds
from .engines import DuckDB
from .truncated import seen
from .world import Database


@dataclass(frozen=True, slots=True)
class Trouble:
    """A claim that does not hold. `kind`: bound, bins, public rows, rendering, engines."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Read:
    """One rendered statement of the plan with the measurements it carries, and its answer on both databases."""

    sql: str
    reports: tuple[MeasurementReport, ...]
    before: Answer
    after: Answer


def confirm(
    duck: DuckDB, case: Case, policy: str, before: Database, after: Database
) -> Iterator[Trouble]:
    """Everything wrong about one pair of neighbours under `policy`."""
    if any(report.kind == "rank" for report in _reports(case)):
        return  # Ranks are read as histograms, which have no counterpart in the client's SQL.
    keys = len(case.query.keys)
    sides = []
    for database in (before, after):
        duck.load(seen(case.world, database))
        client = answer(duck.rows(case.sql), keys) if case.probes else {}
        duck.load(database)
        sides.append((client, [duck.table(sql) for sql in case.explanation.reads]))
    (left, reads), (right, others) = sides
    for claim in case.claims(policy):
        moved = distances(left, right, len(case.probes))[claim.column]
        if exceeds(moved, claim.bound):
            yield Trouble(
                "bound", f"{claim.sql}: moves by {moved:g}, bound {claim.bound} under {policy}"
            )
    reports = list(_reports(case))
    for sql, (names, rows), (_, changed) in zip(case.explanation.reads, reads, others, strict=True):
        yield from _check_read(case, policy, sql, names, reports, rows, changed, (left, right))


def _reports(case: Case) -> Iterator[MeasurementReport]:
    """Each measurement once, in the order of the reads' columns."""
    seen: set[int] = set()
    for aggregate in case.explanation.aggregates:
        for report in aggregate.measurements:
            if id(report) not in seen:
                seen.add(id(report))
                yield report


def _check_read(
    case: Case,
    policy: str,
    sql: str,
    names: list[str],
    reports: list[MeasurementReport],
    rows: list[tuple[Any, ...]],
    changed: list[tuple[Any, ...]],
    clients: tuple[Answer, Answer],
) -> Iterator[Trouble]:
    keys = sum(name.startswith("k") for name in names)
    measured = sum(name.startswith("m") for name in names)
    if keys + measured < len(names):
        if sorted(map(repr, rows)) != sorted(map(repr, changed)):
            yield Trouble("public rows", f"{sql}: differs between neighbours under {policy}")
        return
    mine, reports[:] = reports[:measured], reports[measured:]
    before, after = _scaled(rows, keys, mine), _scaled(changed, keys, mine)
    if before.keys() != after.keys():
        yield Trouble("bins", f"{sql}: bins differ between neighbours under {policy}")
    bounds = [r.bounds[policy] for r in mine] + [r.squares[policy] for r in mine]
    for report, moved, bound in zip(
        mine * 2, distances(before, after, measured), bounds, strict=True
    ):
        if exceeds(moved, bound):
            yield Trouble("bound", f"{sql}: {report.sql} moves by {moved:g}, bound {bound}")
    if len(case.explanation.reads) == 1 and case.probes:
        for rendered, client in zip((before, after), clients, strict=True):
            yield from _check_rendering(case, sql, mine, rendered, client)


def _scaled(rows: list[tuple[Any, ...]], keys: int, reports: list[MeasurementReport]) -> Answer:
    """Integers on a grid become numbers."""
    return {
        row[:keys]: tuple(_value(v, _grid(r)) for v, r in zip(row[keys:], reports, strict=True))
        for row in rows
    }


def _grid(report: MeasurementReport) -> Fraction:
    return report.unit**2 if report.kind == "sum_squares" else report.unit


def _value(value: Any, unit: Fraction) -> float:
    return float(value * unit) if isinstance(value, int) else float(value)


def _check_rendering(
    case: Case, sql: str, reports: list[MeasurementReport], rendered: Answer, client: Answer
) -> Iterator[Trouble]:
    nothing = (0.0,) * len(reports)
    columns = {id(report): i for i, report in enumerate(reports)}
    for i, probe in enumerate(case.probes):
        column = columns[id(probe.report)]
        for group in client.keys() | rendered.keys():
            expected = float(client[group][i]) if group in client else 0.0
            found = rendered.get(group, nothing)[column]
            room = SLACK + 4 * float(reports[column].unit if reports[column].unit != 1 else 0)
            if abs(expected - found) > room:
                yield Trouble(
                    "rendering",
                    f"{sql}: {probe.sql} is {expected:g} in group {group}, read as {found:g}",
                )
                return
