"""certify.png: what a certificate costs, and that it holds."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.certify.results import Results
from benchmarks.certify.sweep import BETAS
from benchmarks.certify.synthetic import emission
from benchmarks.certify.text import NAMES
from dp4sql.mechanisms.certify import frontier
from dp4sql.mechanisms.certify.tails import powers

STYLES = {"paper": "s--", "sharp": "^:", "exact": "o-"}


def plot(results: Results, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(11, 8))
    _frontier(axes[0, 0])
    _unsupported(axes[0, 1], results)
    _budgets(axes[1, 0], results)
    _databases(axes[1, 1], results)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _frontier(axis: Any) -> None:
    beta, scale, rows = Fraction(1, 20), Fraction(1), np.arange(0, 9)
    best = [float(frontier.optimum(beta, powers(scale), int(d)).high) for d in rows]
    axis.plot(rows, best, color="0.75", linewidth=6, label="best possible")
    for kind, name in NAMES.items():
        axis.plot(rows, emission(kind, scale, beta, rows), STYLES[kind], label=name)
    axis.set(
        title="Emission at epsilon 1, beta .05, D 1",
        xlabel="rows above the largest unsupported count",
        ylabel="probability",
        ylim=(0, 1.02),
    )
    axis.legend()


def _unsupported(axis: Any, results: Results) -> None:
    """Every cell of the sweep against its beta."""
    for shift, (kind, name) in zip((-0.12, 0, 0.12), NAMES.items(), strict=True):
        own = [c for c in results.cells if c.kind == kind]
        places = [BETAS.index(c.beta) + shift for c in own]
        axis.plot(
            places,
            [max(c.observed.unsupported, 1e-4) for c in own],
            STYLES[kind][0],
            alpha=0.5,
            markersize=5,
            label=name,
        )
    for i, beta in enumerate(BETAS):
        axis.plot([i - 0.35, i + 0.35], [float(beta)] * 2, "k-", linewidth=1)
    axis.set_xticks(range(len(BETAS)), [f"beta {float(b):g}" for b in BETAS])
    axis.set(
        title="Unsupported statements that are emitted, 108 cells each",
        ylabel="observed share (0 shown at .0001)",
        yscale="log",
    )
    axis.legend(loc="upper left")


def _budgets(axis: Any, results: Results) -> None:
    for name, rows, color in (("plain", results.plain, "C0"), ("exact", results.exact, "C2")):
        epsilons = [float(r.epsilon) for r in rows]
        axis.plot(epsilons, [r.found.emitted for r in rows], "o-", color=color, label=name)
        axis.fill_between(
            epsilons, [r.low for r in rows], [r.high for r in rows], color=color, alpha=0.15
        )
    axis.set(
        title="EmitRate in the interval of theorem 4 (n 1800, m 200)",
        xlabel="epsilon for all statements",
        ylabel="EmitRate",
        ylim=(0, None),
    )
    axis.legend()


def _databases(axis: Any, results: Results) -> None:
    styles = ("C0o-", "C0s--", "C2^-", "C1o-", "C1s--", "C3v-")
    for row, style in zip(results.databases, styles, strict=True):
        epsilons = [float(e) for e in row.found]
        axis.plot(epsilons, [r.recall for r in row.found.values()], style, label=row.case)
    axis.set(
        title="Supported statements that are emitted",
        xlabel="epsilon for all statements",
        ylabel="recall",
        ylim=(0, 1.02),
    )
    axis.legend(fontsize=8, ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.16))
