"""figures.md: what was measured, beside what the paper prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from benchmarks.certify.databases import EPSILONS
from benchmarks.certify.mechanisms import Budget
from benchmarks.certify.results import Results
from benchmarks.certify.sweep import KINDS, Cell
from dp4sql.mechanisms.certify.forms import Count, Steps
from dp4sql.mechanisms.certify.laws import Geometric, half_emission, optimum
from dp4sql.policy.certify import MarginKind

NAMES: Final[dict[MarginKind, str]] = {
    "paper": "plain (the paper's)",
    "sharp": "sharp",
    "exact": "exact with coin",
}

INTRODUCTION: Final = """\
# Certified statements

PrivCert's experiments, repeated with the code that answers `dp4sql.certify`. *EmitRate* is the share of
candidates that are emitted, *UnsupportedEmit* the share of the unsupported candidates that are emitted all the
same (beta bounds its expectation), *recall* the share of the supported ones that are emitted. The paper's
supports are not published; here they come from 0.3 Beta(4, 9) + 0.7 Beta(1, 40), so levels differ from the
paper's and effects can be compared.
"""

SWEEP: Final = """\
## Synthetic sweep

n 10,000 rows; epsilon 1, 4, 10, 20; theta .05, .1, .2; m 50, 200, 1000; beta .01, .05, .1; five seeds a cell,
108 cells. The paper reports UnsupportedEmit of at most .038, .002 in the mean. *Within* counts the cells in
which the five runs emit no more unsupported statements than chance at beta explains (one in 10,000);
*interval* those whose expected EmitRate lies in the interval of theorem 4 under every seed.
"""

MECHANISMS: Final = """\
## Mechanisms

n 1800, m 200, epsilon 10, theta and beta .05, as in the paper's table 3. Under Hist a row counts for the first
statements that it supports, so the order of the candidates matters; here each row supports about 22 of the 200.
SVT emits at most its cap of 200. The paper does not print its caps.
"""

TABLE_3: Final = [
    ["paper: Laplace, sampled candidates", ".404", ".220", ".749"],
    ["paper: Hist, the same", ".199", ".183", ".390"],
    ["paper: Laplace, each candidate once", ".422", ".151", ".816"],
    ["paper: SVT, the same", ".400", ".151", ".796"],
    ["paper: Gaussian, the same", ".444", ".162", ".833"],
]

REPORTS: Final = """\
## Whole reports

The same candidates with one beta for the whole report. *Any false* is the share of reports with at least one
unsupported statement; Bonferroni and Holm keep it below .05, Benjamini-Hochberg bounds the expected share of
false statements instead.
"""

TABLE_9: Final = [
    ["paper: per statement", ".404", ".220", ".749"],
    ["paper: Bonferroni", ".357", ".169", ".565"],
]
CORPORA: Final = ["EmitRate", "TAB", "WildChat", "Yelp"]

BUDGETS: Final = """\
## Budgets

In expectation, with the interval of theorem 4, beside the paper's table 2 (WildChat).
"""

TABLE_2: Final = {
    1: (".051", "[.000, .335]"),
    4: (".180", "[.135, .335]"),
    10: (".220", "[.162, .335]"),
    20: (".274", "[.189, .335]"),
}

DATABASES: Final = """\
## University and TPC-H

Statements over real tables, at a total epsilon of 1, 4, 10 and 20 for all of them; each cell is EmitRate /
UnsupportedEmit over five draws. D is how many rows one protected entity can move, as the engine derives it
from the policy. A count serves every threshold, so *measured* is smaller than the number of statements; the
steps of margin threshold are optimal for one threshold, and pay for each.
"""

PROXY: Final = """\
## Proxy

1800 rows with six dependent attributes; candidates are all 375 pairs of values. The proxy is 1000 rows drawn
from private histograms of the single attributes. Same epsilon, 10, beta .05. What is read off the proxy covers
more, but nothing bounds how much of it is false about the data, and no epsilon helps: its mistakes come from
the model behind it. It certifies the proxy alone. The paper's table 6 has UnsupportedEmit .092 against .001
at theta .10, and .000 for both at .05.
"""

NOT_REPRODUCED: Final = """\
## Not reproduced

