"""What is evaluated without an engine is what the engine would say."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dp4sql.algebra.expr import Call, Col, Lit
from dp4sql.algebra.nodes import Fetched, Limit, Node, Project, Select, Sort
from dp4sql.algebra.types import BIGINT, BOOLEAN, DATE, TEXT, Type
from dp4sql.backends.duckdb import Scratch
from dp4sql.mechanisms.measure import decimal
from dp4sql.pipeline.postprocess import (
    SORTED_HERE,
    Run,
    by_engine,
    chosen,
    evaluate,
    picked,
    places,
)
from dp4sql.rows import Row, Rows, Where, taken

NUMERIC = Type("numeric", scale=2)
COLUMNS = (("t", TEXT), ("n", BIGINT), ("d", NUMERIC), ("b", BOOLEAN), ("day", DATE))
ROWS = st.lists(
    st.tuples(
        st.none() | st.sampled_from(["", "a", "B", "b ", "é", "z", "𝄞", "\uffff", "a\u0301"]),
        st.none() | st.integers(-3, 3) | st.just(2**62),
        st.none() | st.integers(-300, 300).map(lambda n: Decimal(n) / 100),
        st.none() | st.booleans(),
        st.none() | st.integers(1, 28).map(lambda d: datetime.date(2024, 2, d)),
    ),
    max_size=12,
    unique=True,
)
KEYS = st.lists(
    st.tuples(st.sampled_from([id for id, _ in COLUMNS]), st.booleans(), st.booleans()), max_size=3
)
SCRATCH = Scratch()
DOUBLED = Call("*", (Col("n", BIGINT), Lit(2, BIGINT)), BIGINT)


@given(ROWS, KEYS, st.none() | st.integers(0, 8), st.integers(0, 3))
@settings(suppress_health_check=list(HealthCheck), max_examples=60)
def test_rows_are_picked_sorted_and_cut_as_by_the_engine(
    rows: Any, keys: Any, count: int | None, offset: int
) -> None:
    # All columns as last keys: no two rows tie, so the order is the only one.
    order = tuple((f"out {id}", down, first) for id, down, first in keys)
    order += tuple((f"out {id}", False, False) for id, _ in COLUMNS)
    picked = tuple((f"out {id}", Col(id, type)) for id, type in COLUMNS)
    node: Node = Sort(Project(Fetched(0, COLUMNS), picked), order)
    if count is not None or offset:
        node = Limit(node, count, offset)
    outputs = tuple((f"out {id}", type) for id, type in reversed(COLUMNS))
    run = Run(tables={0: (COLUMNS, rows)})
    assert chosen(node, [id for id, _ in outputs]) is not None
    assert evaluate(SCRATCH, node, outputs, run) == by_engine(SCRATCH, node, outputs, run)


@given(ROWS, KEYS, st.integers(-3, 3), st.none() | st.integers(0, 8))
@settings(suppress_health_check=list(HealthCheck), max_examples=40)
def test_rows_that_the_engine_picks_by_a_condition_are_its_rows(
    rows: Any, keys: Any, least: int, count: int | None
) -> None:
    order = (*keys, *((id, False, False) for id, _ in COLUMNS))
    above = Call(">=", (Col("n", BIGINT), Lit(least, BIGINT)), BOOLEAN)
    sums = Project(Fetched(0, COLUMNS), (*((i, Col(i, t)) for i, t in COLUMNS), ("s", DOUBLED)))
    node = Limit(Sort(Select(sums, above), order), count, 1)
    outputs = COLUMNS[::-1]
    run = Run(tables={0: (COLUMNS, rows)})
    found = picked(node, [id for id, _ in outputs])
    assert found is not None
    assert found.of(rows, places(SCRATCH, node, run)) == by_engine(SCRATCH, node, outputs, run)
    assert picked(node, ["s"]) is None


@pytest.mark.parametrize("unit", [Fraction(1), Fraction(1, 100), Fraction(5, 2), Fraction(1, 8)])
def test_arrays_of_units_are_loaded_as_their_values_are(unit: Fraction) -> None:
    counted = np.array([0, 1, -1, 2**63 - 1, -(2**63), 12345], np.int64)
    values = [decimal(n * unit) for n in counted.tolist()]
    columns = (("n", NUMERIC),)

    def part(where: Where) -> list[Row]:
        return [(value,) for value in taken(values, where)]

    held = Rows(len(values), part, {0: (counted, unit)})
    twice = Project(Fetched(0, columns), (("x", Call("+", (Col("n", NUMERIC),) * 2, NUMERIC)),))
    found = [
        by_engine(SCRATCH, twice, (("x", NUMERIC),), Run(tables={0: (columns, rows)}))
        for rows in (held, list(held))
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("type", "rows"),
    [(Type("double precision"), [(1.5,), (float("nan"),), (0.5,)]), (BIGINT, None)],
)
def test_what_python_would_sort_otherwise_or_too_long_is_the_engines(type: Type, rows: Any) -> None:
    given = rows or [(n * 7919 % 10007,) for n in range(SORTED_HERE + 1)]
    node = Sort(Fetched(0, (("x", type),)), (("x", False, False),))
    run = Run(tables={0: ((("x", type),), given)})
    found = evaluate(SCRATCH, node, (("x", type),), run)
    assert str(found) == str(by_engine(SCRATCH, node, (("x", type),), run))
    assert (chosen(node, ["x"]) is None) is (rows is not None)


def test_more_than_a_choice_is_the_engines() -> None:
    double = Call("*", (Col("n", BIGINT), Col("n", BIGINT)), BIGINT)
    squares = Project(Fetched(0, COLUMNS), (("square", double), ("n", Col("n", BIGINT))))
    assert chosen(squares, ["square"]) is None
    assert chosen(squares, ["n"]) is not None
    assert chosen(Sort(squares, (("square", False, False),)), ["n"]) is None
