"""dp4sql explain: what a query would cost."""

from __future__ import annotations

import argparse
import json
import sys

import dp4sql
from dp4sql.cli.arguments import Commands, add_command, policy_argument


def add(commands: Commands) -> None:
    command = add_command(
        commands,
        "explain",
        "bound, derivation, noise and price of a query; reads no data and costs nothing",
        '  dp4sql explain --policy policies/university.yaml "SELECT AVG(salary) FROM faculty"\n'
        "  dp4sql explain --policy policies/tpch.yaml --json - < query.sql\n",
    )
    policy_argument(command)
    command.add_argument("--json", action="store_true", help="the same as JSON, numbers exact")
    command.add_argument("sql", metavar="SQL", help="one SELECT; - reads it from standard input")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.sql == "-":
        args.sql = sys.stdin.read()
    explanation = dp4sql.explain(args.policy, args.sql)
    print(json.dumps(explanation.as_json(), indent=2) if args.json else explanation.text())
    return 0
