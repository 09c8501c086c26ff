"""What the client is told beside the rows: the noise in each column, and what was done to released values."""

from __future__ import annotations

from dp4sql.mechanisms.explain import report, short
from dp4sql.mechanisms.stages import Plan, Price
from dp4sql.settings import Settings


def noise_notices(plan: Plan, cost: Price) -> tuple[str, ...]:
    """Scale and interval of each noisy column."""
    names = {c.id: c.name for c in plan.columns}
    found = []
    for stage, release in plan.releases():
        for column in release.built:
            name = names.get(column.agg.id, column.agg.function)
            for i in column.measurements:
                r = report(release.measurements[i], cost.scales[stage, i])
                what = name if len(column.measurements) == 1 else f"{name}, its {r.kind}"
                if r.scale:
                    found.append(
                        f"{what}: noise scale {short(r.scale)}, 95 % within +-{short(r.half_width)}"
                    )
    return tuple(dict.fromkeys(found))


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
