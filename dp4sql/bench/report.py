"""Results as a page of Markdown."""

from __future__ import annotations

from statistics import median

from dp4sql.bench.measure import QUANTILES
from dp4sql.bench.results import Measured, Results

STAGES = ("plain", "total", "plan", "charge", "read", "rest")
SLOW_SECONDS = 0.05


def markdown(results: Results) -> str:
    embedded = results.about.get("engine") == "duckdb"
    cpu = " of CPU time |" if embedded else ""
    answered = {n: m for n, m in results.queries.items() if m.refused is None and m.seconds}
    refused = {n: m.refused for n, m in results.queries.items() if m.refused is not None}
    about = ", ".join(f"{name} {value}" for name, value in results.about.items())
    lines = [
        f"# TPC-H: {about}",
        "",
        f"{len(answered)} of {len(results.queries)} queries are answered. {ratios(answered)}",
        *([cpu_ratios(answered)] if embedded else []),
        f"The process held {results.resident_megabytes} MB at most; an embedded engine's memory is in that.",
        "",
        "Medians over the runs, in milliseconds. `plain` is the query as it stands on the same engine,",
        "`private` all of its private answer: `plan` (parse, infer, render), `charge` (ledger), `read`",
        "(engine), `rest` (noise and post-processing).",
        "",
        f"| query | runs | plain | private | ratio |{cpu} {' | '.join(STAGES[2:])} |",
        f"|---|{'---:|' * (len(STAGES) + 2 + embedded)}",
        *(_times(name, m, embedded) for name, m in answered.items()),
        "",
        "Relative error |y - answer| / max(1, |y|) of the groups and measures of an answer, at quantiles;",
        "medians over the runs.",
        "",
        f"| query | {' | '.join(f'{q:.0%}' for q in QUANTILES)} |",
        f"|---|{'---:|' * len(QUANTILES)}",
        *(_errors(name, m) for name, m in answered.items()),
        "",
        "Refused:",
        "",
        *(f"* {name}: {why}" for name, why in refused.items()),
    ]
    return "\n".join(lines) + "\n"


def ratio(measured: Measured, clock: str = "") -> float:
    return _median(measured, f"total{clock}") / (_median(measured, f"plain{clock}") or 1.0)


def cpu_ratios(answered: dict[str, Measured]) -> str:
    """The same in CPU time, which a machine that others use distorts less. For an engine in this process."""
    slow = [m for m in answered.values() if _median(m, "plain") > SLOW_SECONDS]
    found = [ratio(m, "_cpu") for m in slow]
    told = (
        f"{median(found):.2f} in the median and {max(found):.2f} at worst" if found else "unknown"
    )
    return f"In CPU time of the process, engine and all, it is {told}."


def ratios(answered: dict[str, Measured]) -> str:
    """Median and worst ratio of those that take long enough to be compared."""
    slow = {n: m for n, m in answered.items() if _median(m, "plain") > SLOW_SECONDS}
    if not slow:
        return f"None takes over {SLOW_SECONDS * 1000:.0f} ms, so times cannot be compared."
    found = {name: ratio(m) for name, m in slow.items()}
    worst = max(found, key=found.__getitem__)
    return (
        f"Of those that take over {SLOW_SECONDS * 1000:.0f} ms ({len(slow)}), private / plain time is "
        f"{median(found.values()):.2f} in the median and {found[worst]:.2f} at worst ({worst})."
    )


def _median(measured: Measured, stage: str) -> float:
    return median(seconds.get(stage, 0.0) for seconds in measured.seconds)


def _times(name: str, measured: Measured, embedded: bool) -> str:
    plain, total, *stages = (_median(measured, stage) * 1000 for stage in STAGES)
    ratios = [f"{total / plain:.2f}", *([f"{ratio(measured, '_cpu'):.2f}"] if embedded else [])]
    cells = [f"{plain:.1f}", f"{total:.1f}", *ratios, *(f"{s:.1f}" for s in stages)]
    return f"| {name} | {len(measured.seconds)} | {' | '.join(cells)} |"


def _errors(name: str, measured: Measured) -> str:
    if not measured.private:
        return f"| {name} | {' | '.join(['exact'] * len(QUANTILES))} |"
    runs = [run for run in measured.errors if run]
    return (
        f"| {name} | {' | '.join(_number(median(column)) for column in zip(*runs, strict=True))} |"
    )


def _number(value: float) -> str:
    return "0" if value == 0 else f"{value:.2g}"
