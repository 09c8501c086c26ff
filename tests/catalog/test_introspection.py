"""What clients ask the catalogs is answered, and the same whatever rows there are."""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest

from dp4sql.mechanisms.functions import SIGNATURES

FOLDER = Path(__file__).with_name("introspection")
WITH = re.compile(r"^-- with (.*);$", re.MULTILINE)
VALUE = re.compile(r"\$\d+ = (?:'((?:[^']|'')*)'|NULL)")


def _cases() -> dict[str, tuple[str, list[str | None]]]:
    """Statement and parameters by client and number."""
    found = {}
    for file in sorted(FOLDER.glob("*.sql")):
        for i, part in enumerate(file.read_text().split("\n;;\n")[:-1]):
            given = WITH.search(part)
            values: list[str | None] = list(VALUE.findall(given[1])) if given else []
            text = re.sub(r"^--.*$", "", part, flags=re.MULTILINE).strip()
            found[f"{file.stem}-{i + 1}"] = text, values
    return found


CASES = _cases()


def answer(client: psycopg.Connection, case: str) -> list[tuple[object, ...]]:
    sql, values = CASES[case]
    raw = psycopg.RawCursor(client)
    return raw.execute(sql.encode(), values or None).fetchall()


@pytest.mark.parametrize("case", CASES)
def test_it_is_answered_alike_whatever_the_rows(
    case: str, on_full: psycopg.Connection, on_empty: psycopg.Connection
) -> None:
    assert answer(on_full, case) == answer(on_empty, case)


def test_the_cases_are_those_of_all_clients() -> None:
    clients = {case.rpartition("-")[0] for case in CASES}
    assert clients == {
        "asyncpg", "jdbc", "pgcli", "psql", "psql_completion", "sqlalchemy", "tools",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("client", "needle", "count"),
    [
        ("tools", "c.table_schema, c.table_name, c.column_name", 18),
        ("tools", "db.datname", 1),
        ("tools", "constraint_column_usage", 9),
    ],
)
def test_and_not_with_nothing(
    client: str, needle: str, count: int, on_full: psycopg.Connection
) -> None:
    case = next(c for c in CASES if c.startswith(client) and needle in CASES[c][0])
    assert len(answer(on_full, case)) == count


def test_functions_in_from_are_listed_with_arguments_and_comments(
    on_empty: psycopg.Connection,
) -> None:
    found = on_empty.execute(
        "SELECT proname, proargnames, obj_description(oid) FROM pg_proc "
        "WHERE pronamespace = 'dp4sql'::regnamespace"
    ).fetchall()
    assert {name: tuple(arguments) for name, arguments, _ in found} == {
        name: tuple(signature.parameters) for name, signature in SIGNATURES.items()
    }
    assert all(comment for _, _, comment in found)


def test_the_announced_version_is_one_that_old_and_new_clients_know(
    on_empty: psycopg.Connection,
) -> None:
    assert on_empty.info.server_version == 140000
    assert on_empty.execute("SHOW server_version_num").fetchone() == ("140000",)
