"""dp4sql data-version: tell the proxies that the data changed."""

from __future__ import annotations

import argparse
import asyncio

from dp4sql.cli.arguments import Commands, add_command, database_argument


def add(commands: Commands) -> None:
    command = add_command(
        commands,
        "data-version",
        "show which state of the data stored answers belong to, or declare a new one",
        "  dp4sql data-version show --database duckdb:///university.duckdb\n"
        "  dp4sql data-version bump --database duckdb:///university.duckdb --note 'enrolment of autumn'\n"
        "      after a change of the data: stored answers are not shown for the new state\n",
    )
    command.add_argument("action", choices=["show", "bump"])
    database_argument(command)
    command.add_argument(
        "--ledger", metavar="WHERE", help="as for dp4sql serve: a file or a postgresql:// URL"
    )
    command.add_argument("--note", default="", help="why, for whoever reads the ledger later")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from dp4sql.budget.database import beside
    from dp4sql.budget.kept import KeptAnswers

    identity = asyncio.run(_identity(args.database))
    kept = KeptAnswers(args.ledger or beside(identity))
    version = (
        kept.bump(identity, args.note) if args.action == "bump" else kept.data_version(identity)
    )
    kept.close()
    print(f"the data of {identity} is at version {version}")
    return 0


async def _identity(url: str) -> str:
    from dp4sql.backends import open_backend

    backend = open_backend(url)
    await backend.close()
    return backend.identity
