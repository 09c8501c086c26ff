"""No single row makes an engine fail, whatever else stands beside it: an error would tell that there is such a row.

Each statement here once failed on an engine where person 5 is stored, and answered where she is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path

import duckdb
import psycopg
import pytest

import dp4sql
from dp4sql.pipeline import Pipeline

from .conftest import POSTGRES, Run, missing_spark
from .servers import server

COLUMNS = {
    "id": ("integer", "INTEGER"),
    "n": ("numeric(10,2)", "DECIMAL(10,2)"),
    "i": ("bigint", "BIGINT"),
    "u": ("numeric", "{unsized}"),
    "f": ("double precision", "DOUBLE PRECISION"),
    "r": ("real", "REAL"),
}
#: Of no size: beyond every double where the engine has such numbers.
FAR = {"duckdb": ("DECIMAL(38,0)", "1e37"), "postgres": ("NUMERIC", "1e400")}
POLICY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            name: {"key": ["id"], "columns": {c: type for c, (type, _) in COLUMNS.items()}}
            for name in ("person", "place")
        },
        "policies": {
            "p": {"entity": "person", "epsilon": 10**6, "labels": {"person": "del", "place": "pub"}}
        },
    }
)
VALUES = "(VALUES (2147483647), (2147483646)) v (x)"
WIDE = "(VALUES ({0}), ({0})) v (x)".format("9" * 38)
HERE = "SELECT COUNT(*) FROM person WHERE id = 5 AND EXISTS (SELECT 1 FROM ({}) q WHERE {})"
STATEMENTS = [
    # A number that no double holds, beside one that is numeric by its type alone.
    *(
        f"SELECT COUNT(*) FROM person WHERE u > {double}"
        for double in (
            *("ABS(n / 3)", "- (n / 3)", "FLOOR(n / 3)", "TRUNC(n / 3)", "SIGN(n / 3)"),
            *("NULLIF(n / 3, 0)", "GREATEST(n / 3, 0)", "CASE WHEN id > 1 THEN n / 3 ELSE 1 END"),
            *("f::numeric", "COALESCE(n / 3, n)", "(SELECT AVG(n) FROM place) / 3"),
        )
    ),
    "SELECT COUNT(*) FROM person WHERE COALESCE(u, COALESCE(n / 3, 0)) > 5",
    "SELECT COUNT(*) FROM (SELECT u, n / 3 AS q FROM person) p WHERE u = q",
    "SELECT COUNT(*) FROM (SELECT u, n / 3 AS q FROM person) p WHERE CASE WHEN q > 0 THEN u ELSE q END > 5",
    "SELECT COUNT(*) FROM (SELECT u AS x FROM person UNION ALL SELECT n / 3 FROM place) p WHERE x > 0",
    "SELECT COUNT(*) FROM (SELECT n / 3 AS x FROM place UNION ALL SELECT u FROM person) p WHERE x > 0",
    "SELECT COUNT(*) FROM person p JOIN (SELECT id, n / 3 AS q FROM place) s ON s.id = p.id AND p.u = s.q",
    "SELECT SUM(x) FROM (SELECT u AS x FROM person UNION ALL SELECT n / 3 FROM place) p WHERE x BETWEEN 0 AND 9",
    # Integers that a window hands on, wider than their type.
    *(
        HERE.format(f"SELECT {over} AS y FROM {VALUES}", "y * 9223372036854775807 > person.id")
        for over in (
            *(
                "SUM(x * x * x) OVER ()",
                "MAX(x * x * x) OVER ()",
                "LAG(x * x * x) OVER (ORDER BY x)",
            ),
            *("FIRST_VALUE(x * x * x) OVER (ORDER BY x)", "LEAD(x * x * x, 1) OVER (ORDER BY x)"),
        )
    ),
    # Sums of a window, or of groups of public rows, that leave their type.
    HERE.format(f"SELECT SUM(x) OVER () AS y FROM {WIDE}", "y > person.id"),
    HERE.format(f"SELECT AVG(x) OVER () AS y FROM {WIDE}", "y > person.id"),
    *(
        HERE.format(f"SELECT id, {function}({column}) OVER () AS y FROM place", condition)
        for function in ("SUM", "AVG", "STDDEV")
        for column in ("i", "f", "r")
        for condition in ("q.id = person.id - 1 AND y > 0",)
    ),
]


def _rows(engine: str, *, stored: bool) -> str:
    unsized = FAR["postgres" if engine == "postgres" else "duckdb"][1]
    rows = [f"({id}, 12.5, 9223372036854775807, 1, 1.7e308, 3.4e38)" for id in range(1, 5)]
    return ", ".join([*rows, f"(5, 12.5, 1, {unsized}, 1, 1)"] if stored else rows)


def _tables(engine: str, *, stored: bool) -> Iterator[str]:
    unsized = FAR["postgres" if engine == "postgres" else "duckdb"][0]
    columns = ", ".join(f"{c} {type.format(unsized=unsized)}" for c, (_, type) in COLUMNS.items())
    for table in ("person", "place"):
        yield f"CREATE TABLE {table} ({columns})"
        there = stored and table == "person"
        yield f"INSERT INTO {table} VALUES {_rows(engine, stored=there)}"


def _database(engine: str, stored: bool, folder: Path, kept: ExitStack) -> str:
    folder.mkdir(parents=True)
    if engine == "postgres":
        url = kept.enter_context(server(POSTGRES[max(POSTGRES)]))
        with psycopg.connect(url) as connection:
            for statement in _tables(engine, stored=stored):
                connection.execute(statement.encode())
        return url
    with duckdb.connect(str(folder / "people.duckdb")) as connection:
        for statement in _tables(engine, stored=stored):
            connection.execute(statement)
        for table in ("person", "place"):
            connection.execute(f"COPY {table} TO '{folder}/{table}.parquet'")
    return f"spark://{folder}" if engine == "spark" else f"duckdb:///{folder}/people.duckdb"


@pytest.fixture(scope="module", params=["duckdb", "postgres", "spark"])
def neighbours(
    request: pytest.FixtureRequest, run: Run, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Pipeline]]:
    """A database that holds person 5, and one that does not."""
    if request.param == "spark" and missing_spark():
        pytest.skip(missing_spark() or "")
    folder = tmp_path_factory.mktemp("people")
    with ExitStack() as kept:
        opened = [
            dp4sql.open_pipeline(
                policy=POLICY,
                database=_database(request.param, stored, folder / str(stored), kept),
                ledger=folder / f"ledger-{stored}",
            )
            for stored in (True, False)
        ]
        yield opened
        for pipeline in opened:
            run(pipeline.close())


@pytest.mark.parametrize("sql", STATEMENTS)
def test_no_row_makes_the_engine_fail(run: Run, neighbours: list[Pipeline], sql: str) -> None:
    said = []
    for pipeline in neighbours:
        try:
            said.append(len(run(pipeline.query(sql)).rows))
        except dp4sql.errors.Unsupported as error:
            said.append(str(error))
    assert said[0] == said[1]


def test_a_union_keeps_the_digits_of_its_parts(run: Run, neighbours: list[Pipeline]) -> None:
    parts = "SELECT n AS x FROM place UNION ALL SELECT i::numeric(38, 0) FROM place"
    answer = run(neighbours[0].query(f"SELECT x FROM ({parts}) p ORDER BY x LIMIT 1"))
    assert [tuple(row) for row in answer.rows] == [(Decimal("12.5"),)]
