"""What a plan would do, in numbers and in words: bounds, derivations, scales, price. Costs nothing."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from dp4sql.mechanisms.ranks import Rank, margins
from dp4sql.mechanisms.stages import Measurement, Plan, Price
from dp4sql.noise import gaussian_half_width, half_width, root_up, selection_shortfall


@dataclass(frozen=True, slots=True)
class MeasurementReport:
    """One noisy column below the output. `bounds`, `scale` and `half_width` are in the answer's units, `squares`
    (bounds in L2, squared) in their squares; those of a rank in rows."""

    sql: str
    kind: str
    center: Fraction
    unit: Fraction
    bounds: Mapping[str, Fraction]
    scale: Fraction
    half_width: Fraction
    losses: Mapping[str, Fraction]
    squares: Mapping[str, Fraction]
    gaussian: bool = False
    rank: Rank | None = None
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class AggregateBound:
    """One aggregate of the query. `bounds` are those of its first measurement: for AVG the (centred) sum, and
    for a SUM that is put together with a count (`dp4sql.mechanisms.sharing`)."""

    name: str
    kind: str
    bounds: Mapping[str, Fraction]
    measurements: tuple[MeasurementReport, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The result of `dp4sql.explain`."""

    aggregates: tuple[AggregateBound, ...]
    grouping: tuple[str, ...]
    charges: Mapping[str, Fraction]
    derivations: Mapping[str, str]
    reads: tuple[str, ...]
    public: bool
    calls: tuple[str, ...] = ()
    derivation_hash: str = ""
    concentrated: frozenset[str] = frozenset()
    error_columns: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    forecast: tuple[str, ...] = ()

    def text(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        yield from self.calls
        if self.calls and not self.aggregates:
            return
        if self.public:
            yield "exact: nothing in this answer is private under any policy; it costs nothing"
            return
        several = len({m.sql for a in self.aggregates for m in a.measurements if m.scale}) > 1
        for aggregate in self.aggregates:
            for m in aggregate.measurements:
                yield from _measurement_lines(m)
                if several:
                    yield from self._share_lines(m)
        for policy, tree in self.derivations.items():
            yield f"derivation under policy {policy}:"
            yield from (f"  {line}" for line in tree.splitlines())
        if self.error_columns:
            yield f"error columns: {', '.join(self.error_columns)}"
        yield from self.remarks
        yield from self._prices()
        yield from self.forecast

    def _prices(self) -> Iterator[str]:
        for measure in ("epsilon", "rho"):
            due = [
                f"{p} {short(c)}"
                for p, c in self.charges.items()
                if (p in self.concentrated) == (measure == "rho")
            ]
            if due:
                yield f"price ({measure}): {', '.join(due)}"

    def _share_lines(self, m: MeasurementReport) -> Iterator[str]:
        for policy, loss in m.losses.items():
            if loss:
                whole = short(self.charges[policy])
                measure = "rho" if policy in self.concentrated else "epsilon"
                yield f"{m.sql}: {measure} {short(loss)} of {whole} under policy {policy}"

    def as_json(self) -> dict[str, Any]:
        """The same fields as plain JSON; exact numbers are strings such as "12" or "1/10"."""
        return {
            "public": self.public,
            "grouping": list(self.grouping),
            "aggregates": [_aggregate_json(a) for a in self.aggregates],
            "concentrated": sorted(self.concentrated),
            "charges": {p: str(c) for p, c in self.charges.items()},
            "derivation_hash": self.derivation_hash,
            "derivations": {p: tree.splitlines() for p, tree in self.derivations.items()},
            "reads": list(self.reads),
            "calls": list(self.calls),
            "error_columns": list(self.error_columns),
            "remarks": list(self.remarks),
            "forecast": list(self.forecast),
        }


def _measurement_lines(m: MeasurementReport) -> Iterator[str]:
    for policy, bound in m.bounds.items():
        yield f"{m.sql}: {short(bound)}{_l2(m, policy)} under policy {policy}"
    if m.scale:
        yield f"{m.sql}: {noise(m)}"
    else:
        yield f"{m.sql}: exact"


def _l2(m: MeasurementReport, policy: str) -> str:
    """What Gaussian noise goes by, where that is less."""
    if not m.gaussian or m.squares[policy] == m.bounds[policy] ** 2:
        return ""
    return f", in L2 {short(root_up(m.squares[policy]))}"


def noise(m: MeasurementReport) -> str:
    """Scale and half-width; a selection's are in ranks, that is in rows."""
    if m.rank is not None:
        return f"noise scale {short(m.scale)}, {_chosen(m.rank, m.half_width, m.rows)}"
    law = "Gaussian noise" if m.gaussian else "noise"
    return f"{law} scale {short(m.scale)}, 95 % within +-{short(m.half_width)}"


def _chosen(rank: Rank, half_width: Fraction, most: int | None) -> str:
    """How far the choice goes astray, in rows. With so few it can be anything, and how many there are is private."""
    rows = int(half_width) + (1 if rank.target else 0)
    if most is not None and most <= half_width:
        there = f"{most} rows" if most != 1 else "1 row"
        return f"with {there} at most it may be any value of the range"
    if rank.target and rows == 1:
        return f"95 % the {_ENDS[rank.target]} value"
    if rank.target:
        within = f"among the {rows} {_ENDS[rank.target]} values"
    else:
        within = f"within {rows} row{'s' if rows != 1 else ''} of the rank asked for"
    return f"95 % {within}; over fewer rows it may be any value of the range"


_ENDS: Final = {"min": "smallest", "max": "largest"}


def _aggregate_json(a: AggregateBound) -> dict[str, Any]:
    return {
        "name": a.name,
        "kind": a.kind,
        "bounds": {p: str(b) for p, b in a.bounds.items()},
        "measurements": [
            {
                "sql": m.sql,
                "kind": m.kind,
                "center": str(m.center),
                "unit": str(m.unit),
                "bounds": {p: str(b) for p, b in m.bounds.items()},
                "squares": {p: str(b) for p, b in m.squares.items()},
                "scale": str(m.scale),
                "half_width": str(m.half_width),
                "losses": {p: str(x) for p, x in m.losses.items()},
            }
            for m in a.measurements
        ],
    }


def short(value: Fraction) -> str:
    """A number for people: whole, or with four significant digits."""
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.4g}"


