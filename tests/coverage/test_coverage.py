"""docs/coverage.md is what is so; and what is answered is the answer to the question that was asked."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from tests.coverage.questions import Query
from tests.coverage.table import (
    ALONE,
    ANALYSTS,
    BOTH,
    DASHBOARDS,
    DOCUMENT,
    NOTEBOOKS,
    Database,
    Outcome,
    asked,
    document,
    outcomes,
)

Questions = dict[str, list[tuple[Database, Query]]]

#: Selections among candidates, which keep away from the ends by what the noise needs.
SELECTED = {"A07", "B28", "W34", "W47", "W48"}

#: What has no bins that are public, or too many.
REFUSED = {"W31", "W38", "W50"}


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Questions]:
    with asked(tmp_path_factory.mktemp("coverage")) as found:
        yield found


@pytest.fixture(scope="module")
def found(questions: Questions) -> dict[str, list[Outcome]]:
    return outcomes(questions)


def answered(rows: list[Outcome]) -> set[str]:
    return {o.query.id for o in rows if o.refusal is None}


def test_the_document_is_up_to_date(found: dict[str, list[Outcome]]) -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document(found), "python -m tests.coverage"


def test_what_has_to_be_answered(found: dict[str, list[Outcome]]) -> None:
    assert len(answered(found[ANALYSTS])) >= 36
    more = [o for title in (DASHBOARDS, NOTEBOOKS) for o in found[title]]
    assert {o.query.id for o in more} - answered(more) == REFUSED
    wanted = {f"Q{i}" for i in (1, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 16, 17, 19, 22)}
    assert wanted <= answered(found[BOTH])
    free = {o.query.id for o in found[ALONE] if o.refusal is None and o.exact}
    assert free == {"Q2", "Q11", "Q16"}


def test_refusals_say_what_would_help(found: dict[str, list[Outcome]]) -> None:
    for outcome in (o for rows in found.values() for o in rows if o.refusal is not None):
        assert outcome.refusal.hint, outcome.query.id


def test_without_noise_answers_are_the_truth(questions: Questions) -> None:
    """Bins without rows may come on top; SUM over nothing is 0."""
    wrong = [
        f"{query.id}: {problem}"
        for database, query in (pair for pairs in questions.values() for pair in pairs)
        if query.id not in SELECTED
        for problem in differences(database, query)
    ]
    assert not wrong


def differences(database: Database, query: Query) -> Iterator[str]:
    try:
        rows = database.answer(query.sql, None)
    except Exception as error:
        state = getattr(error, "sqlstate", None) or "XX000"
        if state[:2] in ("58", "XX"):  # The engine or the proxy failed, which is no refusal.
            raise
        return
    answer = {key(i, row, query): row for i, row in enumerate(rows)}
    for i, row in enumerate(database.truth(query.sql)):
        if not same(answer.get(key(i, row, query)), row):
            yield f"{answer.get(key(i, row, query))}, not {row}"


def key(place: int, row: tuple[Any, ...], query: Query) -> tuple[Any, ...]:
    """Rows without a key are told apart by their place."""
    return row[: query.keys] or (place,)


def same(row: tuple[Any, ...] | None, truth: tuple[Any, ...]) -> bool:
    return row is not None and all(map(alike, row, truth))


def alike(a: Any, b: Any) -> bool:
    if isinstance(a, int | float | Decimal) and not isinstance(a, bool):
        # Squares are added up in steps whose sum 64 bits hold.
        return math.isclose(float(a), float(b or 0), rel_tol=1e-9, abs_tol=1e-5)
    return a == b
