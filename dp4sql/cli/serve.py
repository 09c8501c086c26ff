"""dp4sql serve: a proxy until a signal comes."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Final

import dp4sql
from dp4sql.cli.arguments import Commands, add_command, database_argument, policy_argument, positive

if TYPE_CHECKING:
    from dp4sql.serving import Files


#: Open files beside those of sessions: logins, the engine, the ledger, libraries.
FILES: Final = 1000


def add(commands: Commands) -> None:
    command = add_command(
        commands,
        "serve",
        "answer Postgres clients until SIGTERM or Ctrl-C",
        "  dp4sql serve --policy policies/university.yaml --database duckdb:///university.duckdb\n"
        "  dp4sql serve --policy shop.yaml --database postgresql://reader@db/shop \\\n"
        "      --ledger shop.ledger --listen 0.0.0.0:6432 --users users.txt --tls server.crt server.key\n",
    )
    policy_argument(command)
    database_argument(command)
    command.add_argument(
        "--listen",
        default="127.0.0.1:6432",
        metavar="HOST:PORT",
        help="where clients connect (127.0.0.1:6432); port 0 takes a free one",
    )
    command.add_argument(
        "--ledger",
        metavar="WHERE",
        help="what was spent: a file (beside a DuckDB file or folder unless given), or a postgresql:// "
        "URL that several proxies share",
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
        "--require-tls",
        choices=["remote", "all", "none"],
        default="remote",
        help="who has to use TLS where --tls is given: clients of other machines (remote), all, or none",
    )
    command.add_argument(
        "--max-connections",
        type=positive,
        default=1200,
        metavar="N",
        help="sessions at once (1200)",
    )
    command.add_argument(
        "--max-role-connections", type=positive, metavar="N", help="sessions at once of one user"
    )
    command.add_argument(
        "--catalog", metavar="URL", help="an empty Postgres that answers catalog queries (its own)"
    )
    command.add_argument(
        "--audit-log",
        metavar="FILE",
        help="a line of JSON for each statement: who, what, which charge",
    )
    command.add_argument(
        "--metrics-address",
        metavar="HOST:PORT",
        help="where /metrics, /healthz and /readyz are; for the curator alone",
    )
    command.add_argument(
        "--observe",
        action="store_true",
        help="show bounds, noise and charges; withhold rows, read and charge nothing",
    )
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    import uvloop

    uvloop.run(_served(args))
    return 0


async def _served(args: argparse.Namespace) -> None:
    from dp4sql.garbage import settled
    from dp4sql.server import Options
    from dp4sql.serving import Watch, address, proxy, until_stopped

    logging.basicConfig(
        format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO
    )
    name = args.name or Path(args.policy).stem
    files = _read(args)
    _allow_sockets(args.max_connections)
    options = Options(
        database=name,
        users=files.users,
        trust=not args.users,
        tls=files.tls,
        require_tls=args.require_tls,
        catalog=args.catalog,
        max_connections=args.max_connections,
        max_role_connections=args.max_role_connections,
    )
    pages = address(args.metrics_address) if args.metrics_address else None
    watch = Watch(args.audit_log, pages, args.observe)
    listen = address(args.listen)
    async with proxy(files.policy, args.database, args.ledger, options, listen, watch) as running:
        who = "users of " + args.users if args.users else "anyone on this machine"
        print(f"dp4sql {dp4sql.__version__} listens on {running.at} for {who}", flush=True)
        print(f"  {running.at.psql(name, 'me')}", flush=True)
        if running.pages:
            print(f"  http://{running.pages}/metrics, /healthz, /readyz", flush=True)
        if args.observe:
            print(
                "  observing: rows are withheld, nothing private is read and nothing charged",
                flush=True,
            )
        with settled():
            await until_stopped(lambda: running.renew(lambda: _read(args)))
    print("stopped")


def _allow_sockets(connections: int) -> None:
    """As many open files as the system lets the process have, for sockets of clients and of the engine."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if 0 <= most < 2 * connections + FILES:
        logging.getLogger(__name__).warning(
            "at most %d open files are too few for %d clients: ulimit -n", most, connections
        )


def _read(args: argparse.Namespace) -> Files:
    """The files that SIGHUP reads again."""
    from dp4sql.server import Tls
    from dp4sql.serving import Files
    from dp4sql.wire.auth import load_users

    return Files(
        dp4sql.load_policy(args.policy),
        load_users(args.users) if args.users else None,
        Tls.load(*args.tls) if args.tls else None,
    )
