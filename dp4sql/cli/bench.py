"""dp4sql bench: what privacy costs in time and accuracy."""

from __future__ import annotations

import argparse
import asyncio
import sys
from fractions import Fraction
from pathlib import Path

import dp4sql
from dp4sql.cli import progress
from dp4sql.cli.arguments import Commands, add_command, positive
from dp4sql.errors import InvalidParameter

EXAMPLES = """\
  dp4sql bench tpch --scale 0.1 --engine duckdb --runs 10
      goes on where it was cut short; data and results are in .bench/
  dp4sql bench tpch --scale 1 --engine postgres
      on a Postgres of its own
  dp4sql bench tpch --scale 1 --engine postgres --database postgresql://reader@db/tpch
      on yours; TPC-H is loaded where the database is empty
"""


def add(commands: Commands) -> None:
    command = add_command(
        commands, "bench", "measure what privacy costs in time and accuracy on TPC-H", EXAMPLES
    )
    command.add_argument("suite", choices=["tpch"], help="all 22 queries of TPC-H")
    command.add_argument("--scale", default="0.1", help="scale factor (0.1)")
    command.add_argument("--engine", default="duckdb", choices=["duckdb", "postgres", "spark"])
    command.add_argument(
        "--database", metavar="URL", help="a database that holds TPC-H, or an empty one of Postgres"
    )
    command.add_argument("--policy", metavar="FILE", help="the policy file (policies/tpch.yaml)")
    command.add_argument("--epsilon", default="1", help="what each query may lose (1)")
    command.add_argument("--runs", type=positive, default=50, help="runs of each query (50)")
    command.add_argument("--out", default=".bench", metavar="FOLDER", help="data and results")
    command.add_argument("--fresh", action="store_true", help="forget earlier runs")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import uvloop

    from dp4sql.bench.figures import draw, pairs, table
    from dp4sql.bench.report import markdown
    from dp4sql.bench.results import load
    from dp4sql.bench.tpch import data, run_tpch, unlimited
    from dp4sql.data.shipped import policy_file

    epsilon = _epsilon(args.epsilon)
    policy = Path(args.policy) if args.policy else policy_file("tpch")
    about = {
        "scale": args.scale,
        "engine": args.engine,
        "epsilon": args.epsilon,
        "policy": policy.name,
    }
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"tpch-{args.scale}-{args.engine}.json"
    if args.fresh:
        path.unlink(missing_ok=True)
    results = load(path, about)
    policies = unlimited(dp4sql.load_policy(policy), epsilon)
    with data(args.engine, args.scale, args.database, folder, _loading) as url:
        progress.clear()
        uvloop.run(run_tpch(policies, url, args.runs, results, path, _tell))
        found = asyncio.run(pairs(url, epsilon, args.runs, _tell))
    page = path.with_suffix(".md")
    page.write_text(markdown(results) + table(found))
    print(path, page, sep="\n")
    try:
        print(*draw(found, folder), sep="\n")
    except ImportError:
        print("no figures: pip install 'dp4sql[bench]' brings matplotlib", file=sys.stderr)
    return 0


def _epsilon(text: str) -> Fraction:
    try:
        epsilon = Fraction(text)
    except (ValueError, ZeroDivisionError):
        epsilon = Fraction(0)
    if epsilon <= 0:
        raise InvalidParameter(f"{text} is no epsilon", hint="A positive number such as 1 or 0.5.")
    return epsilon


def _loading(done: int, steps: int, what: str) -> None:
    progress.show(done, steps, what, quiet=True)


def _tell(line: str) -> None:
    """The latest line stays on a terminal; elsewhere only what is finished is told."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="" if ": run " in line else "\n", file=sys.stderr, flush=True)
    elif ": run " not in line:
        print(line, file=sys.stderr, flush=True)
