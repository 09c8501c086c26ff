"""Parameters of every value that drivers can send: answered, or refused before anything is charged."""

from __future__ import annotations

import math
from decimal import Decimal

import duckdb
import pytest

import dp4sql
from dp4sql.algebra.types import DOUBLE, NUMERIC, TEXT, Type, Value
from dp4sql.errors import Dp4sqlError
from dp4sql.pipeline.preparation import prepare, rendered
from dp4sql.sql.dialects import DUCKDB

POLICY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "t": {
                "key": ["id"],
                "columns": {
                    "id": "integer",
                    "x": {"type": "numeric(10,2)", "range": [0, 9]},
                    "f": "double precision",
                    "s": "text",
                },
            }
        },
        "policies": {"p": {"entity": "t", "epsilon": 1, "labels": {"t": "del"}}},
    }
)
ASKED = [
    "SELECT COUNT(*) FROM t WHERE x > $1",
    "SELECT COUNT(*) FROM t WHERE x * $1 > f",
    "SELECT COUNT(*) FROM t WHERE x IN ($1)",
    "SELECT COUNT(*) FROM t WHERE ROUND(x, $1) > 1",
    "SELECT COUNT(*) FROM t WHERE WIDTH_BUCKET(x, 0, $1, 5) > 1",
    "SELECT SUM(LEAST(x, $1)) FROM t",
    "SELECT PERCENTILE_CONT($1) WITHIN GROUP (ORDER BY x) FROM t",
    "SELECT COUNT(*) FROM t WHERE s = $1",
]
SENT: list[tuple[Value, Type]] = [
    *((Decimal(text), NUMERIC) for text in ("NaN", "Infinity", "1e131000", "1e-5000", "0.5")),
    *((number, DOUBLE) for number in (math.nan, math.inf, 5e-324, 0.5)),
    *((number, Type("bigint")) for number in (-(2**63), 2**63 - 1)),
    *((text, TEXT) for text in ("x", "'; --", "")),
]


@pytest.mark.parametrize("sql", ASKED)
def test_answered_or_refused(sql: str) -> None:
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE t (id INTEGER, x DECIMAL(10, 2), f DOUBLE, s VARCHAR)")
        engine.execute("INSERT INTO t VALUES (1, 1, 1, 'x'), (2, 99999999.99, 1e308, '')")
        answered = 0
        for given in SENT:
            try:
                found = rendered(prepare(POLICY, sql, [given]), DUCKDB)
            except Dp4sqlError:
                continue
            for read in found.reads:
                engine.execute(read)
            answered += 1
    assert answered


@pytest.mark.parametrize(
    ("sum", "expected"),
    [
        (f"1.{'0' * 34}1 + 2.{'0' * 34}2", f"(3.{'0' * 34}3)"),
        (f"-1.{'0' * 34}1 * 1", f"(-1.{'0' * 34}1)"),
        (f"{2**31 - 1} + {2**31}", f"{2**32 - 1}"),
        (f"{2**63} * 2", f"({2**64}.)"),
    ],
)
def test_constants_are_computed_with_all_digits(sum: str, expected: str) -> None:
    (read,) = dp4sql.explain(POLICY, f"SELECT COUNT(*) FROM t WHERE f > {sum}").reads
    assert expected in read
