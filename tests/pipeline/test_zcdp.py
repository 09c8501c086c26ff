"""The accountant zcdp: losses add up as rho, and Gaussian noise where no policy asks for pure epsilon."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest

import dp4sql
from dp4sql.errors import BudgetExceeded, PolicyChanged
from dp4sql.noise import epsilon_of
from dp4sql.pipeline import Pipeline
from dp4sql.rows import Released
from dp4sql.settings import Settings
from tests.wire.live import stop_clock

BINS = 3000
DELTA = Fraction(1, 10**6)
POLICY: dict[str, Any] = {
    "tables": {
        "person": {
            "key": ["id"],
            "rows": 10_000,
            "columns": {
                "id": "integer",
                "plz": {"type": "integer", "domain": {"from": 1, "to": BINS}},
                "age": {"type": "integer", "range": [0, 100]},
            },
        },
        "visit": {
            "key": ["id"],
            "foreign_keys": {"person": "person"},
            "max_frequency": {"person": 5},
            "columns": {"id": "integer", "person": "integer"},
        },
    },
    "policies": {
        "person": {
            "entity": "person",
            "epsilon": 1,
            "budget": 8,
            "accountant": "zcdp",
            "delta": 0.000001,
            "labels": {"person": "del", "visit": "del"},
        }
    },
}
COUNT = "SELECT COUNT(*) FROM person"
WIDE = "SELECT plz, COUNT(*) AS n, SUM(age) AS s FROM person GROUP BY plz"


def changed(**entries: Any) -> dict[str, Any]:
    content = deepcopy(POLICY)
    content["policies"]["person"] |= entries
    return {k: v for k, v in content.items() if v is not None}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("people") / "people.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE person (id INTEGER, plz INTEGER, age INTEGER)")
        db.execute("CREATE TABLE visit (id INTEGER, person INTEGER)")
    return f"duckdb://{path}"


@pytest.fixture
def pipeline(database: str, tmp_path: Path) -> Iterator[Pipeline]:
    opened = dp4sql.open_pipeline(policy=POLICY, database=database, ledger=tmp_path / "l")
    yield opened
    asyncio.run(opened.close())


def ask(pipeline: Pipeline, sql: str, **settings: Any) -> Released:
    return asyncio.run(pipeline.query(sql, (), Settings(reuse="off", **settings), role="ann"))


def spent(pipeline: Pipeline) -> Fraction:
    return pipeline.ledger.spent(pipeline.backend.identity, "person", "person")


def until_refused(pipeline: Pipeline, epsilon: Fraction) -> tuple[int, str]:
    """How many counts are answered, and why the next one is not."""
    answered = 0
    while True:
        try:
            ask(pipeline, COUNT, epsilon=epsilon)
        except BudgetExceeded as error:
            return answered, error.message
        answered += 1


def test_a_count_is_charged_the_rho_of_its_noise(pipeline: Pipeline) -> None:
    said = "\n".join(ask(pipeline, COUNT).notices)
    assert "count: Gaussian noise scale 1, 95 % within +-2" in said
    assert "charged 0.5 rho to policy person, ~0.5524 of ~1.0524 left" in said
    assert spent(pipeline) == Fraction(1, 2)
    ask(pipeline, COUNT, epsilon=Fraction(1, 10))
    assert spent(pipeline) == Fraction(1, 2) + Fraction(1, 200)


def test_two_columns_get_less_noise_than_under_pure_epsilon(pipeline: Pipeline) -> None:
    """Both share rho, so each scale grows by sqrt(2) where Laplace noise doubles. The sum is put together
    from one centred at 50 and the count."""
    answer = np.array(ask(pipeline, WIDE).rows, dtype=float)
    assert abs(np.mean(answer[:, 1])) < 7 * math.sqrt(2 / BINS)
    assert 0.9 < np.std(answer[:, 1]) / math.sqrt(2) < 1.1
    assert 0.9 < np.std(answer[:, 2]) / math.hypot(50 * math.sqrt(2), 50 * math.sqrt(2)) < 1.1
    assert Fraction(1, 2) * (1 - Fraction(1, 10**12)) < spent(pipeline) <= Fraction(1, 2)


def test_the_budget_is_epsilon_at_delta_and_never_overspent(pipeline: Pipeline) -> None:
    """Pure epsilon would have allowed 80 such queries."""
    answered, refusal = until_refused(pipeline, Fraction(1, 10))
    assert "the budget of policy person in rho does not cover this query" in refusal
    assert answered > 150
    assert spent(pipeline) == Fraction(answered, 200)
    assert epsilon_of(spent(pipeline), DELTA) <= 8 < epsilon_of(Fraction(answered + 1, 200), DELTA)


def test_a_pure_policy_beside_it_keeps_the_noise_laplace(database: str, tmp_path: Path) -> None:
    content = changed()
    content["policies"]["visit"] = {
        "entity": "visit",
        "epsilon": 2,
        "labels": {"visit": "del"},
    }
    visits = "SELECT COUNT(*) FROM visit"
    opened = dp4sql.open_pipeline(policy=content, database=database, ledger=tmp_path / "l")
    said = "\n".join(ask(opened, visits).notices)
    assert "count: noise scale 5, 95 %" in said  # one person has 5 visits
    assert "charged 0.5 rho to policy person" in said
    assert "charged 0.2 to policy visit" in said
    assert "Gaussian" in "\n".join(ask(opened, COUNT).notices)
    asyncio.run(opened.close())


def test_selections_are_charged_rho_of_their_epsilon(pipeline: Pipeline) -> None:
    said = "\n".join(ask(pipeline, "SELECT MAX(age) FROM person").notices)
    assert "Gaussian" not in said
    assert spent(pipeline) == Fraction(1, 2)


def test_a_target_error_is_reached_with_gaussian_noise(pipeline: Pipeline) -> None:
    said = "\n".join(ask(pipeline, COUNT, target_error=Fraction(20)).notices)
    assert "95 % within +-20" in said
    assert 0 < spent(pipeline) < Fraction(1, 150)


@pytest.mark.parametrize("limits", [{"roles": {"ann": 7}}, {"renewal": {"day": 7}}])
def test_allowances_and_renewals_are_epsilon_at_delta(
    database: str, tmp_path: Path, limits: dict[str, Any]
) -> None:
    opened = dp4sql.open_pipeline(
        policy=changed(**limits), database=database, ledger=tmp_path / "l"
    )
    stop_clock(opened)
    _, refusal = until_refused(opened, Fraction(1, 2))
    assert "policy person in rho" in refusal
    lost = spent(opened)
    assert epsilon_of(lost, DELTA) <= 7 < epsilon_of(lost + Fraction(1, 8), DELTA)
    asyncio.run(opened.close())


def test_the_most_that_a_query_may_cost(database: str, tmp_path: Path) -> None:
    opened = dp4sql.open_pipeline(
        policy=changed(max_charge=1.5, budget=20), database=database, ledger=tmp_path / "l"
    )
    ask(opened, COUNT, epsilon=Fraction(9))
    assert spent(opened) == Fraction(9, 8)
    with pytest.raises(BudgetExceeded, match=r"more than dp4sql\.max_charge allows"):
        ask(opened, COUNT, max_charge=Fraction(1, 2))
    ask(opened, COUNT, max_charge=Fraction(1, 2), epsilon=Fraction(1, 2))
    asyncio.run(opened.close())


def test_explain_prices_in_rho() -> None:
    shown = dp4sql.explain(POLICY, COUNT)
    assert "price (rho): person 0.5" in shown.text()
    assert shown.as_json()["charges"] == {"person": "1/2"}


# ---------------------------------------------------------------- the ledger


def test_an_entity_that_has_lost_something_keeps_its_accountant(
    database: str, tmp_path: Path
) -> None:
    pure = deepcopy(POLICY)
    renamed = deepcopy(POLICY)
    for name in ("accountant", "delta"):
        del pure["policies"]["person"][name]
    renamed["policies"] = {"other": renamed["policies"]["person"]}

    def opened(content: dict[str, Any]) -> Pipeline:
        return dp4sql.open_pipeline(policy=content, database=database, ledger=tmp_path / "l")

    for before, after in ((pure, POLICY), (pure, renamed)):
        first = opened(before)
        asyncio.run(first.start())
        asyncio.run(first.close())
        second = opened(after)
        asyncio.run(second.start())  # nothing is spent yet
        asyncio.run(second.close())
    first = opened(pure)
    ask(first, COUNT)
    entries = len(first.ledger.entries())
    for content in (POLICY, renamed):
        with pytest.raises(PolicyChanged, match="with accountant pure"):
            ask(opened(content), COUNT)
    assert len(first.ledger.entries()) == entries
    ask(first, COUNT)
    asyncio.run(first.close())
