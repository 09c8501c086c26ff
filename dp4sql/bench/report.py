"""Results as a page of Markdown."""

from __future__ import annotations

from statistics import median
from typing import TypeAlias

from dp4sql.bench.measure import QUANTILES
from dp4sql.bench.results import Measured, Results

STAGES = ("plain", "total", "charge", "read", "rest", "plan", "first")
SLOW_SECONDS = 0.05

Answered: TypeAlias = dict[str, Measured]


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
        first_ratios(answered),
        f"The process held {results.resident_megabytes} MB at most; an embedded engine's memory is in that.",
        "",
        "Medians over the runs, in milliseconds. `plain` is the query as it stands on the same engine,",
        "`private` a private answer with noise of its own, as a proxy gives it to a statement that it has seen",
        "before: `charge` (ledger), `read` (engine), `rest` (noise and post-processing). A new statement is",
        "planned first, which takes `plan` (parse, infer, render): `first` is its answer in all.",
        "",
        f"| query | runs | plain | private | ratio |{cpu} {' | '.join(STAGES[2:])} | ratio |",
        f"|---|{'---:|' * (len(STAGES) + 3 + embedded)}",
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


def ratio(measured: Measured, what: str = "total", clock: str = "") -> float:
    return _median(measured, f"{what}{clock}") / (_median(measured, f"plain{clock}") or 1.0)


def ratios(answered: Answered) -> str:
    """Median and worst ratio of those that take long enough to be compared."""
    slow = _slow(answered)
    if not slow:
        return f"None takes over {SLOW_SECONDS * 1000:.0f} ms, so times cannot be compared."
    return (
        f"Of those that take over {SLOW_SECONDS * 1000:.0f} ms ({len(slow)}), private / plain time is "
        f"{_told(slow, 'total')}."
    )


def cpu_ratios(answered: Answered) -> str:
    """The same in CPU time, which a machine that others use distorts less. For an engine in this process."""
    told = _told(_slow(answered), "total", "_cpu")
    return f"In CPU time of the process, engine and all, it is {told}."


def first_ratios(answered: Answered) -> str:
    """The same of first answers."""
    told = _told(_slow(answered), "first")
    return f"Of first answers, which have to be planned, it is {told}."


def _slow(answered: Answered) -> Answered:
    return {n: m for n, m in answered.items() if _median(m, "plain") > SLOW_SECONDS}


def _told(slow: Answered, what: str, clock: str = "") -> str:
    if not slow:
        return "unknown"
    found = {name: ratio(m, what, clock) for name, m in slow.items()}
    worst = max(found, key=found.__getitem__)
    return f"{median(found.values()):.2f} in the median and {found[worst]:.2f} at worst ({worst})"


def _median(measured: Measured, stage: str) -> float:
    return median(seconds.get(stage, 0.0) for seconds in measured.seconds)


def _times(name: str, measured: Measured, embedded: bool) -> str:
    plain, total, *stages = (_median(measured, stage) * 1000 for stage in STAGES)
    cells = [f"{plain:.1f}", f"{total:.1f}", f"{ratio(measured):.2f}"]
    cells += [f"{ratio(measured, 'total', '_cpu'):.2f}"] if embedded else []
    cells += [*(f"{s:.1f}" for s in stages), f"{ratio(measured, 'first'):.2f}"]
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
