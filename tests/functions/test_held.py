"""Sums of values beyond their declared ranges: each column counts as what it is held in, exactly."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction

import asyncpg
import duckdb
import pytest

import dp4sql
from dp4sql.mechanisms.reading import read_sql
from dp4sql.mechanisms.stages import Release
from dp4sql.pipeline.preparation import prepare
from dp4sql.sql.dialects import DUCKDB, POSTGRES, Dialect
from tests.functions.conftest import Run

RANGES = {
    "price": (900, 105000),
    "off": (0, Fraction(1, 10)),
    "tax": (-1, Fraction(8, 100)),
    "pieces": (-2, 5),
}
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
                    "pieces": {"type": "integer", "range": [-2, 5]},
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
SUMS = """SELECT {}SUM(price), SUM(price * (1 - off)), SUM(price * (1 - off) * (1 + tax)), AVG(off), COUNT(*),
SUM(pieces), SUM(pieces * price), SUM(CASE WHEN flag THEN price ELSE tax END), COUNT(tax) FROM item {}"""
BY_FLAG = SUMS.format("flag, ", "GROUP BY flag")

Row = tuple[bool, Decimal | None, Decimal | None, Decimal | None, int | None]

FAR = [None, Decimal("9" * 13), -Decimal("9" * 13)]
#: What only columns of Postgres that are wider than declared hold.
WILD = [
    Decimal("NaN"),
    Decimal("Infinity"),
    Decimal("-Infinity"),
    Decimal("1e40"),
    Decimal("1e-40"),
]
WILD += [Decimal("0.005"), Decimal("-0.015"), Decimal("0.0949999"), Decimal("104999.995")]


def rows(beyond: float, far: list[Decimal | None]) -> list[Row]:
    """Most values are in their range; a share of `beyond` is far off, just outside, or NULL."""
    chance = random.Random(7)

    def value(low: float, high: float) -> Decimal | None:
        if chance.random() >= beyond:
            return Decimal(f"{chance.uniform(low, high):.2f}")
        return chance.choice([*far, Decimal(str(high)) + 1])

    def pieces() -> int | None:
        return chance.randint(-2, 5) if chance.random() >= beyond else chance.choice([None, 10**9])

    ends = [(float(low), float(high)) for n, (low, high) in RANGES.items() if n != "pieces"]
    return [(chance.random() < 0.5, *(value(*e) for e in ends), pieces()) for _ in range(3000)]  # type: ignore[misc]


def held(name: str, value: Decimal | int | None) -> Fraction:
    low, high = map(Fraction, RANGES[name])
    found = Decimal(value if value is not None else 0)
    if not found.is_finite():
        return low if found == Decimal("-Infinity") else high  # NaN is the greatest number
    inside = min(max(Fraction(found), low), high)
    if inside != Fraction(found):
        return inside
    return Fraction(found.quantize(Decimal("0.01"), ROUND_HALF_UP))


def expected(data: list[Row]) -> Mapping[bool, list[Fraction]]:
    found = {flag: [Fraction(0)] * 9 for flag in (True, False)}
    for flag, *values in data:
        price, off, tax, pieces = (held(n, v) for n, v in zip(RANGES, values, strict=True))
        new = [price, price * (1 - off), price * (1 - off) * (1 + tax), off, Fraction(1)]
        new += [pieces, pieces * price, price if flag else tax, Fraction(1)]
        found[flag] = [a + b for a, b in zip(found[flag], new, strict=True)]
    return found


def asked(sql: str, dialect: Dialect) -> tuple[Release, str]:
    prepared = prepare(POLICY, sql, ())
    ((_, release),) = prepared.plan.releases()
    return release, read_sql(release, prepared.facts, dialect, {})


def check(release: Release, values: Sequence[int], wanted: list[Fraction]) -> None:
    """Each measurement is one of the sums, and all of them are measured."""
    count = values[[m.quantity.kind for m in release.measurements].index("count")]
    found = {
        value * m.quantity.unit + m.quantity.center * (count if m.quantity.center else 0)
        for m, value in zip(release.measurements, values, strict=True)
    }
    assert found == set(wanted)


@pytest.mark.parametrize("beyond", [0, 0.001, 0.3])
def test_sums_are_those_of_the_columns_in_their_ranges(beyond: float) -> None:
    data = rows(beyond, FAR)
    release, sql = asked(BY_FLAG, DUCKDB)
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE item (id integer, flag boolean, price decimal(15,2), off decimal(15,2), "
            "tax decimal(15,2), pieces integer)"
        )
        numbered = [(i, *row) for i, row in enumerate(data)]
        connection.executemany("INSERT INTO item VALUES (?, ?, ?, ?, ?, ?)", numbered)
        wanted = expected(data)
        for flag, *values in connection.execute(sql).fetchall():
            check(release, values, wanted[flag])


@pytest.mark.parametrize("type", ["numeric(15,2)", "numeric"])
@pytest.mark.parametrize("beyond", [0, 0.001, 0.3])
def test_and_on_postgres_where_columns_may_hold_more(
    beyond: float, type: str, run: Run, plain: asyncpg.Connection
) -> None:
    data = rows(beyond, FAR + (WILD if type == "numeric" else [Decimal("NaN")]))
    wanted = expected(data)
    run(
        plain.execute(
            f"DROP TABLE IF EXISTS item; CREATE TABLE item (id integer, flag boolean, price {type}, "
            f"off {type}, tax {type}, pieces integer)"
        )
    )
    numbered = [(i, *row) for i, row in enumerate(data)]
    run(plain.copy_records_to_table("item", records=numbered))
    release, sql = asked(BY_FLAG, POSTGRES)
    assert "GROUP BY 1, 2, 3" in sql  # by flag, pieces and off
    for flag, *values in run(plain.fetch(sql)):
        check(release, values, wanted[flag])
    release, sql = asked(SUMS.format("", ""), POSTGRES)
    ((*values,),) = run(plain.fetch(sql))
    check(release, values, [a + b for a, b in zip(*wanted.values(), strict=True)])


def test_no_rows_on_postgres(run: Run, plain: asyncpg.Connection) -> None:
    run(plain.execute("DROP TABLE IF EXISTS item"))
    run(
        plain.execute(
            "CREATE TABLE item (id integer, flag boolean, price numeric, off numeric, tax numeric, "
            "pieces integer)"
        )
    )
    for sql in (BY_FLAG, SUMS.format("", "")):
        release, read = asked(sql, POSTGRES)
        for row in run(plain.fetch(read)):
            assert set(row[-len(release.measurements) :]) == {0}
