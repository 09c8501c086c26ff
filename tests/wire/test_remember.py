"""What is remembered between statements has a limit, whatever clients send."""

from __future__ import annotations

from decimal import Decimal

from dp4sql.remember import Remembered
from dp4sql.sql import lexer


def test_a_result_is_computed_once_while_it_is_kept() -> None:
    asked: list[str] = []

    def work(text: str) -> int:
        asked.append(text)
        return len(text)

    remembered = Remembered(work, len, 10_000)
    assert [remembered(text) for text in ("a", "bb", "a", "a")] == [1, 2, 1, 1]
    assert asked == ["a", "bb"]


def test_the_oldest_make_room_and_the_heaviest_are_not_kept() -> None:
    asked: list[int] = []
    remembered = Remembered(lambda n: asked.append(n), lambda n: n, 8000)
    for n in (*range(500, 900), 500):
        remembered(n)
    assert remembered.weight <= 8000
    assert asked.count(500) == 2
    remembered(5000)
    remembered(5000)
    assert asked.count(5000) == 2


def test_long_statements_do_not_gather() -> None:
    for i in range(40):
        lexer.statements(f"select {i}, '{'x' * 100_000}'")
    assert lexer.statements.weight <= lexer.MAX_LENGTH


def test_equal_values_of_other_types_are_other_arguments() -> None:
    remembered = Remembered(lambda values: repr(values), lambda values: 1, 10_000)
    for values in ((1,), (True,), (1.0,), (Decimal("1.0"),), (Decimal("1.00"),), ((1, "a"),)):
        assert remembered(values) == repr(values)
        assert remembered(values) is remembered(values)
