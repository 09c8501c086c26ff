"""dp4sql check: a policy file, and the data it is about."""

from __future__ import annotations

import argparse
import asyncio

import dp4sql
from dp4sql.cli import progress
from dp4sql.cli.arguments import Commands, add_command, database_argument, policy_argument
from dp4sql.policy.labels import PolicySet


def add(commands: Commands) -> None:
    command = add_command(
        commands,
        "check",
        "validate a policy file and, with a database, count where its data breaks a claim",
        "  dp4sql check --policy shop.yaml\n"
        "  dp4sql check --policy shop.yaml --database duckdb:///shop.duckdb\n"
        "      exact counts, for the curator alone; exit code 1 where a claim is broken\n",
    )
    policy_argument(command)
    database_argument(command, required=False)
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    policy = dp4sql.load_policy(args.policy)
    tables, policies = len(policy.schema.tables), len(policy.policies)
    print(
        f"{args.policy}: no mistakes in {tables} {'table' if tables == 1 else 'tables'} "
        f"and {policies} {'policy' if policies == 1 else 'policies'}"
    )
    return asyncio.run(_checked(policy, args.database)) if args.database else 0


async def _checked(policy: PolicySet, url: str) -> int:
    """Print each claim as it is tested; 1 where one is broken."""
    from dp4sql.backends import open_backend
    from dp4sql.curator.check import claims, findings

    backend = open_backend(url)
    tested = broken = 0
    steps = claims(policy, backend)
    try:
        progress.show(0, steps, "claims", quiet=True)
        async for finding in findings(policy, backend):
            line = policy.lines.mark(finding.rule.where)[0]
            progress.clear()
            print(finding.line(f"{policy.source}:{line}"), flush=True)
            tested, broken = tested + 1, broken + bool(finding.broken)
            progress.show(tested, steps, "claims", quiet=True)
    finally:
        progress.clear()
        await backend.close()
    print(f"{tested} claims, {broken} broken. These counts are exact: for the curator alone.")
    return 1 if broken else 0
