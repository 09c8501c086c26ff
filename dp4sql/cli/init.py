"""dp4sql init: a draft of a policy file from a database."""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

import dp4sql
from dp4sql.cli import progress
from dp4sql.cli.arguments import Commands, add_command, database_argument
from dp4sql.curator.draft import Choices, draft, owned, proposed_entities
from dp4sql.curator.init import Structure, measure, structure
from dp4sql.errors import InvalidParameter

#: A flag's words, or a line from the terminal.
Given: TypeAlias = str | list[str]
T = TypeVar("T")

EXAMPLES = """\
  dp4sql init --database duckdb:///shop.duckdb
      asks whom to protect and what is public, and writes policy.yaml
  dp4sql init --database postgresql://reader@db/shop --entity customer --public nation region \\
      --out shop.yaml
      asks nothing
"""


def add(commands: Commands) -> None:
    command = add_command(
        commands, "init", "draft a policy file from a database's schema and data", EXAMPLES
    )
    database_argument(command)
    command.add_argument(
        "--out", default="policy.yaml", metavar="FILE", help="the file to write (policy.yaml)"
    )
    command.add_argument(
        "--entity", nargs="+", metavar="TABLE", help="tables of those who are protected"
    )
    command.add_argument(
        "--public",
        nargs="+",
        metavar="TABLE",
        default=None,
        help="tables everybody may read exactly",
    )
    command.add_argument("--epsilon", metavar="NUMBER", help="what one query spends (1.0)")
    command.add_argument("--budget", metavar="NUMBER", help="what all queries may spend (20)")
    command.add_argument(
        "--yes", action="store_true", help="take the proposals instead of asking on a terminal"
    )
    command.add_argument("--force", action="store_true", help="replace FILE where it exists")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    out = Path(args.out)
    if out.exists() and not args.force:
        raise InvalidParameter(
            f"{out} exists", hint="--out names another file, --force replaces it."
        )
    if not os.access(out.parent, os.W_OK):
        # Before the measuring, which may take long.
        raise InvalidParameter(
            f"{out} cannot be written", hint="--out names a file in a folder that exists."
        )
    text = asyncio.run(_drafted(args))
    out.write_text(text, encoding="utf-8")
    dp4sql.load_policy(out)
    print(f"{out}: a draft that loads. Now decide on each line marked measured-from-data, then:")
    secret = re.search(r"://[^/@]*:[^/@]*@|[?;&]", args.database)
    url = "URL" if secret else args.database
    print(f"  dp4sql check --policy {out} --database {shlex.quote(url)}")
    return 0


async def _drafted(args: argparse.Namespace) -> str:
    from dp4sql.backends import open_backend

    backend = open_backend(args.database)
    try:
        found = await structure(backend, progress.show)
        progress.clear()
        choices = _choices(args, found)
        measured = await measure(found.tables, backend, progress.show)
        progress.clear()
    finally:
        await backend.close()
    return draft(found.tables, measured, choices, backend.identity, found.left_out)


# ---------------------------------------------------------------- choices


def _choices(args: argparse.Namespace, found: Structure) -> Choices:
    """From the flags; what they leave open is asked for on a terminal, else proposed."""
    asks = sys.stdin.isatty() and sys.stdout.isatty() and not args.yes
    if asks:
        print(f"\nTables: {', '.join(found.tables)}")
        print("Return takes what stands in brackets; several tables are separated by spaces.")
    proposed = " ".join(proposed_entities(found.tables))
    entities = _decided(args.entity, "Whom to protect", proposed, _entities(found), asks)
    others = [t for t in found.tables if not any(t in owned(e, found.tables) for e in entities)]
    public: tuple[str, ...] = ()
    if args.public is not None or others:
        question = f"Which of {', '.join(others)} may everybody read exactly"
        public = _decided(args.public, question, "", _public(found, others), asks)
    return Choices(
        entities,
        public,
        _decided(args.epsilon, "Epsilon of one query", "1.0", _number, asks),
        _decided(args.budget, "Budget of all queries", "20", _number, asks),
    )


def _decided(
    given: Given | None, question: str, proposed: str, read: Callable[[Given], T], asks: bool
) -> T:
    """What a flag says, or who sits at the terminal, who is asked until the answer can be read."""
    if given is not None or not asks:
        return read(proposed if given is None else given)
    while True:
        try:
            return read(input(f"{question}? [{proposed or 'none'}] ").strip() or proposed)
        except InvalidParameter as error:
            print(f"  {error.message}. {error.hint}")


def _entities(found: Structure) -> Callable[[Given], tuple[str, ...]]:
    def read(given: Given) -> tuple[str, ...]:
        names = _tables(given, found)
        if not names:
            raise InvalidParameter("nobody is protected", hint="--entity names at least one table.")
        return names

    return read


def _public(found: Structure, others: Sequence[str]) -> Callable[[Given], tuple[str, ...]]:
    def read(given: Given) -> tuple[str, ...]:
        names = _tables(given, found)
        for title in names:
            if title not in others:
                raise InvalidParameter(
                    f"{title} holds rows of who is protected",
                    hint="The draft labels it del; weaken that in the file where it is right to.",
                )
        return names

    return read


def _tables(given: Given, found: Structure) -> tuple[str, ...]:
    names = given.replace(",", " ").split() if isinstance(given, str) else given
    for name in names:
        if name not in found.tables:
            raise InvalidParameter(
                f"there is no table {name} with a key",
                hint=f"Tables: {', '.join(found.tables)}.",
            )
    return tuple(dict.fromkeys(names))


def _number(given: Given) -> str:
    text = str(given)
    if not re.fullmatch(r"\d+(\.\d+)?", text) or float(text) == 0:
        raise InvalidParameter(
            f"{text} is no amount of epsilon", hint="A number such as 0.5 or 20."
        )
    return text
