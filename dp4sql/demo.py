"""The demonstration: three data sets, a proxy for each, and a few questions asked by psycopg over TCP."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from textwrap import indent
from typing import Final

import psycopg

import dp4sql
from dp4sql.data import people, tpch, university
from dp4sql.data.shipped import policy_file
from dp4sql.server import Options
from dp4sql.serving import Address, Running, proxy, until_stopped

USERS: Final = {"university": "analyst", "tpch": "analyst", "people": "agent_u17"}
"""Who asks where. The profiles of people.yaml bind agent_u17 to the person u17."""


@dataclass(frozen=True, slots=True)
class Question:
    database: str
    asks: str
    sql: str


QUESTIONS: Final = (
    Question(
        "university",
        "Who studies here, and what, is private: the counts are noisy.",
        "SELECT major, COUNT(*) AS students\nFROM student\nGROUP BY major\nORDER BY students DESC",
    ),
    Question(
        "tpch",
        "Customers and their balances are private: count and average are noisy.",
        "SELECT c_mktsegment AS segment, COUNT(*) AS customers, AVG(c_acctbal) AS balance\n"
        "FROM customer\nGROUP BY c_mktsegment\nORDER BY c_mktsegment",
    ),
    Question(
        "university",
        "The course catalogue is public: the answer is exact and free of charge.",
        "SELECT title, COUNT(*) AS sections\nFROM section\nGROUP BY title\n"
        "ORDER BY sections DESC, title\nLIMIT 5",
    ),
    Question(
        "university",
        "A claim with a certificate: an unsupported one is made with probability 5 % at most.",
        "SELECT statement, decision\n"
        "FROM dp4sql.certify(template => 'major_share', theta => 0.10)\n"
        "ORDER BY ordinal",
    ),
    Question(
        "people",
        "One person's profile for a language model: private facts become random categories.",
        "SELECT field, action, value\nFROM dp4sql.release_profile(entity => 'u17', epsilon => 4)",
    ),
)


async def demonstrate(directory: Path, scale: str, listen: Address, serve: bool) -> None:
    """Make the data in `directory` unless it is there, answer the questions, serve on if asked to."""
    files = {
        "university": directory / "university.duckdb",
        "tpch": directory / f"tpch-{scale}.duckdb",
        "people": directory / "people.duckdb",
    }
    _make("the university", files["university"], university.generate)
    _make(f"TPC-H at scale {scale}", files["tpch"], partial(tpch.generate, scale=scale))
    _make("people with an assistant", files["people"], people.generate)
    async with AsyncExitStack() as proxies:
        found: dict[str, Address] = {}
        for offset, (name, file) in enumerate(files.items()):
            at = Address(listen.host, listen.port + offset if listen.port else 0)
            found[name] = (await proxies.enter_async_context(_proxy(name, file, at))).at
            print(f"proxy      {found[name]} answers for {name} under {policy_file(name).name}")
        for number, question in enumerate(QUESTIONS, 1):
            await _ask(number, question, found[question.database])
        await _go_on(found, serve)


def _make(what: str, file: Path, generate: Callable[[Path], bool]) -> None:
    print(f"data       {what}: ", end="", flush=True)
    start = time.monotonic()
    made = generate(file)
    print(f"{file}, " + (f"made in {time.monotonic() - start:.1f} s" if made else "there already"))


def _proxy(name: str, file: Path, at: Address) -> AbstractAsyncContextManager[Running]:
    policy = dp4sql.load_policy(policy_file(name))
    return proxy(policy, f"duckdb://{file.resolve()}", None, Options(name, trust=True), at)


# ------------------------------------------------------------------ asking


async def _ask(number: int, question: Question, at: Address) -> None:
    print(f"\n{number}. {question.asks}\n\n{_indented(question.sql)}\n")
    notices: list[str] = []
    connection = await psycopg.AsyncConnection.connect(
        host=at.host,
        port=at.port,
        user=USERS[question.database],
        dbname=question.database,
        autocommit=True,
    )
    async with connection:
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
        try:
            cursor = await connection.execute(question.sql)
        except psycopg.Error as error:
            # A budget that is spent is an answer too.
            print(_indented(str(error)))
            return
        names = [column.name for column in cursor.description or ()]
        print(_indented(_table(names, await cursor.fetchall())))
    print(_indented("\n".join(notices) or "exact, nothing charged"))


def _table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """As psql draws it: numbers to the right."""
    texts = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *texts, strict=True)]
    right = [
        all(isinstance(value, int | Decimal) for value in column)
        for column in zip(*rows, strict=True)
    ]
    lines = [" | ".join(name.center(width) for name, width in zip(names, widths, strict=True))]
    lines.append("-+-".join("-" * width for width in widths))
    for row in texts:
        cells = zip(row, widths, right, strict=True)
        lines.append(" | ".join(t.rjust(w) if r else t.ljust(w) for t, w, r in cells))
    return "\n".join(line.rstrip() for line in lines)


def _cell(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, Decimal) else str(value)


def _indented(text: str) -> str:
    return indent(text, "   ")


async def _go_on(found: dict[str, Address], serve: bool) -> None:
    if not serve:
        print("\nmake demo SERVE=1 (or dp4sql demo --serve) leaves the proxies running for")
    else:
        print("\nThe proxies go on until Ctrl-C. Connect with")
    for name, at in found.items():
        print(f"   {at.psql(name, USERS[name])}")
    if serve:
        await until_stopped()
