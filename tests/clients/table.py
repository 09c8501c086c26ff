"""docs/clients.md: every check of every client, against the proxy and against a Postgres.

python -m tests.clients.table
"""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from tests.clients.conftest import JDBC, MISSING, NEEDS
from tests.clients.direct import PROGRAMS

TARGET = Path(__file__).parents[2] / "docs" / "clients.md"
NAMES = {
    "psycopg": "psycopg 3",
    "node": "node-postgres",
    "jdbc": "pgJDBC",
    "sqlalchemy": "SQLAlchemy",
    "pandas": "pandas.read_sql",
}
COLUMNS = (
    *("connect", "parameters", "results", "error", "prepared", "introspection", "cancel"),
    *("thousand", "cursor", "copy", "transaction"),
)
HEAD = """# Clients

Unmodified clients against a live proxy over TCP, with TLS and SCRAM-SHA-256, and the same checks
against {direct}. A cell reads *proxy / Postgres*: how many of
the checks under that heading passed; a dash stands where there are none. Made by
`python -m tests.clients.table` from the checks in tests/clients.

"""
FOOT = """
* *parameters* and *results*: each type of the supported SQL, as text and as binary where the client
  can; *prepared*: one statement, several executions; *error*: an error, its place, and going on after
  it; *thousand*: 1,000 queries on one connection; *cursor*: fetching in parts, on either side.
* *cancel*: a cancel request, by the driver's own means; pg8000 has none and gets a `statement_timeout`.
* pandas asks through SQLAlchemy; pg_dump asks nothing but the schema.
* *other* counts what only some clients have: pipelines, pools, async interfaces, `\\gdesc`.

Tried by hand, the same statements against a Postgres beside it: psql 18, ADBC, connectorx, polars, ibis, dbt,
SQLModel, peewee, Django, aiopg, postgres.js, Knex, Sequelize, TypeORM, pg-cursor, pg-query-stream and
pg-native, DBD::Pg (Perl), PDO and pgsql (PHP), pg (Ruby), psqlODBC with cursors and without. They connect, prepare,
fetch in parts, introspect, copy, cancel and recover alike. What does not work writes: views and tables that dbt builds,
and the view that ibis makes for `.sql()`.

What a client meets here and not on a Postgres, on purpose:

* Rows of private tables, `COPY table TO`, and joins of policy tables with system catalogs are refused
  (42501), as is everything that writes (25006). `EXPLAIN ANALYZE` is not supported (0A000).
* Answers about private rows carry noise, and come with a NOTICE that says how much.
* Shapes are free: Describe, and queries without rows whatever the data is, such as `SELECT * FROM t LIMIT 0` or
  `WHERE 1 = 0`. `LIMIT 1`, which Django's inspectdb asks of each table, is a row, and refused.
* The catalogs show the policy's schema without rows: sizes, row estimates and statistics are those of
  empty tables, `pg_stat_activity` cannot be read, and functions that run text as SQL (`query_to_xml`)
  or reach other sessions (`pg_terminate_backend`) cannot be called.
* `server_version` is announced as 14, which every psql and pg_dump can read catalogs of; `SELECT version()` tells
  which Postgres answers catalog queries.
* Dates are shown as ISO, intervals in the style `postgres`, text is UTF-8; other choices are refused
  (22023) rather than ignored. `LISTEN` and `NOTIFY` are accepted and do nothing.
* An array is a parameter beside ANY and ALL only, as in `x = ANY ($1)`, and has one dimension.
"""


def outcomes(*options: str) -> dict[tuple[str, str], tuple[int, int]]:
    """Passed and all checks by client and column."""
    with tempfile.NamedTemporaryFile(suffix=".xml") as report:
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report.name}", *options]
        subprocess.run([*command, "tests/clients"], stdout=subprocess.DEVNULL, check=False)
        cases = list(ElementTree.parse(report.name).getroot().iter("testcase"))
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for case in cases:
        key = case.attrib["classname"].rpartition("test_")[2], _column(case.attrib["name"])
        passed, total = found.get(key, (0, 0))
        failed = any(child.tag in ("failure", "error") for child in case)
        found[key] = passed + (not failed), total + 1
    return found


def _column(test: str) -> str:
    name = test.removeprefix("test")
    check = name.strip("[]") if name.startswith("[") else name.removeprefix("_").partition("[")[0]
    return next((column for column in COLUMNS if check.startswith(column)), "other")


def _version(client: str) -> str:
    """What the client says of itself."""
    commands = {"psql": ["psql", "--version"], "pg_dump": ["pg_dump", "--version"]}
    if client in commands:
        said = subprocess.run(commands[client], capture_output=True, text=True, check=True).stdout
        return said.split()[2]
    if client == "jdbc":
        said = subprocess.run(["java", "-jar", JDBC], capture_output=True, text=True, check=False)
        return re.findall(r"\d+\.\d+\.\d+", said.stdout + said.stderr)[0]
    if client == "node":
        return "8"
    package = "psycopg2-binary" if client == "psycopg2" else client
    return importlib.metadata.version(package)


def table(
    proxied: dict[tuple[str, str], tuple[int, int]], direct: dict[tuple[str, str], tuple[int, int]]
) -> str:
    columns = (*COLUMNS, "other")
    lines = [f"| client | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for client in sorted(file[5:-3] for file in NEEDS.keys() - MISSING):
        cells = [_cell(proxied.get((client, c)), direct.get((client, c))) for c in columns]
        name = f"{NAMES.get(client, client)} ({_version(client)})"
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(proxied: tuple[int, int] | None, direct: tuple[int, int] | None) -> str:
    if proxied is None or direct is None:
        return "-"
    return f"{proxied[0]} / {direct[0]}" + (f" of {direct[1]}" if proxied != direct else "")


if __name__ == "__main__":
    direct = f"PostgreSQL {PROGRAMS.parent.name}"
    text = HEAD.format(direct=direct) + table(outcomes(), outcomes("--direct")) + FOOT
    TARGET.write_text(text, encoding="utf-8")
