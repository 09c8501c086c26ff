"""Settings of a session: how epsilon is split, counts that are never negative, and what is refused."""

from __future__ import annotations

import asyncio
from fractions import Fraction
from typing import Any

import pytest

from dp4sql.errors import InvalidParameter
from dp4sql.pipeline import Pipeline
from dp4sql.pipeline.preparation import prepare, priced
from dp4sql.rows import Released
from dp4sql.settings import NAMES, Settings

FAR = ("1e999999999", "1e-999999999", "9e999", "1" * 500, "1/" + "3" * 500)

GRADES = """SELECT major, COUNT(*) AS n, SUM(grade) AS total, AVG(review) AS mean
            FROM student JOIN enrollment USING (uid) GROUP BY major"""

AWARDS = "scholarship WHERE amount > 1000"


def settings(**texts: str) -> Settings:
    found = Settings()
    for name, text in texts.items():
        found = found.with_setting(name, text)
    return found


def answer(pipeline: Pipeline, sql: str, **texts: str) -> Released:
    return asyncio.run(pipeline.query(sql, settings=settings(**texts)))


def losses(pipeline: Pipeline, sql: str, **texts: str) -> dict[str, Fraction]:
    """What each measurement loses under policy student."""
    prepared = prepare(pipeline.policy, sql, ())
    cost = priced(prepared, pipeline.policy, settings(**texts), "")
    return {
        m.quantity.sql(): m.bounds["student"] / cost.scales[stage, i]
        for stage, release in prepared.plan.releases()
        for i, m in enumerate(release.measurements)
    }


def spent(pipeline: Pipeline) -> Fraction:
    return pipeline.ledger.spent(pipeline.backend.identity, "student", "student")


@pytest.mark.parametrize("text", FAR)
@pytest.mark.parametrize("name", ["epsilon", "max_charge", "target_error"])
def test_no_number_of_a_setting_has_digits_without_end(name: str, text: str) -> None:
    with pytest.raises(InvalidParameter):
        settings(**{name: text})


@pytest.mark.parametrize("text", ["0.5", "1e-3", ".25", "1/3", "9e99"])
def test_every_number_that_a_setting_takes_is_shown(text: str) -> None:
    assert float(settings(epsilon=text).show("epsilon")) == float(Fraction(text))


# ---------------------------------------------------------------- split


MEAN = {
    "SUM(enrollment.review - 3)": Fraction(118, 100),
    "COUNT(enrollment.review)": Fraction(82, 100),
}
"""How the measurements of the mean in GRADES weigh."""


def test_shares_are_one_for_each_measurement_by_default(pipeline: Pipeline) -> None:
    assert losses(pipeline, GRADES) == {
        "COUNT(*)": Fraction(1, 4),
        "SUM(enrollment.grade)": Fraction(1, 4),
    } | {name: weight / 4 for name, weight in MEAN.items()}


def test_a_split_weighs_columns_and_leaves_the_charge(pipeline: Pipeline) -> None:
    found = losses(pipeline, GRADES, split="total: 5, 2: 1")
    assert found == {
        "COUNT(*)": Fraction(1, 8),
        "SUM(enrollment.grade)": Fraction(5, 8),
    } | {name: weight / 8 for name, weight in MEAN.items()}
    answer(pipeline, GRADES, split="total: 5")
    assert spent(pipeline) == 1


def test_a_shared_measurement_has_the_largest_weight(pipeline: Pipeline) -> None:
    sql = f"SELECT COUNT(*) AS n, AVG(amount) AS mean FROM {AWARDS}"
    found = losses(pipeline, sql, split="n: 3, mean: 1")
    assert sorted(found.values()) == [Fraction(1, 4), Fraction(3, 4)]


def test_a_derived_column_weighs_what_it_is_made_of(pipeline: Pipeline) -> None:
    sql = f"SELECT COUNT(*) AS n, 1.0 * SUM(amount) / 12 AS monthly FROM {AWARDS}"
    found = losses(pipeline, sql, split="monthly: 4")
    assert sorted(found.values()) == [Fraction(1, 5), Fraction(4, 5)]


def test_explain_shows_the_shares(pipeline: Pipeline) -> None:
    text = pipeline.explain(GRADES, settings=settings(split="total: 5, n: 1"))
    assert "SUM(enrollment.grade): epsilon 0.625 of 1 under policy student" in text
    assert "COUNT(*): epsilon 0.125 of 1 under policy student" in text


@pytest.mark.parametrize(
    ("sql", "split", "message"),
    [
        (GRADES, "totl: 2", 'the query has no output column "totl", perhaps "total" was meant'),
        (GRADES, "zzz: 2", 'the query has no output column "zzz"'),
        (GRADES, "5: 2", "the query has no output column 5"),
        (GRADES, "major: 2", 'output column "major" carries no noise'),
        (
            "SELECT COUNT(*), COUNT(*) FROM student",
            "count: 2",
            '"count" is the name of several output columns',
        ),
    ],
)
def test_a_split_that_does_not_fit_is_refused(
    pipeline: Pipeline, sql: str, split: str, message: str
) -> None:
    for ask in (pipeline.explain, lambda *a, **k: asyncio.run(pipeline.query(*a, **k))):
        with pytest.raises(InvalidParameter) as caught:
            ask(sql, settings=settings(split=split))
        assert caught.value.message == f"dp4sql.split does not fit the query: {message}"
        assert caught.value.hint is not None
        assert "RESET dp4sql.split" in caught.value.hint
    assert spent(pipeline) == 0


