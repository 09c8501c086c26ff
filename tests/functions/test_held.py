"""Sums of values beyond their declared ranges: each column counts as what it is held in, exactly."""

from __future__ import annotations

import random
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

import duckdb
import pytest

import dp4sql
from dp4sql.mechanisms.reading import read_sql
from dp4sql.preparation import prepare
from dp4sql.sql.dialects import DUCKDB

RANGES = {"price": (900, 105000), "off": (0, Fraction(1, 10)), "tax": (-1, Fraction(8, 100))}
POLICY = dp4sql.load_policy(
    {
        "dp4sql": 1,
        "tables": {
            "item": {
                "key": ["id"],
                "rows": 5000,
                "columns": {
                    "id": "integer",
                    "flag": {"type": "boolean", "domain": [True, False]},
                    "price": {"type": "numeric(15,2)", "range": [900, 105000]},
                    "off": {"type": "numeric(15,2)", "range": [0, 0.1]},
                    "tax": {"type": "numeric(15,2)", "range": [-1, 0.08]},
                },
            }
        },
        "policies": {
            "all": {
                "entity": "item",
                "epsilon": 1,
                "labels": {"item": {"rep": ["flag", *RANGES]}},
            }
        },
    }
)
SQL = """SELECT flag, SUM(price), SUM(price * (1 - off)), SUM(price * (1 - off) * (1 + tax)), AVG(off), COUNT(*)
FROM item GROUP BY flag"""

Row = tuple[bool, Decimal | None, Decimal | None, Decimal | None]


def rows(beyond: float) -> list[Row]:
    """Most values are in their range; a share of `beyond` is far off, just outside, or NULL."""
    chance = random.Random(7)

    def value(low: float, high: float) -> Decimal | None:
        if chance.random() >= beyond:
            return Decimal(f"{chance.uniform(low, high):.2f}")
        return chance.choice([None, Decimal("9" * 13), -Decimal("9" * 13), Decimal(str(high)) + 1])

    ends = [(float(low), float(high)) for low, high in RANGES.values()]
    return [(chance.random() < 0.5, *(value(*e) for e in ends)) for _ in range(3000)]  # type: ignore[misc]


def held(name: str, value: Decimal | None) -> Fraction:
    low, high = RANGES[name]
    return min(max(Fraction(value if value is not None else 0), Fraction(low)), Fraction(high))


def expected(data: list[Row]) -> Mapping[bool, list[Fraction]]:
    found = {flag: [Fraction(0)] * 5 for flag in (True, False)}
    for flag, *values in data:
        price, off, tax = (held(n, v) for n, v in zip(RANGES, values, strict=True))
        new = (price, price * (1 - off), price * (1 - off) * (1 + tax), off, Fraction(1))
        found[flag] = [a + b for a, b in zip(found[flag], new, strict=True)]
    return found


@pytest.mark.parametrize("beyond", [0, 0.001, 0.3])
def test_sums_are_those_of_the_columns_in_their_ranges(beyond: float) -> None:
    data = rows(beyond)
    prepared = prepare(POLICY, SQL, ())
    ((_, release),) = prepared.plan.releases()
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE item (id integer, flag boolean, price decimal(15,2), off decimal(15,2), tax decimal(15,2))"
        )
        numbered = [(i, *row) for i, row in enumerate(data)]
        connection.executemany("INSERT INTO item VALUES (?, ?, ?, ?, ?)", numbered)
        read = connection.execute(read_sql(release, prepared.facts, DUCKDB, {})).fetchall()
    wanted = expected(data)
    for flag, *values in read:
        count = values[[m.quantity.kind for m in release.measurements].index("count")]
        assert count == wanted[flag][4]
        for measurement, value in zip(release.measurements, values, strict=True):
            q = measurement.quantity
            total = value * q.unit + q.center * (count if q.center else 0)
            assert total in wanted[flag]