def report(measurement: Measurement, scale: Fraction) -> MeasurementReport:
    q = measurement.quantity
    unit = _unit(measurement)
    return MeasurementReport(
        sql=q.sql(),
        kind=q.kind,
        center=q.center,
        unit=q.unit,
        bounds=_bounds(measurement),
        scale=scale * unit,
        half_width=_half_width(measurement, scale) * unit,
        losses={p: measurement.loss(p, scale) for p in measurement.bounds},
        squares={p: square * unit**2 for p, square in measurement.squares.items()},
        gaussian=measurement.gaussian,
        rank=q.rank,
        rows=measurement.rows,
    )


def _half_width(measurement: Measurement, scale: Fraction) -> int:
    """In units; for a rank how many rows the chosen candidate is off the asked one, or fewer."""
    rank = measurement.quantity.rank
    if rank is None:
        return gaussian_half_width(scale) if measurement.gaussian else half_width(scale)
    if rank.target:
        return sum(margins(rank, scale))
    return math.ceil(selection_shortfall(rank.grid.candidates, scale) / (rank.below + rank.above))


def _unit(measurement: Measurement) -> Fraction:
    q = measurement.quantity
    return q.unit**2 if q.kind == "sum_squares" else q.unit


def _bounds(measurement: Measurement) -> dict[str, Fraction]:
    """In the answer's units."""
    factor = _unit(measurement) / measurement.quantity.loss_factor
    return {policy: bound * factor for policy, bound in measurement.bounds.items()}


def derivation_hash(plan: Plan) -> str:
    """SHA-256 of the derivations, as ledger and audit log note them: equal for equal bounds and rules."""
    told = [trees(plan), [call.function for _, call in plan.calls()]]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def explanation(
    plan: Plan, price: Price, reads: tuple[str, ...], calls: tuple[str, ...] = ()
) -> Explanation:
    aggregates: list[AggregateBound] = []
    grouping: tuple[str, ...] = ()
    for stage, release in plan.releases():
        reports = [report(m, price.scales[stage, i]) for i, m in enumerate(release.measurements)]
        names = {c.id: c.name for c in plan.columns}
        for column in release.built:
            parts = tuple(reports[i] for i in column.measurements)
            name = names.get(column.agg.id, column.agg.id)
            aggregates.append(AggregateBound(name, column.agg.function, parts[0].bounds, parts))
        grouping = grouping or release.node.keys
    return Explanation(
        tuple(aggregates),
        grouping,
        price.charges,
        trees(plan),
        reads,
        not plan.releases() and not plan.calls(),
        calls,
        derivation_hash(plan),
    )


def trees(plan: Plan) -> dict[str, str]:
    """Per policy: the bound of each measurement over the derivation of the rows below it."""
    lines: dict[str, list[str]] = {}
    for _, release in plan.releases():
        for policy, derivation in release.derivations.items():
            tops = (
                f"{short(_bounds(m)[policy])} ({m.rules[policy]})  {m.quantity.sql()}"
                for m in release.measurements
            )
            lines.setdefault(policy, []).extend([*tops, *derivation.lines(1)])
    return {policy: "\n".join(found) for policy, found in lines.items()}
