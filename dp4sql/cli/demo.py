"""dp4sql demo: see dp4sql.demo."""

from __future__ import annotations

import argparse
from pathlib import Path

from dp4sql.cli.arguments import Commands, add_command


def add(commands: Commands) -> None:
    command = add_command(
        commands,
        "demo",
        "make three data sets, start proxies, and ask five questions through psycopg",
        "  dp4sql demo\n  dp4sql demo --scale 1 --serve\n",
    )
    command.add_argument("--scale", default="0.01", help="scale factor of TPC-H (0.01)")
    command.add_argument("--serve", action="store_true", help="leave the proxies running")
    command.add_argument(
        "--listen",
        default="127.0.0.1:6432",
        metavar="HOST:PORT",
        help="the first of three ports (127.0.0.1:6432)",
    )
    command.add_argument("--directory", default=".demo", help="where data and ledgers stay (.demo)")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import uvloop

    from dp4sql.demo import demonstrate
    from dp4sql.serving import address

    uvloop.run(demonstrate(Path(args.directory), args.scale, address(args.listen), args.serve))
    return 0
