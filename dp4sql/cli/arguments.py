"""Arguments that several commands share."""

from __future__ import annotations

import argparse
from typing import TypeAlias

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_command(
    commands: Commands, name: str, summary: str, examples: str
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def database_argument(command: argparse.ArgumentParser, *, required: bool = True) -> None:
    command.add_argument(
        "--database",
        required=required,
        metavar="URL",
        help="duckdb:///FILE, parquet:///FOLDER, postgresql://USER@HOST/NAME or spark:///FOLDER; "
        "docs/deploy.md has the rest",
    )


def policy_argument(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--policy",
        required=True,
        metavar="FILE",
        help="the policy file, such as policies/tpch.yaml",
    )


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is no whole number of at least 1")
    return int(text)
