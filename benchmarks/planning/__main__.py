"""What a statement costs before any data is read: parse, analyse and render, beside sqlglot's own work.

python -m benchmarks.planning [--runs 15]        prints and writes figures.md

Milliseconds of processor time, the least of all runs: other programs on the machine do not count.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import sqlglot
from sqlglot.optimizer.qualify import qualify

import dp4sql
from dp4sql.bench.queries import tpch_queries
from dp4sql.errors import Dp4sqlError
from dp4sql.garbage import settled
from dp4sql.pipeline.preparation import prepare, rendered
from dp4sql.policy.labels import PolicySet
from dp4sql.sql.dialects import DUCKDB

#: Numbers of statements: one that was seen before would be read quicker.
NEW: Final = itertools.count()
POLICY: Final = Path(__file__).parents[2] / "policies" / "tpch.yaml"
TARGET: Final = Path(__file__).with_name("figures.md")
HEAD: Final = """# Planning

Milliseconds of processor time for each query of TPC-H under policies/tpch.yaml, the least of {runs} runs:
`python -m benchmarks.planning`. *dp4sql* does all that a new statement needs before it is charged: it parses, analyses
under both policies, renders for DuckDB and finds what kept answers are known by, or refuses. *sqlglot* parses and
qualifies the same text, and does nothing else. Garbage is collected as in a proxy that serves. A repeated statement
needs no plan at all.

| query | dp4sql | sqlglot |
| --- | --- | --- |
"""


def planned(policies: PolicySet, sql: str) -> None:
    with contextlib.suppress(Dp4sqlError):
        rendered(prepare(policies, f"{sql} -- {next(NEW)}", None), DUCKDB)


def qualified(schema: dict[str, dict[str, str]], sql: str) -> None:
    qualify(sqlglot.parse_one(sql, read="postgres"), schema=schema, dialect="postgres")


def milliseconds(work: Callable[[], None], runs: int) -> float:
    found = []
    for _ in range(runs):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return 1000 * min(found)


def table(runs: int) -> str:
    policies = dp4sql.load_policy(POLICY)
    schema = {
        t.name: {c.name: str(c.type) for c in t.columns.values()}
        for t in policies.schema.tables.values()
    }
    rows = [
        (
            query.name,
            milliseconds(lambda sql=query.sql: planned(policies, sql), runs),  # type: ignore[misc]
            milliseconds(lambda sql=query.sql: qualified(schema, sql), runs),  # type: ignore[misc]
        )
        for query in tpch_queries()
    ]
    ours, theirs = ([row[i] for row in rows] for i in (1, 2))
    rows.append(("**median**", statistics.median(ours), statistics.median(theirs)))
    rows.append(("**worst**", max(ours), max(theirs)))
    lines = (f"| {name} | {a:.1f} | {b:.1f} |" for name, a, b in rows)
    return HEAD.format(runs=runs) + "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=15)
    with settled():
        text = table(parser.parse_args().runs)
    print(text)
    TARGET.write_text(text, encoding="utf-8")
