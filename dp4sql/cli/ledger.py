"""dp4sql ledger: what was spent, by whom, on what, and whether the record is whole."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict

from dp4sql.budget import report
from dp4sql.budget.entry import Entry
from dp4sql.budget.kept import KeptAnswers, Size
from dp4sql.budget.ledger import Ledger, accept, unverified
from dp4sql.cli.arguments import Commands, add_command
from dp4sql.errors import LedgerBroken

NONE = "no queries were charged"


def add(commands: Commands) -> None:
    command = add_command(
        commands,
        "ledger",
        "what was spent, by whom and on what, and whether the record is whole",
        "  dp4sql ledger show university.duckdb.ledger\n"
        "  dp4sql ledger top university.duckdb.ledger --most 5\n"
        "  dp4sql ledger verify postgresql://proxy@budgets/ledger\n"
        "  dp4sql ledger export university.duckdb.ledger > ledger.jsonl\n"
        "  dp4sql ledger prune university.duckdb.ledger --before 2026-01-01\n",
    )
    actions = command.add_subparsers(title="actions", metavar="ACTION", required=True)
    shown = _action(actions, "show", show, "accounts, allowances and the last queries")
    shown.add_argument("--role", help="the queries of this role alone")
    shown.add_argument("--last", type=_count, default=10, metavar="N", help="how many queries (10)")
    _json(shown)
    _action(actions, "verify", verify, "recompute every hash and total; exit code 1 if one is off")
    ranked = _action(actions, "top", top, "the statements that cost the most")
    ranked.add_argument("--most", type=_count, default=10, metavar="N", help="how many (10)")
    _json(ranked)
    exported = _action(actions, "export", export, "a line of JSON an entry, amounts exact")
    exported.add_argument(
        "--unverified", action="store_true", help="what a ledger says that does not verify"
    )
    pruned = _action(
        actions,
        "prune",
        prune,
        "drop kept answers about older data, and with --before old ones; charges stay",
    )
    pruned.add_argument(
        "--before",
        type=_day,
        metavar="DATE",
        help="kept before this day (UTC), such as 2026-01-31: a repeat is charged again",
    )
    accepted = _action(
        actions,
        "accept",
        go_on,
        "go on although the last entries are missing; the ledger records it",
    )
    accepted.add_argument(
        "--yes",
        action="store_true",
        help="what they charged may be forgotten; without it nothing happens",
    )


def _action(
    actions: Commands, name: str, run: Callable[[argparse.Namespace], int], summary: str
) -> argparse.ArgumentParser:
    action = actions.add_parser(
        name, help=summary, description=summary[0].upper() + summary[1:] + "."
    )
    action.add_argument("ledger", metavar="LEDGER", help="a file, or a postgresql:// URL")
    action.set_defaults(run=run)
    return action


def _json(action: argparse.ArgumentParser) -> None:
    action.add_argument("--json", action="store_true", help="the same as JSON, amounts exact")


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return number


def _day(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is not a date such as 2026-01-31") from None


# ------------------------------------------------------------------ reading


def show(args: argparse.Namespace) -> int:
    ledger = Ledger(args.ledger, create=False)
    entries = ledger.entries()
    found = [
        (d, report.accounts(entries, d), report.allowances(ledger, entries, d))
        for d in report.databases(entries)
    ]
    ledger.close()
    queries, size = report.queries(entries, args.role, args.last), _kept(args.ledger)
    if args.json:
        known = [
            {"database": d, "accounts": a.records(), "allowances": more.records()}
            for d, a, more in found
        ]
        rest = {"queries": queries.records(), "kept": asdict(size)}
        print(json.dumps({"databases": known, **rest}, indent=2))
        return 0
    for database, accounts, allowances in found:
        print(_title(database), accounts.text(), sep="\n", end="\n\n")
        if allowances.rows:
            print(allowances.text(), end="\n\n")
    print(queries.text() if queries.rows else NONE)
    if size.answers:
        print(f"\n{_sized(size)}")
    return 0


def _kept(where: str) -> Size:
    kept = KeptAnswers(where, create=False)
    size = kept.size()
    kept.close()
    return size


def _sized(size: Size) -> str:
    older = f", {size.older} of them about older data" if size.older else ""
    return f"kept answers: {size.answers} ({size.characters / 1000:,.1f} kB){older}"


def _title(database: str) -> str:
    """The end of a path tells more than its start."""
    return database if len(database) <= report.WIDTH else f"…{database[1 - report.WIDTH :]}"


def verify(args: argparse.Namespace) -> int:
    ledger = Ledger(args.ledger, create=False)
    last = ledger.entries(1)
    ledger.close()
    if not last:
        print("the ledger is empty")
        return 0
    print(f"all {last[0].id} entries verify, the last of {last[0].at[:19].replace('T', ' ')} UTC")
    return _verify_kept(args.ledger)


def _verify_kept(where: str) -> int:
    """Answers that were changed cost nothing but a repeat: they are not shown again."""
    kept = KeptAnswers(where, create=False)
    changed, size = sum(1 for _ in kept.changed()), kept.size()
    kept.close()
    if not changed:
        print(f"all {size.answers} kept answers are as they were released")
        return 0
    print(
        f"{changed} of {size.answers} kept answers are not as they were released\n"
        "hint: They are not shown again. dp4sql ledger prune drops them.",
        file=sys.stderr,
    )
    return 1


def top(args: argparse.Namespace) -> int:
    table = report.top(_entries(args.ledger), args.most)
    if args.json:
        print(json.dumps(table.records(), indent=2))
    else:
        print(table.text() if table.rows else NONE)
    return 0


def export(args: argparse.Namespace) -> int:
    for line in report.export(
        unverified(args.ledger) if args.unverified else _entries(args.ledger)
    ):
        print(line)
    return 0


def _entries(where: str) -> Iterable[Entry]:
    ledger = Ledger(where, create=False)
    found = ledger.entries()
    ledger.close()
    return found


# ------------------------------------------------------------------ going on


def prune(args: argparse.Namespace) -> int:
    kept = KeptAnswers(args.ledger, create=False)
    dropped, size = kept.prune(args.before), kept.size()
    kept.close()
    print(f"dropped {dropped} kept answers; {size.answers} are left")
    return 0


def go_on(args: argparse.Namespace) -> int:
    try:
        ledger = Ledger(args.ledger, create=False)
    except LedgerBroken as error:
        if not args.yes:
            raise
        number = accept(args.ledger)
        print(
            f"{error.message}\nIt goes on with the {number} that are there, and says so.",
            file=sys.stderr,
        )
        return 0
    ledger.close()
    print("the ledger verifies: there is nothing to accept")
    return 0
