"""What the client is told beside the rows: the noise in each column, and what was done to released values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dp4sql.algebra.expr import Col
from dp4sql.algebra.nodes import argument
from dp4sql.mechanisms.explain import MeasurementReport, noise, report, short
from dp4sql.mechanisms.measure import Column
from dp4sql.mechanisms.stages import Plan, Price, Release
from dp4sql.policy.labels import PolicySet
from dp4sql.settings import Settings

MOST_SHOWN: Final = 100
"""Characters of an aggregate in a notice."""


def noise_notices(plan: Plan, cost: Price) -> tuple[str, ...]:
    """Scale and interval of each noisy column, each measurement of several columns once."""
    names = {c.id: c.name for c in plan.columns}
    found = []
    for stage, release in plan.releases():
        for i, columns in _shares(release):
            r = report(release.measurements[i], cost.scales[stage, i])
            if r.scale:
                shown = (
                    f"{_shown([names.get(c.agg.id) for c in columns], columns[0], r)}: {noise(r)}"
                )
                found.append(shown + _decided(columns[0].agg.function, r))
    return tuple(dict.fromkeys(found))


def _shares(release: Release) -> Iterator[tuple[int, list[Column]]]:
    """Each measurement with the columns that it is a part of; apart from those that it is the whole of."""
    parts: dict[int, list[Column]] = {}
    for column in release.built:
        whole = len(column.measurements) == 1
        for i in column.measurements:
            if whole:
                yield i, [column]
            else:
                parts.setdefault(i, []).append(column)
    yield from parts.items()


def _decided(function: str, r: MeasurementReport) -> str:
    match function:
        case "bool_or":
            return f"; true where the noisy count of true rows is more than {short(r.half_width)}"
        case "bool_and":
            return f"; true where the noisy count of false rows is at most {short(r.half_width)}"
        case _:
            return ""


def _shown(names: Sequence[str | None], column: Column, r: MeasurementReport) -> str:
    """The output columns, or an aggregate that is in none of them, as the statement writes it."""
    known = list(dict.fromkeys(name for name in names if name is not None))
    if not known:
        known = [brief(column.agg.text) or r.sql]
    if len(column.measurements) == 1:
        return known[0]
    whose = "its" if len(known) == 1 else "their"
    listed = f"{', '.join(known[:-1])} and {known[-1]}" if len(known) > 1 else known[0]
    return f"{listed}, {whose} {r.kind.replace('_', ' of ')}"


def brief(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."


def arguments(plan: Plan) -> Iterator[str]:
    """What the names stand for that computed arguments of aggregates have in derivations."""
    for _, release in plan.releases():
        for agg in (column.agg for column in release.built):
            if agg.arg is not None and not isinstance(argument(release.node, agg), Col):
                yield f"{agg.arg}: what is computed in {brief(agg.text)}"


def listed_notices(plan: Plan) -> Iterator[str]:
    """That DISTINCT, or GROUP BY without an aggregate, shows what may occur: what does occur is private."""
    for _, release in plan.releases():
        if release.bins is not None and not release.built:
            keys = ", ".join(key.split(".")[-1].split("#")[0] for key in release.node.keys)
            yield f"{release.node.clause} {keys}: all public bins, whether or not rows fall into them"


def clamp_notices(plan: Plan, settings: Settings) -> tuple[str, ...]:
    """That counts were clamped, where there are noisy ones."""
    counts = any(
        column.agg.function.startswith("count") and release.measurements[i].private
        for _, release in plan.releases()
        for column in release.built
        for i in column.measurements
    )
    if not (settings.nonnegative and counts):
        return ()
    return (
        "dp4sql.nonnegative: counts below 0 became 0, so small counts and sums of counts are too high on average",
    )


def epsilon_notices(
    policies: PolicySet, cost: Price, settings: Settings, role: str
) -> Iterator[str]:
    """That a query lost less than the session asked for, where a policy that is charged allows no more."""
    for policy in policies.policies:
        asked, most = settings.epsilon, policy.epsilon_of(settings.epsilon, role)
        if asked is not None and most < asked and cost.charges[policy.name]:
            yield (
                f"dp4sql.epsilon is {short(asked)}, "
                f"of which policy {policy.name} allows {short(most)} a query"
            )
