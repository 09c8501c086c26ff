"""Every allowed function on edge values: the same on DuckDB and Postgres, and what Postgres itself says.

Where Postgres raises an error, an expression over private rows has to yield NULL: an error would tell
something about them.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import asyncpg
import pytest

from dp4sql.errors import Dp4sqlError, NumberOutOfRange
from dp4sql.pipeline import Pipeline
from tests.functions.conftest import Run
from tests.functions.expressions import (
    DOUBLE,
    EXACT,
    REFUSED,
    TOO_LARGE,
    TOO_LARGE_CONSTANTS,
    listed,
)

KEYS = range(1, 12)
ERROR = object()
REACH = 1e100  # Beyond it, or below its reciprocal, arithmetic in double precision may give up.


def through(run: Run, pipeline: Pipeline, expression: str) -> dict[int, Any]:
    return dict(run(pipeline.query(f"SELECT k, {expression} AS x FROM edges")).rows)


def of_postgres(run: Run, plain: asyncpg.Connection, expression: str) -> dict[int, Any]:
    """Row by row, because one error hides the others."""
    found: dict[int, Any] = dict.fromkeys(KEYS, ERROR)
    for k in KEYS:
        with contextlib.suppress(asyncpg.PostgresError, OverflowError, ValueError):
            found[k] = run(plain.fetchval(f"SELECT {expression} FROM edges WHERE k = $1", k))
    return found


def same(a: Any, b: Any, digits: float) -> bool:
    match a, b:
        case (float(), float()):
            return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=digits)
        case (Decimal(), Decimal()):
            return (a.is_nan() and b.is_nan()) or same(float(a), float(b), digits)
        case (str(), str()):
            return a.rstrip(" ") == b.rstrip(" ")
        case _:
            return type(a) is type(b) and bool(a == b)


def differences(a: Mapping[int, Any], b: Mapping[int, Any], digits: float) -> list[str]:
    return [f"row {k}: {a[k]!r}, not {b[k]!r}" for k in KEYS if not same(a[k], b[k], digits)]


def extreme(value: Any) -> bool:
    """NaN, infinity, or a size at which double precision may be given up."""
    if value is ERROR:
        return True
    size = abs(float(value)) if isinstance(value, float | Decimal) else 1.0
    return math.isnan(size) or not (size == 0 or 1 / REACH < size < REACH)


@pytest.mark.parametrize("expression", listed(EXACT) + listed(DOUBLE))
def test_engines_agree(
    run: Run, on_duckdb: Pipeline, on_postgres: Pipeline, expression: str
) -> None:
    a, b = (through(run, engine, expression) for engine in (on_duckdb, on_postgres))
    assert not differences(a, b, 1e-14)


@pytest.mark.parametrize("expression", listed(EXACT))
def test_as_in_postgres_or_null_for_an_error(
    run: Run, on_duckdb: Pipeline, plain: asyncpg.Connection, expression: str
) -> None:
    found, wanted = through(run, on_duckdb, expression), of_postgres(run, plain, expression)
    wanted = {k: None if value is ERROR else value for k, value in wanted.items()}
    assert not differences(found, wanted, 1e-14)


@pytest.mark.parametrize("expression", listed(DOUBLE))
def test_double_precision_gives_up_where_postgres_fails_or_nearly_so(
    run: Run, on_duckdb: Pipeline, plain: asyncpg.Connection, expression: str
) -> None:
    found, wanted = through(run, on_duckdb, expression), of_postgres(run, plain, expression)
    operands = {k: run(plain.fetchrow("SELECT d, e, r FROM edges WHERE k = $1", k)) for k in KEYS}
    for k, value in wanted.items():
        if found[k] is None and (extreme(value) or any(map(extreme, operands[k]))):
            continue
        if expression == "power(d, e)" and found[k] is None:
            continue  # of a base that is not positive
        assert same(found[k], value, 1e-12), f"row {k}: {found[k]!r}, not {value!r}"


@pytest.mark.parametrize("expression", listed(TOO_LARGE))
def test_what_does_not_fit_its_type_is_an_error_of_the_result(
    run: Run, on_duckdb: Pipeline, on_postgres: Pipeline, expression: str
) -> None:
    for engine in (on_duckdb, on_postgres):
        with pytest.raises(NumberOutOfRange):
            through(run, engine, expression)
        wide = through(run, engine, f"({expression})::numeric")
        assert all(value is None or isinstance(value, Decimal) for value in wide.values())


@pytest.mark.parametrize("expression", listed(TOO_LARGE_CONSTANTS))
def test_constants_that_do_not_fit_their_type_are_errors_of_the_statement(
    run: Run, on_duckdb: Pipeline, plain: asyncpg.Connection, expression: str
) -> None:
    assert set(of_postgres(run, plain, expression).values()) == {ERROR}
    with pytest.raises(NumberOutOfRange):
        run(on_duckdb.query(f"SELECT COUNT(*) FROM edges WHERE {expression} > 0"))


@pytest.mark.parametrize("expression", listed(REFUSED))
def test_refused_before_it_runs(run: Run, on_duckdb: Pipeline, expression: str) -> None:
    with pytest.raises(Dp4sqlError) as caught:
        through(run, on_duckdb, expression)
    assert caught.value.sqlstate in ("0A000", "42883", "42804", "22003", "42601")


@pytest.mark.parametrize("expression", [*listed(EXACT), *listed(DOUBLE)])
def test_types_are_those_of_postgres(
    run: Run, on_duckdb: Pipeline, plain: asyncpg.Connection, expression: str
) -> None:
    if "date_trunc" in expression and "day" in expression:
        return
    sql = f"SELECT pg_typeof({expression})::text FROM edges WHERE k = 6"
    try:
        wanted = run(plain.fetchval(sql))
    except asyncpg.PostgresError:
        return
    (column,) = on_duckdb.describe(f"SELECT {expression} AS x FROM edges").columns
    assert column.type.kind == {"unknown": "text"}.get(wanted, wanted)
