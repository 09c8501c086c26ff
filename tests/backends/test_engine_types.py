"""What an engine computes with has room for what dp4sql takes an expression to be.

Exact numbers that the engine holds as small integers overflow on some rows, and fail there; those that it holds
in floating point add up to other last digits in another order.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from sqlglot import exp, parse_one

from dp4sql.algebra.digits import width
from dp4sql.algebra.expr import Col, Expr
from dp4sql.algebra.types import BOOLEAN, DATE, INTEGERS, TEXT, TIMESTAMP, Type
from dp4sql.backends import Backend
from dp4sql.errors import Dp4sqlError
from dp4sql.sql.dialects import DIALECTS, Dialect
from dp4sql.sql.lower.expressions import Expressions
from dp4sql.sql.render.scalars import Scalars

from .conftest import ENGINES, Run

COLUMNS = {
    "i2": Type("smallint"),
    "i4": Type("integer"),
    "i8": Type("bigint"),
    "n2": Type("numeric", precision=10, scale=2),
    "n0": Type("numeric", precision=38, scale=0),
    "r": Type("real"),
    "f": Type("double precision"),
    "b": BOOLEAN,
    "d": DATE,
    "ts": TIMESTAMP,
    "s": TEXT,
}
ATOMS = (
    *("i2", "i4", "i8", "n2", "n0", "r", "f"),
    *("100", "2147483648", "1e2", "0.5", "99999999999999999999", "1::numeric", "1::real"),
    *("NULL", "NULL::numeric", "NULL::numeric(5, 1)", "NULL::real", "NULL::double precision"),
    *("SIGN(f)", "SIGN(n2)", "FLOOR(r)", "i4 / 2", "i4 % 7", "n2 % 3", "n2 / 3", "n0::real"),
    *("EXTRACT(YEAR FROM d)", "EXTRACT(EPOCH FROM ts)", "EXTRACT(DAY FROM ts - d)", "d - d"),
    *("LENGTH(s)", "ASCII(s)", "s::numeric", "s::real", "s::integer", "s::numeric(5, 2)", "b::int"),
    *("WIDTH_BUCKET(n2, 0, 10, 5)", "WIDTH_BUCKET(i4, 0, 10, 5)", "WIDTH_BUCKET(f, 0, 10, 5)"),
    *("POWER(i4, 2)", "SQRT(n2)", "LOG(2, n2)", "TRUNC(n2, 1)", "TRUNC(i4, -1)", "ROUND(i4, -1)"),
)
MET = (
    *("({} + {})", "({} - {})", "({} * {})", "({} / {})", "({} % {})"),
    *("COALESCE({}, {})", "GREATEST({}, {})", "NULLIF({}, {})"),
    *("CASE WHEN b THEN {} ELSE {} END", "CASE WHEN b THEN {} WHEN s = 'x' THEN {} END"),
)
TAKEN = (
    *("{}", "ABS({})", "(- {})", "FLOOR({})", "CEIL({})", "TRUNC({})", "SIGN({})"),
    *("ROUND({})", "ROUND({}, 1)", "ROUND({}, -1)"),
    *("({})::numeric", "({})::numeric(12, 3)", "({})::double precision", "({})::real"),
    *("({})::integer", "({})::bigint"),
)
NUMBER = 1500
PART = 100


#: Parquet files are read by DuckDB, and Spark's types are others.
OWN = [engine for engine in ENGINES if engine.name.split()[0] in ("duckdb", "postgres")]


def _texts(seed: int, number: int) -> Iterator[str]:
    yield from (form.format(atom) for form in TAKEN for atom in ATOMS)
    chance = random.Random(seed)
    for _ in range(number):
        met = chance.choice(MET).format(chance.choice(ATOMS), chance.choice(ATOMS))
        yield chance.choice(TAKEN).format(met)


def _lowered(texts: Iterator[str]) -> list[tuple[str, Expr]]:
    def column(e: exp.Expr) -> Expr | None:
        return Col(e.name, COLUMNS[e.name]) if isinstance(e, exp.Column) else None

    lowering, found = Expressions(column, lambda *_: None), list[tuple[str, Expr]]()
    for text in texts:
        try:
            found.append((text, lowering.lower(parse_one(text, read="postgres"))))
        except Dp4sqlError:
            continue
    return found


def _roomy(expr: Expr, engine: str) -> bool:
    """Whether a value of the type `engine` says has room for all that `expr` may be."""
    name = engine.lower().split("(")[0]
    match expr.type.kind:
        case "double precision":
            return name in ("double", "double precision")
        case kind if kind in INTEGERS:
            return name in ("smallint", "integer", "bigint", "hugeint", "numeric")
        case "numeric" if width(expr) is not None:
            return name in ("decimal", "numeric")
        case _:
            return True


#: A row of the columns above.
ROW = ", ".join(
    f"CAST(NULL AS {name}) AS {column}"
    for column, name in {
        "i2": "SMALLINT",
        "i4": "INTEGER",
        "i8": "BIGINT",
        "n2": "DECIMAL(10, 2)",
        "n0": "DECIMAL(38, 0)",
        "r": "REAL",
        "f": "DOUBLE PRECISION",
        "b": "BOOLEAN",
        "d": "DATE",
        "ts": "TIMESTAMP",
        "s": "TEXT",
    }.items()
)


def _written(dialect: Dialect) -> list[tuple[str, Expr, str]]:
    """Texts, what they are taken for, and what runs for them."""
    write, found = Scalars(dialect, {}).render, list[tuple[str, Expr, str]]()
    for text, expr in _lowered(_texts(7, NUMBER)):
        try:
            found.append((text, expr, write(expr, {c: c for c in COLUMNS})))
        except Dp4sqlError:
            continue
    assert len(found) > NUMBER * 0.8
    return found


@pytest.mark.parametrize("engine", OWN, indirect=True, ids=str)
def test_engines_compute_in_types_that_are_wide_enough(backend: Backend, run: Run) -> None:
    known, misfits = _written(DIALECTS[backend.dialect]), list[str]()
    name = {"duckdb": "typeof", "postgres": "pg_typeof"}[backend.dialect]
    for at in range(0, len(known), PART):
        part = known[at : at + PART]
        items = ", ".join(
            f"CAST({name}({sql}) AS TEXT) AS c{i}" for i, (*_, sql) in enumerate(part)
        )
        read = run(backend.fetch(f"SELECT {items} FROM (SELECT {ROW}) AS t", ()))
        columns = read.open_columns()
        pairs = zip(part, columns, strict=True)
        misfits += [
            f"{text}: {type}" for (text, expr, _), (type,) in pairs if not _roomy(expr, type)
        ]
    assert misfits == []