def test_what_measures_nothing_has_nothing_to_split(pipeline: Pipeline) -> None:
    assert answer(pipeline, "SELECT COUNT(*) FROM section", split="total: 3").rows == [(250,)]


# ---------------------------------------------------------------- nonnegative


def test_counts_below_zero_become_zero_and_the_notice_says_so(pipeline: Pipeline) -> None:
    sql = "SELECT uid, COUNT(*) AS n FROM student WHERE name = '' GROUP BY uid"
    free, clamped = answer(pipeline, sql), answer(pipeline, sql, nonnegative="on")
    counts: list[Any] = [n for _, n in clamped.rows]
    assert min(n for _, n in free.rows) < 0  # type: ignore[type-var]
    assert min(counts) == 0
    assert max(counts) > 0
    assert sum(n.startswith("dp4sql.nonnegative:") for n in clamped.notices) == 1
    assert not any(n.startswith("dp4sql.nonnegative:") for n in free.notices)


def test_sums_stay_negative(pipeline: Pipeline) -> None:
    sql = "SELECT uid, SUM(amount) AS n FROM scholarship WHERE amount = 1 GROUP BY uid"
    released = answer(pipeline, sql, nonnegative="on")
    assert min(n for _, n in released.rows) < 0  # type: ignore[type-var]
    assert not any(n.startswith("dp4sql.nonnegative:") for n in released.notices)


# ---------------------------------------------------------------- values

WEIGHTS_HINT = (
    "Output columns, each once, with weights from 0.001 to 1000, such as total: 3, n: 1; or equal."
)


@pytest.mark.parametrize(
    ("name", "text", "message", "hint"),
    [
        (
            "epsilon",
            "-1",
            'invalid value for parameter "dp4sql.epsilon": "-1"',
            "A number of at least 0.000001, such as 0.5.",
        ),
        (
            "max_charge",
            "nan",
            'invalid value for parameter "dp4sql.max_charge": "nan"',
            "A number of at least 0.000001, such as 0.5.",
        ),
        (
            "error_columns",
            "perhaps",
            'parameter "dp4sql.error_columns" requires a Boolean value',
            "on or off.",
        ),
        (
            "nonnegative",
            "2",
            'parameter "dp4sql.nonnegative" requires a Boolean value',
            "on or off.",
        ),
        *(
            (
                "split",
                text,
                f'invalid value for parameter "dp4sql.split": "{text}"',
                WEIGHTS_HINT,
            )
            for text in ("n", "n: 0", "n: 1001", "n: -1", "n: 1, n: 2", "a b: 1", "n: 1 x", ": 1")
        ),
        (
            "budget",
            "1",
            'unrecognized configuration parameter "dp4sql.budget"',
            "Known: dp4sql.epsilon, dp4sql.error_columns, dp4sql.max_charge, dp4sql.nonnegative, "
            "dp4sql.reuse, dp4sql.split, dp4sql.target_error.",
        ),
    ],
)
def test_bad_values(name: str, text: str, message: str, hint: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        Settings().with_setting(name, text)
    error = caught.value
    assert (error.sqlstate, error.message, error.hint) == ("22023", message, hint)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("total: 3, n: 1", "total: 3, n: 1"),
        ("Total:3,2:.5", None),
        ('"A, b": 0.5,2:3 ,N: 1.25', '"A, b": 0.5, 2: 3, n: 1.25'),
        ("equal", "equal"),
        ("default", "equal"),
    ],
)
def test_a_split_is_shown_as_it_can_be_set(text: str, shown: str | None) -> None:
    if shown is None:
        with pytest.raises(InvalidParameter):
            settings(split=text)
        return
    assert settings(split=text).show("split") == shown
    assert settings(split=shown) == settings(split=text)


def test_every_setting_has_a_default_that_can_be_shown() -> None:
    assert {name: Settings().show(name) for name in NAMES} == {
        "epsilon": "default",
        "error_columns": "off",
        "reuse": "exact",
        "max_charge": "default",
        "nonnegative": "off",
        "split": "equal",
        "target_error": "default",
    }


def test_an_epsilon_above_what_the_policy_allows_is_named(pipeline: Pipeline) -> None:
    found = answer(pipeline, "SELECT COUNT(*) FROM student", epsilon="5").notices
    assert "dp4sql.epsilon is 5, of which policy student allows 1 a query" in found
    found = answer(pipeline, "SELECT COUNT(*) FROM student", epsilon="0.5").notices
    assert not [notice for notice in found if "allows" in notice]