TAB, WildChat and Yelp with their natural-language matcher, the free-text baselines (InvisibleInk,
document-level), proposers and matchers (tables 1, 5, 7, 8), and Private Evolution: they need models and data
that do not come with this project.
"""


def markdown(results: Results) -> Iterator[str]:
    yield INTRODUCTION
    yield from _margins()
    yield SWEEP
    yield from _sweep(results.cells)
    yield MECHANISMS
    yield from _table(
        ["mechanism", "EmitRate", "UnsupportedEmit", "recall"],
        [
            [r.name, *_three(r.found.emitted, r.found.unsupported, r.found.recall)]
            for r in results.mechanisms
        ],
    )
    yield from _table(CORPORA, TABLE_3)
    yield REPORTS
    yield from _table(
        ["control", "EmitRate", "UnsupportedEmit", "any false"],
        [
            [r.name, *_three(r.found.emitted, r.found.unsupported, r.any_false)]
            for r in results.reports
        ],
    )
    yield from _table(CORPORA, TABLE_9)
    yield BUDGETS
    yield from _budgets(results.plain, results.exact)
    yield DATABASES
    yield from _databases(results)
    yield PROXY
    yield from _boundary(results)
    yield NOT_REPRODUCED


# ---------------------------------------------------------------- tables


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _three(*numbers: float) -> list[str]:
    return [short(x) for x in numbers]


def short(x: float) -> str:
    return f"{x:.3f}".lstrip("0") if x < 1 else f"{x:.3f}"


def _margins() -> Iterator[str]:
    yield "## Rows that emission takes\n"
    yield (
        "Rows above the largest unsupported count at which emission is as likely as not, beta .05. The\n"
        "*optimum* is that of the best private certifier.\n"
    )
    header = ["epsilon", "D", "optimum", *NAMES.values(), "in steps with coin"]
    cases = [(Fraction(e), d) for e, d in (("0.2", 1), ("0.5", 1), ("1", 1), ("1", 6))]
    yield from _table(header, [_half(epsilon, d) for epsilon, d in cases])


def _half(epsilon: Fraction, moved: int) -> list[str]:
    beta, form = Fraction(1, 20), Count(1000, Fraction(1, 10))
    steps = Steps(1000, Fraction(1, 10), moved)
    found = [form.records(half_emission(Geometric(moved / epsilon, kind), beta)) for kind in NAMES]
    best = steps.records(optimum(epsilon, beta))
    quantised = steps.records(half_emission(Geometric(1 / epsilon, "threshold"), beta))
    return [f"{float(epsilon):g}", str(moved), *map(str, (best, *found, quantised))]


def _sweep(cells: Sequence[Cell]) -> Iterator[str]:
    header = [
        "margin", "expected, largest", "expected, mean", "observed, largest", "observed, mean",
        "within", "interval", "mean EmitRate",
    ]  # fmt: skip
    rows = []
    for kind in KINDS:
        own = [c for c in cells if c.kind == kind]
        expected, observed = (
            [getattr(c, part).unsupported for c in own] for part in ("expected", "observed")
        )
        rates = sum(c.expected.emitted for c in own) / len(own)
        within, inside = sum(c.excused for c in own), sum(c.inside for c in own)
        numbers = (max(expected), _mean(expected), max(observed), _mean(observed))
        rows.append(
            [NAMES[kind], *(f"{x:.4f}" for x in numbers), f"{within} of {len(own)}",
             f"{inside} of {len(own)}", short(rates)]
        )  # fmt: skip
    yield from _table(header, rows)


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _budgets(plain: Sequence[Budget], exact: Sequence[Budget]) -> Iterator[str]:
    header = [
        "epsilon", "plain", "interval", "exact", "UnsupportedEmit", "interval",
        "paper", "interval",
    ]  # fmt: skip
    rows = []
    for p, e in zip(plain, exact, strict=True):
        printed = TABLE_2[int(e.epsilon)]
        rows.append(
            [str(e.epsilon), short(p.found.emitted), _interval(p), short(e.found.emitted),
             short(e.found.unsupported), _interval(e), *printed]
        )  # fmt: skip
    yield from _table(header, rows)


def _interval(b: Budget) -> str:
    return f"[{short(b.low)}, {short(b.high)}]"


def _databases(results: Results) -> Iterator[str]:
    header = [
        "statements about", "number", "measured", "D", "supported", *(f"{e}" for e in EPSILONS)
    ]  # fmt: skip
    rows = [
        [r.case, str(r.statements), str(r.measured), str(r.sensitivity), short(r.supported)]
        + [f"{short(r.found[e].emitted)} / {short(r.found[e].unsupported)}" for e in EPSILONS]
        for r in results.databases
    ]
    yield from _table(header, rows)


def _boundary(results: Results) -> Iterator[str]:
    header = ["theta", "method", "EmitRate", "UnsupportedEmit", "runs with any", "recall"]
    rows = [
        [f"{float(r.theta):g}", r.method, *_three(r.found.emitted, r.found.unsupported),
         f"{r.any_false} of {r.runs}", short(r.found.recall)]
        for r in results.boundary
    ]  # fmt: skip
    yield from _table(header, rows)
