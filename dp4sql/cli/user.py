"""dp4sql user: who may log in."""

from __future__ import annotations

import argparse
import getpass
import sys

from dp4sql.cli.arguments import Commands, add_command


def add(commands: Commands) -> None:
    command = add_command(
        commands,
        "user",
        "add a user who may log in, or change a password",
        "  dp4sql user add users.txt alice\n  dp4sql user add users.txt alice < password.txt\n",
    )
    command.add_argument("action", choices=["add"])
    command.add_argument(
        "file", metavar="FILE", help="holds verifiers (SCRAM-SHA-256), never passwords"
    )
    command.add_argument("name", metavar="NAME")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from dp4sql.catalog.service import check_role
    from dp4sql.wire.auth import add_user

    check_role(args.name)
    password = getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    add_user(args.file, args.name, password)
    return 0
