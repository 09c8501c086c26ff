"""The command `dp4sql`: arguments in, messages and exit codes out.

Exit codes: 0 done, 1 what was asked for cannot be done, 2 the command line is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import getpass
import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import dp4sql
from dp4sql.errors import Dp4sqlError, InvalidParameter, PolicyError
from dp4sql.policy.labels import PolicySet

DESCRIPTION = """\
dp4sql answers SQL with differential privacy. It stands between Postgres clients and a database,
and adds to each answer the noise that the curator's policy asks for.
"""

EXAMPLES = """\
examples:
  dp4sql demo --serve
      data, a proxy and three answers to look at; then psql can go on
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
    except KeyboardInterrupt:
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
    for add in (_serve, _demo, _explain, _check, _user):
        add(commands)
    return parser


Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def _command(commands: Commands, name: str, summary: str, examples: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _database(command: argparse.ArgumentParser, *, required: bool = True) -> None:
    command.add_argument(
        "--database",
        required=required,
        metavar="URL",
        help="duckdb:///FILE, parquet:///FOLDER or postgresql://USER@HOST/NAME",
    )


def _policy(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--policy",
        required=True,
        metavar="FILE",
        help="the policy file, such as policies/tpch.yaml",
    )


# ------------------------------------------------------------------ serve


def _serve(commands: Commands) -> None:
    command = _command(
        commands,
        "serve",
        "answer Postgres clients until SIGTERM or Ctrl-C",
        "  dp4sql serve --policy policies/university.yaml --database duckdb:///university.duckdb\n"
        "  dp4sql serve --policy shop.yaml --database postgresql://reader@db/shop \\\n"
        "      --ledger shop.ledger --listen 0.0.0.0:6432 --users users.txt --tls server.crt server.key\n",
    )
    _policy(command)
    _database(command)
    command.add_argument(
        "--listen",
        default="127.0.0.1:6432",
        metavar="HOST:PORT",
        help="where clients connect (127.0.0.1:6432); port 0 takes a free one",
    )
    command.add_argument(
        "--ledger",
        metavar="FILE",
        help="what was spent; beside a DuckDB file or folder unless given",
    )
    command.add_argument(
        "--name", help="the database name clients ask for (the policy file's name)"
    )
    command.add_argument(
        "--users",
        metavar="FILE",
        help="who may log in, as dp4sql user writes it; without it anyone on this machine",
    )
    command.add_argument(
        "--tls", nargs=2, metavar=("CERT", "KEY"), help="PEM files: certificate chain and key"
    )
    command.add_argument(
        "--catalog", metavar="URL", help="an empty Postgres that answers catalog queries (its own)"
    )
    command.set_defaults(run=serve)


def serve(args: argparse.Namespace) -> int:
    import uvloop

    uvloop.run(_served(args))
    return 0


async def _served(args: argparse.Namespace) -> None:
    from dp4sql.server import Options, Tls
    from dp4sql.serving import address, proxy, until_stopped
    from dp4sql.wire.auth import load_users

    logging.basicConfig(
        format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO
    )
    if args.ledger is None and args.database.startswith("postgres"):
        raise InvalidParameter(
            "a database server has no folder for its ledger",
            hint="--ledger FILE says where it is kept.",
        )
    name = args.name or Path(args.policy).stem
    options = Options(
        database=name,
        users=load_users(args.users) if args.users else None,
        trust=not args.users,
        tls=Tls.load(*args.tls) if args.tls else None,
        catalog=args.catalog,
    )
    policy = dp4sql.load_policy(args.policy)
    async with proxy(policy, args.database, args.ledger, options, address(args.listen)) as found:
        who = "users of " + args.users if args.users else "anyone on this machine"
        print(f"dp4sql {dp4sql.__version__} listens on {found} for {who}", flush=True)
        print(f"  {found.psql(name, 'me')}", flush=True)
        await until_stopped()
    print("stopped")


# ------------------------------------------------------------------ explain


def _explain(commands: Commands) -> None:
    command = _command(
        commands,
        "explain",
        "bound, derivation, noise and price of a query; reads no data and costs nothing",
        '  dp4sql explain --policy policies/university.yaml "SELECT AVG(salary) FROM faculty"\n'
        "  dp4sql explain --policy policies/tpch.yaml --json - < query.sql\n",
    )
    _policy(command)
    command.add_argument("--json", action="store_true", help="the same as JSON, numbers exact")
    command.add_argument("sql", metavar="SQL", help="one SELECT; - reads it from standard input")
    command.set_defaults(run=explain)


def explain(args: argparse.Namespace) -> int:
    if args.sql == "-":
        args.sql = sys.stdin.read()
    explanation = dp4sql.explain(args.policy, args.sql)
    print(json.dumps(explanation.as_json(), indent=2) if args.json else explanation.text())
    return 0


# ------------------------------------------------------------------ check


def _check(commands: Commands) -> None:
    command = _command(
        commands,
        "check",
        "validate a policy file and, with a database, count where its data breaks a claim",
        "  dp4sql check --policy shop.yaml\n"
        "  dp4sql check --policy shop.yaml --database duckdb:///shop.duckdb\n"
        "      exact counts, for the curator alone; exit code 1 where a claim is broken\n",
    )
    _policy(command)
    _database(command, required=False)
    command.set_defaults(run=check)


def check(args: argparse.Namespace) -> int:
    policy = dp4sql.load_policy(args.policy)
    tables, policies = len(policy.schema.tables), len(policy.policies)
    print(f"{args.policy}: no mistakes in {tables} tables and {policies} policies")
    return asyncio.run(_checked(policy, args.database)) if args.database else 0


async def _checked(policy: PolicySet, url: str) -> int:
    """Print each claim as it is tested; 1 where one is broken."""
    from dp4sql.backends import open_backend
    from dp4sql.curator.check import findings

    backend = open_backend(url)
    claims = broken = 0
    try:
        async for finding in findings(policy, backend):
            line = policy.lines.mark(finding.rule.where)[0]
            print(finding.line(f"{policy.source}:{line}"), flush=True)
            claims, broken = claims + 1, broken + bool(finding.broken)
    finally:
        await backend.close()
    print(f"{claims} claims, {broken} broken. These counts are exact: for the curator alone.")
    return 1 if broken else 0


# ------------------------------------------------------------------ demo


def _demo(commands: Commands) -> None:
    command = _command(
        commands,
        "demo",
        "make two data sets, start proxies, and ask three questions through psycopg",
        "  dp4sql demo\n  dp4sql demo --scale 1 --serve\n",
    )
    command.add_argument("--scale", default="0.01", help="scale factor of TPC-H (0.01)")
    command.add_argument("--serve", action="store_true", help="leave the proxies running")
    command.add_argument(
        "--listen",
        default="127.0.0.1:6432",
        metavar="HOST:PORT",
        help="the first of two ports (127.0.0.1:6432)",
    )
    command.add_argument("--directory", default=".demo", help="where data and ledgers stay (.demo)")
    command.set_defaults(run=demo)


def demo(args: argparse.Namespace) -> int:
    import uvloop

    from dp4sql.demo import demonstrate
    from dp4sql.serving import address

    uvloop.run(demonstrate(Path(args.directory), args.scale, address(args.listen), args.serve))
    return 0


# ------------------------------------------------------------------ user


def _user(commands: Commands) -> None:
    command = _command(
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
    command.set_defaults(run=user)


def user(args: argparse.Namespace) -> int:
    from dp4sql.wire.auth import add_user

    password = getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    add_user(args.file, args.name, password)
    return 0
