"""The command `dp4sql`: arguments in, messages and exit codes out. One file a command.

Exit codes: 0 done, 1 what was asked for cannot be done, 2 the command line is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import dp4sql
from dp4sql.cli import bench, check, data_version, demo, explain, init, ledger, serve, user
from dp4sql.errors import Dp4sqlError, PolicyError

DESCRIPTION = """\
dp4sql answers SQL with differential privacy. It stands between Postgres clients and a database,
and adds to each answer the noise that the curator's policy asks for.
"""

EXAMPLES = """\
examples:
  dp4sql demo --serve
      data, proxies and five answers to look at; then psql can go on
  dp4sql explain --policy policies/university.yaml "SELECT COUNT(*) FROM student"
      bound, noise and price of a query, without any data
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    args = _parser().parse_args(arguments)
    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except Dp4sqlError as error:
        print(_told(error, getattr(args, "sql", "")), file=sys.stderr)
    except BrokenPipeError:
        # Whoever read the output has seen enough; at exit nothing may try to write the rest.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"dp4sql: {error.filename or 'the system'}: {error.strerror}", file=sys.stderr)
    except (KeyboardInterrupt, EOFError):
        print(file=sys.stderr)  # the question on the terminal stays on its line
        return 130
    return 1


def _told(error: Dp4sqlError, sql: str) -> str:
    """Message, place and advice; the problems of a policy file bring theirs along."""
    if isinstance(error, PolicyError):
        return error.message
    lines = [f"dp4sql: {error.message}"]
    if error.position and sql:
        before, after = sql[: error.position - 1], sql[error.position - 1 :]
        start = before.rpartition("\n")[2]
        lines += [f"  {start}{after.partition(chr(10))[0]}", f"  {' ' * len(start)}^"]
    lines += [f"  {n}: {t}" for n, t in (("detail", error.detail), ("hint", error.hint)) if t]
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "dp4sql",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"dp4sql {dp4sql.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (serve, demo, explain, init, check, ledger, data_version, bench, user):
        command.add(commands)
    return parser
