"""The paper's Figures 10 (sensitivity) and 11 (relative error), by the rules as printed and by dp4sql."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import dp4sql
from dp4sql.backends import Backend, open_backend
from dp4sql.bench.measure import Rows, errors, plain
from dp4sql.bench.paper import COUNTS, POLICIES, PRINTED
from dp4sql.bench.queries import Query
from dp4sql.budget.ledger import Ledger
from dp4sql.data.shipped import policy_file
from dp4sql.pipeline import Pipeline
from dp4sql.policy.labels import PolicySet
from dp4sql.settings import Settings


@dataclass(frozen=True, slots=True)
class Pair:
    """One query under one policy, by the printed rules and by dp4sql: bounds and relative errors."""

    query: str
    policy: str
    printed: int
    ours: Fraction
    printed_errors: list[float]
    our_errors: list[float]


async def pairs(url: str, epsilon: Fraction, runs: int, tell: Callable[[str], None]) -> list[Pair]:
    """Measure all of PRINTED on the database at `url`."""
    backend, found = open_backend(url), []
    try:
        for (name, kind), printed in PRINTED.items():
            tell(f"figure 11, {name} under {kind}: run 1 of {runs}")
            found.append(await _pair(backend, name, kind, printed, epsilon, runs))
    finally:
        await backend.close()
    return found


async def _pair(
    backend: Backend, name: str, kind: str, printed: int, epsilon: Fraction, runs: int
) -> Pair:
    policies, query = _alone(kind, epsilon), Query(name, 1, COUNTS[name])
    explained = dp4sql.explain(policies, query.sql)
    entity = policies.policies[0].name
    ours = Fraction(0) if explained.public else explained.aggregates[-1].bounds[entity]
    truth, _ = await plain(backend, query)
    simulated = [e for _ in range(runs) for e in errors(truth, _noisy(truth, printed / epsilon), 1)]
    with tempfile.TemporaryDirectory() as folder:
        pipeline = Pipeline(policies, backend, Ledger(f"{folder}/ledger"))
        fresh = Settings(reuse="off")
        answers = [(await pipeline.query(query.sql, settings=fresh)).rows for _ in range(runs)]
    measured = [e for answer in answers for e in errors(truth, answer, 1)]
    return Pair(name, kind, printed, ours, simulated, measured)


def _alone(kind: str, epsilon: Fraction) -> PolicySet:
    """The one policy that the paper names, without a budget."""
    from dp4sql.bench.tpch import unlimited

    file, name = POLICIES[kind]
    policies = dp4sql.load_policy(policy_file(file))
    kept = tuple(p for p in policies.policies if p.name == name)
    return unlimited(replace(policies, policies=kept), epsilon)


def _noisy(truth: Rows, scale: Fraction) -> Rows:
    """What a system would answer that adds Laplace noise of the printed scale. A simulation: floating-point
    noise protects nobody."""
    return [(key, value + _laplace(float(scale))) for key, value in truth]  # type: ignore[operator]


def _laplace(scale: float) -> float:
    return scale * (random.expovariate(1) - random.expovariate(1))


# ---------------------------------------------------------------- drawing


def draw(found: list[Pair], folder: Path) -> list[Path]:
    """figure10.png and figure11.png in `folder`; ImportError where matplotlib is missing."""
    import matplotlib

    matplotlib.use("Agg")
    return [_sensitivities(found, folder / "figure10.png"), _errors(found, folder / "figure11.png")]


COLOURS = {"printed rules": "#b0b0b0", "dp4sql": "#1f5fa8"}


def _sensitivities(found: list[Pair], path: Path) -> Path:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(10, 4))
    places = range(len(found))
    for offset, label, bounds in (
        (-0.2, "printed rules", [float(p.printed) for p in found]),
        (0.2, "dp4sql", [float(p.ours) for p in found]),
    ):
        axes.bar([x + offset for x in places], bounds, 0.4, label=label, color=COLOURS[label])
    axes.set_yscale("symlog", linthresh=1)
    axes.set_xticks(list(places), [f"{p.query}\n{p.policy}" for p in found])
    axes.set_ylabel("sensitivity")
    axes.set_title("Figure 10: sensitivity of TPC-H counts")
    axes.legend()
    return _saved(figure, path)


def _errors(found: list[Pair], path: Path) -> Path:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(10, 4))
    for offset, label, values in (
        (-0.2, "printed rules", [p.printed_errors for p in found]),
        (0.2, "dp4sql", [p.our_errors for p in found]),
    ):
        boxes = axes.boxplot(
            [[max(e, 1e-7) for e in of] for of in values],
            positions=[x + offset for x in range(len(found))],
            widths=0.35,
            patch_artist=True,
            flierprops={"markersize": 2},
            medianprops={"color": "black"},
        )
        for box in boxes["boxes"]:
            box.set_facecolor(COLOURS[label])
        axes.plot([], [], "s", color=COLOURS[label], label=label)
    axes.axhline(1, linestyle="--", color="black", linewidth=0.8, label="always 0")
    axes.set_yscale("log")
    axes.set_xticks(list(range(len(found))), [f"{p.query}\n{p.policy}" for p in found])
    axes.set_ylabel("relative error")
    axes.set_title("Figure 11: relative error of TPC-H counts (1e-7 stands for none)")
    axes.legend(loc="lower left")
    return _saved(figure, path)


def _saved(figure: Any, path: Path) -> Path:
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    return path


def table(found: list[Pair]) -> str:
    """The same as Markdown: sensitivities, and medians of the errors."""
    from statistics import median

    lines = [
        "",
        "## Figures 10 and 11 of the DP4SQL paper",
        "",
        "Printed rules: sensitivity by the paper's rules as they stand, error with Laplace noise of that",
        "scale. Where the printed rules give less they are unsound (docs/soundness.md).",
        "",
        "| query | policy | sensitivity, printed | dp4sql | median error, printed | dp4sql |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for p in found:
        ours, theirs = median(p.our_errors), median(p.printed_errors)
        lines.append(
            f"| {p.query} | {p.policy} | {p.printed} | {p.ours} | {theirs:.2g} | {ours:.2g} |"
        )
    return "\n".join(lines) + "\n"
