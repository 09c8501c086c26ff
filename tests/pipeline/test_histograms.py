"""Buckets of equal width are so many bins as there are buckets, not one for each number of the range."""

from __future__ import annotations

import asyncio
from decimal import Decimal

import pytest

from dp4sql.algebra.expr import Call, Col, Lit
from dp4sql.algebra.types import INTEGER
from dp4sql.mechanisms.bins.values import undone
from dp4sql.pipeline import Pipeline

TENS = [*range(0, 101, 10), None]
FORMS = {
    "(grade / 10) * 10": TENS,
    "10 * (grade / 10)": TENS,
    "FLOOR(grade / 10.0) * 10": TENS,
    "FLOOR(grade / 10.0) * -10 + 5": [*range(-95, 6, 10), None],
    "FLOOR(grade / 10.0) * 0.5": [*(Decimal(i) / 2 for i in range(11)), None],
    "grade - 7": [*range(-7, 94), None],
    "(grade / 50) * 0 + grade / 50": [0, 1, 2, None],
}


@pytest.mark.parametrize("form", FORMS)
def test_one_bin_a_bucket(loud: Pipeline, form: str) -> None:
    sql = f"SELECT {form} AS bucket, COUNT(*) AS n FROM enrollment GROUP BY 1 ORDER BY 1"
    rows = asyncio.run(loud.query(sql)).rows
    assert [bucket for bucket, _ in rows] == FORMS[form]
    (everyone,) = asyncio.run(loud.query("SELECT COUNT(*) FROM enrollment")).rows[0]
    assert abs(sum(n for _, n in rows) - everyone) < 10


def test_a_filter_narrows_the_buckets(loud: Pipeline) -> None:
    sql = "SELECT (grade / 10) * 10, COUNT(*) FROM enrollment WHERE grade BETWEEN 35 AND 61 GROUP BY 1 ORDER BY 1"
    assert [bucket for bucket, _ in asyncio.run(loud.query(sql)).rows] == [30, 40, 50, 60]


def test_nothing_is_undone_by_zero() -> None:
    product = Call("*", (Col("a", INTEGER), Lit(0, INTEGER)), INTEGER)
    assert list(undone(product, (None, None))) == [(product, (None, None))]
