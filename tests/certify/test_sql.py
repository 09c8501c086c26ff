"""dp4sql.certify and dp4sql.certify_plan through the whole pipeline."""

from __future__ import annotations

import asyncio
import copy
import json
import random
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dp4sql
from dp4sql.errors import BudgetExceeded, Dp4sqlError
from dp4sql.pipeline import Pipeline
from dp4sql.policy import load_policy
from dp4sql.settings import Settings
from tests.certify.toys import POLICY, clinic

Row = dict[str, Any]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clinic") / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        clinic(random.Random(5), people=40, visits=100).fill(connection)
    return path


@pytest.fixture
def pipeline(database: Path, tmp_path: Path) -> Iterator[Pipeline]:
    opened = dp4sql.open_pipeline(
        policy=POLICY, database=f"duckdb:///{database}", ledger=tmp_path / "ledger"
    )
    yield opened
    asyncio.run(opened.close())


def rows(
    pipeline: Pipeline, sql: str, *parameters: Any, settings: Settings | None = None
) -> list[Row]:
    found = asyncio.run(pipeline.query(sql, parameters, settings))
    return [dict(zip([c.name for c in found.columns], row, strict=True)) for row in found.rows]


def spent(pipeline: Pipeline) -> Fraction:
    return pipeline.ledger.spent(pipeline.backend.identity, "person", "person")


CERTIFY = "SELECT * FROM dp4sql.certify"
PLAN = "SELECT * FROM dp4sql.certify_plan"
ALL_BAND = """(template => 'scores', bind => '{"k": "x", "band": {"lo": 3}}', theta => 0.2"""


def test_one_row_a_statement_with_every_column(pipeline: Pipeline) -> None:
    found = rows(pipeline, f"{CERTIFY}(template => 'scores', theta => 0.2, epsilon => 2.0)")
    assert [row["ordinal"] for row in found] == [1, 2, 3, 4, 5, 6]
    first = found[0]
    assert first["statement"] == "At least 20 % of short visits score 0 to 4."
    assert json.loads(first["slots"]) == {
        "k": {"name": "x", "label": "short"},
        "band": {"lo": 0, "hi": 4},
    }
    assert (first["theta"], first["beta"], first["epsilon"]) == (Decimal("0.2"), Decimal("0.05"), 2)
    assert (first["sensitivity"], first["mechanism"]) == (3, "laplace")
    assert first["adjacency"] == "one person with all rows it owns (policy person)"
    assert spent(pipeline) == 12


def test_decisions_certificates_and_p_values_agree(pipeline: Pipeline) -> None:
    found = rows(pipeline, f"{CERTIFY}(template => 'scores', epsilon => 4.0)")
    assert {row["decision"] for row in found} == {"emit", "abstain"}
    for row in found:
        emitted = row["decision"] == "emit"
        assert emitted == (row["p_value"] <= 0.05)
        assert emitted == (row["count_lower"] >= row["theta"] * row["population"])
        assert row["support_lower"] <= Fraction(row["count_lower"], row["population"])
        wanted = "With 95 % confidence" if emitted else "Not certified; this is no evidence against"
        assert row["certificate"].startswith(wanted)
    assert spent(pipeline) == 24, "both thresholds are read off one measurement"


def test_emission_is_near_certain_far_above_the_threshold(pipeline: Pipeline) -> None:
    (row,) = rows(pipeline, f"{CERTIFY}{ALL_BAND}, epsilon => 50.0)")
    assert row["decision"] == "emit"
    assert row["half_emission"] == 1


def test_a_group_by_template_is_charged_once(pipeline: Pipeline) -> None:
    found = rows(pipeline, f"{CERTIFY}(template => 'groups', theta => 0.2, epsilon => 1.0)")
    assert [json.loads(row["slots"])["grp"] for row in found] == ["a", "b", "c"]
    assert spent(pipeline) == 1
    assert {row["population"] for row in found} == {None}
    assert {row["count_lower"] for row in found} == {None}


def test_the_identical_request_is_free_and_the_same(pipeline: Pipeline) -> None:
    sql = f"{CERTIFY}(template => 'groups', epsilon => 1.0)"
    first, before = rows(pipeline, sql), spent(pipeline)
    again = rows(pipeline, sql)
    assert (again, spent(pipeline)) == (first, before)
    rows(pipeline, sql.replace("1.0", "1.5"))
    assert spent(pipeline) > before


def test_public_statements_are_exact_and_free(pipeline: Pipeline) -> None:
    (row,) = rows(pipeline, f"{CERTIFY}(template => 'kinds')")
    assert (row["decision"], row["count_lower"], row["support_lower"]) == (
        "emit",
        1,
        Decimal("0.5"),
    )
    assert (row["epsilon"], row["sensitivity"]) == (0, 0)
    assert row["certificate"].startswith("Exact: ")
    assert spent(pipeline) == 0


def test_nothing_is_claimed_or_spent_about_an_empty_population(pipeline: Pipeline) -> None:
    (row,) = rows(
        pipeline,
        f"""{CERTIFY}(statement => 's', population => 'SELECT * FROM visit WHERE kind = ''z''',
                      predicate => 'score > 3', theta => 0.1)""",
    )
    assert (row["decision"], row["population"]) == ("abstain", 0)
    assert row["certificate"] == "Nothing is claimed: the population is empty."
    assert spent(pipeline) == 0


def test_without_an_epsilon_the_call_costs_what_a_query_costs(pipeline: Pipeline) -> None:
    rows(pipeline, f"{CERTIFY}(template => 'scores')")
    assert spent(pipeline) <= 1
    assert spent(pipeline) > Fraction(999, 1000)
    half = Settings().with_setting("epsilon", "0.5")
    rows(pipeline, f"{CERTIFY}(template => 'scores')", settings=half)
    assert Fraction(3, 2) >= spent(pipeline) > Fraction(1499, 1000)


@pytest.mark.parametrize("margin", ["exact", "threshold", "sharp", "paper"])
def test_margins(margin: str, pipeline: Pipeline) -> None:
    (row,) = rows(pipeline, f"{CERTIFY}{ALL_BAND}, epsilon => 1.0, margin => '{margin}')")
    expected = {"exact": 7, "threshold": 7, "sharp": 8, "paper": 10}
    assert row["half_emission"] == expected[margin]
    assert row["optimum"] == 7


@pytest.mark.parametrize(
    ("mechanism", "price"), [("laplace", 12), ("hist", 4), ("svt", 2), ("gaussian", 2)]
)
def test_mechanisms(mechanism: str, price: int, pipeline: Pipeline) -> None:
    """One measurement a statement, a population, or a call."""
    found = rows(
        pipeline,
        f"{CERTIFY}(template => 'scores', theta => 0.2, epsilon => 2.0, mechanism => '{mechanism}')",
    )
    assert len(found) == 6
    assert {row["mechanism"] for row in found} == {mechanism}
    assert price * Fraction(999, 1000) < spent(pipeline) <= price
    deltas = {e.delta for e in pipeline.ledger.entries() if e.kind == "charge"}
    assert deltas == {Fraction(1, 10**8) if mechanism == "gaussian" else 0}


def test_deltas_add_up_to_what_the_policy_admits(pipeline: Pipeline) -> None:
    """Epsilon is left, and so are the other mechanisms."""
    call = f"{CERTIFY}(template => 'scores', theta => 0.2, epsilon => {{}}, mechanism => 'gaussian'{{}})"
    rows(pipeline, call.format("0.5", ", delta => 0.0000006"))
    before = spent(pipeline)
    with pytest.raises(BudgetExceeded) as caught:
        rows(pipeline, call.format("0.6", ", delta => 0.0000006"))
    assert "loses delta 6e-07 under policy person, and 4e-07 of 1e-06 is left" in str(caught.value)
    assert spent(pipeline) == before
    rows(pipeline, call.format("0.6", ", delta => 0.0000004"))
    with pytest.raises(BudgetExceeded, match="and 0 of 1e-06 is left"):
        rows(pipeline, call.format("0.7", ""))
    assert rows(pipeline, call.format("0.5", ", delta => 0.0000006")), "a repeat loses nothing"
    rows(pipeline, call.format("0.7", "").replace("gaussian", "laplace"))


def test_sparse_vector_selects_at_most_its_cap(pipeline: Pipeline) -> None:
    for share in ("1", "0.5"):
        found = rows(
            pipeline,
            f"""{CERTIFY}(template => 'scores', theta => 0.01, epsilon => 40.0, mechanism => 'svt',
                          cap => 2, select_share => {share})""",
        )
        assert sum(row["decision"] == "emit" for row in found) == 2


@pytest.mark.parametrize("control", ["report", "bonferroni", "fdr"])
def test_controls(control: str, pipeline: Pipeline) -> None:
    found = rows(
        pipeline, f"{CERTIFY}(template => 'scores', epsilon => 3.0, control => '{control}')"
    )
    for row in found:
        if row["decision"] == "emit":
            assert row["p_value"] <= 0.05
            assert "together" in row["certificate"] or "false share" in row["certificate"]
        elif control != "bonferroni":
            assert row["count_lower"] is None


def test_the_result_is_an_ordinary_relation(pipeline: Pipeline) -> None:
    found = rows(
        pipeline,
        """SELECT k.label, COUNT(*) AS n, MAX(c.support_lower) AS best
             FROM dp4sql.certify(template => 'scores', theta => $1, epsilon => $2) AS c
             JOIN kind k ON POSITION(k.label IN c.statement) > 0
            WHERE c.decision = 'emit' GROUP BY k.label ORDER BY n DESC, 1 LIMIT 5""",
        "0.05",
        "15",
    )
    assert {row["label"] for row in found} == {"long", "short"}
    assert found == sorted(found, key=lambda row: (-row["n"], row["label"]))
    assert all(row["n"] >= 1 for row in found)


def test_bound_and_free_slots(pipeline: Pipeline) -> None:
    sql = f"{CERTIFY}(template => 'free', epsilon => 1.0, bind => $1)"
    (row,) = rows(pipeline, sql, '{"s": 5}')
    assert row["statement"] == "At least 10 % of visits score 5 or more."
    assert len(rows(pipeline, f"{PLAN}(template => 'scores', bind => $1)", '{"k": "short"}')) == 6


def test_the_plan_is_free_and_says_what_the_statement_will_say(pipeline: Pipeline) -> None:
    arguments = "(template => 'scores', epsilon => 1.0, margin => 'sharp')"
    planned = rows(pipeline, PLAN + arguments)
    assert spent(pipeline) == 0
    certified = rows(pipeline, CERTIFY + arguments)
    assert planned == [{name: row[name] for name in planned[0]} for row in certified]


def test_describe_and_explain_read_no_data(pipeline: Pipeline) -> None:
    sql = f"{CERTIFY}(template => 'scores', theta => $1, epsilon => 1.0)"
    shape = pipeline.describe(sql)
    assert [c.name for c in shape.columns][:4] == ["ordinal", "statement", "slots", "decision"]
    assert len(shape.columns) == 19
    text = pipeline.explain(sql, ["0.2"])
    for line in (
        "support count: 3 under policy person",
        "one measurement: noise scale 3, epsilon 1 under policy person",
        "half emission at 7 rows, best possible 7",
    ):
        assert line in text
    assert spent(pipeline) == 0


# ---------------------------------------------------------------- bad input

ADHOC = "statement => 's', theta => 0.1"
PEOPLE = "population => 'SELECT * FROM person'"
BAD = {
    "theta => 1.5": ("22023", "argument theta is 1.5"),
    "theta => 0": ("22023", "argument theta is 0"),
    "beta => 0.5": ("22023", "argument beta is 0.5"),
    "epsilon => -1": ("22023", "argument epsilon is -1"),
    "mechanism => 'magic'": ("22023", 'argument mechanism is "magic"'),
    "control => 'none'": ("22023", 'argument control is "none"'),
    "margin => 'wide'": ("22023", 'argument margin is "wide"'),
    "select_share => 2": ("22023", "argument select_share is 2"),
    "delta => 0.5": ("22023", "argument delta is more than the policy admits"),
    "max_statements => 5": ("42501", "more than max_statements = 5"),
    "max_statements => 0": ("22023", "argument max_statements is 0"),
    "max_statements => 10001": ("22023", "argument max_statements is 10001"),
    "cap => 0": ("22023", "argument cap is 0"),
    "theta => 'NaN'": ("22P02", "NaN"),
    "theta => 0.1234567": ("22023", "argument theta is 0.1234567"),
    "theta => 1e-300": ("22023", "argument theta is 1E-300"),
    "theta => 'much'": ("22P02", "invalid input syntax"),
    "theta => NULL, beta => 'Infinity'": ("22P02", "Infinity"),
    "beta => 1e-300": ("22023", "argument beta is 1E-300"),
    "epsilon => 'NaN'": ("22P02", "NaN"),
    "epsilon => 1e-300": ("22023", "argument epsilon is 1E-300"),
    "epsilon => 10001": ("22023", "argument epsilon is 10001"),
    "delta => 0": ("22023", "argument delta is 0"),
    """bind => '{"k": NaN}'""": ("22023", "argument bind: slot k has no value NaN"),
    "bind => 'k'": ("22023", "argument bind is not a JSON object"),
    """bind => '{"kk": 1}'""": ("22023", 'argument bind: there is no slot "kk"'),
    """bind => '{"k": "z"}'""": ("22023", "argument bind: slot k has no value z"),
    "mechanism => 'svt', control => 'fdr'": ("0A000", "share one noisy threshold"),
    "mechanism => 'hist', margin => 'sharp'": ("0A000", "margin sharp with mechanism hist"),
    "thta => 0.5": ("42883", "has no argument thta"),
}
BAD_STATEMENTS = {
    "template => 'score'": ("22023", 'there is no template "score"'),
    "template => 'free'": ("22023", "slot s is unbound"),
    """template => 'free', bind => '{"s": "five"}'""": ("22023", "argument bind: s is five"),
    f"template => 'scores', {PEOPLE}": ("22023", "argument template together with population"),
    ADHOC: ("22023", "argument population is missing"),
    f"{ADHOC}, {PEOPLE}": ("22023", "argument predicate is missing"),
    f"{ADHOC}, {PEOPLE}, predicate => 'gp = 1'": ("42703", 'predicate: column "gp"'),
    f"{ADHOC}, {PEOPLE}, predicate => 'grp = '": ("42601", "predicate: syntax error"),
    f"{ADHOC}, {PEOPLE}, predicate => 'true) OR (true'": ("42601", "predicate: "),
    f"{ADHOC}, {PEOPLE}, predicate => 'pid = {{pid}}'": ("22023", "slot {pid} has no values"),
    f"{ADHOC}, population => 'SELECT * FROM persn', predicate => 'true'": ("42P01", "population: "),
    f"{ADHOC}, population => 'DELETE FROM person', predicate => 'true'": ("25006", "population: "),
    f"{ADHOC}, population => 'SELECT * FROM person LIMIT 3', predicate => 'true'": (
        "0A000",
        "population: LIMIT",
    ),
    f"{ADHOC}, population => 'SELECT a.* FROM visit a JOIN visit b USING (score)', predicate => 'true'": (
        "42501",
        "population: COUNT(*) has no finite bound",
    ),
    f"{ADHOC}, {PEOPLE}, predicate => 'pid > (SELECT COUNT(*) FROM visit)'": (
        "0A000",
        "predicate: a statement is certified by one count",
    ),
    # What is released below the count would be read in its place.
    f"{ADHOC}, population => 'SELECT score, VARIANCE(score) FROM visit WHERE score IN (3, 4) GROUP BY score', "
    "predicate => 'true'": ("0A000", "population: a statement is certified by one count"),
    f"{ADHOC}, population => 'SELECT kind, STDDEV(score) AS s FROM visit GROUP BY kind', predicate => 's > 1'": (
        "0A000",
        "population: a statement is certified by one count",
    ),
    f"{ADHOC}, {PEOPLE}, predicate => 'grp = ''a''', margin => 'paper'": (
        "0A000",
        "margin paper over a population of private size",
    ),
    "template => 'groups', margin => 'threshold'": ("0A000", "measured together"),
}
CASES = {f"template => 'scores', {k}": v for k, v in BAD.items()} | BAD_STATEMENTS


@pytest.mark.parametrize("arguments", CASES)
def test_bad_input_is_refused_by_name_and_costs_nothing(arguments: str, pipeline: Pipeline) -> None:
    state, text = CASES[arguments]
    with pytest.raises(Dp4sqlError) as caught:
        rows(pipeline, f"{CERTIFY}({arguments})")
    assert text in caught.value.message
    assert caught.value.sqlstate == state
    assert spent(pipeline) == 0


def test_deep_json_is_no_object(pipeline: Pipeline) -> None:
    with pytest.raises(Dp4sqlError, match="argument bind is not a JSON object"):
        rows(pipeline, f"{CERTIFY}(template => 'scores', bind => $1)", "[" * 100_000)


def test_noise_that_drowns_every_count_is_refused(pipeline: Pipeline) -> None:
    claim = "statement => 's', population => 'SELECT * FROM person', predicate => 'pid > 1'"
    spare = "theta => 0.000001, epsilon => 0.000001, mechanism => 'svt', cap => 10000"
    with pytest.raises(Dp4sqlError, match="for one measurement is too little") as caught:
        rows(pipeline, f"{CERTIFY}({claim}, {spare})")
    assert caught.value.sqlstate == "42501"
    assert spent(pipeline) == 0


def test_more_than_the_budget_is_refused_before_anything_is_read(pipeline: Pipeline) -> None:
    with pytest.raises(BudgetExceeded):
        rows(pipeline, f"{CERTIFY}(template => 'scores', epsilon => 20.0)")
    assert spent(pipeline) == 0


def test_a_policy_without_delta_admits_no_gaussian(database: Path, tmp_path: Path) -> None:
    pure = copy.deepcopy(POLICY)
    del pure["certify"]["defaults"]["delta"]
    opened = dp4sql.open_pipeline(
        policy=load_policy(pure), database=f"duckdb:///{database}", ledger=tmp_path / "l"
    )
    with pytest.raises(Dp4sqlError, match="needs a delta, and the policy admits none"):
        rows(opened, f"{CERTIFY}(template => 'scores', mechanism => 'gaussian')")
    asyncio.run(opened.close())


def test_under_zcdp_pure_mechanisms_are_charged_rho_and_gaussian_is_refused(
    database: Path, tmp_path: Path
) -> None:
    content = copy.deepcopy(POLICY)
    content["policies"]["person"] |= {"accountant": "zcdp", "delta": 0.000001}
    opened = dp4sql.open_pipeline(
        policy=content, database=f"duckdb:///{database}", ledger=tmp_path / "l"
    )
    call = f"{CERTIFY}(template => 'scores', theta => 0.2, epsilon => 2.0, mechanism => '%s')"
    with pytest.raises(Dp4sqlError, match="accountant zcdp of policy person cannot add up"):
        rows(opened, call % "gaussian")
    assert spent(opened) == 0
    rows(opened, call % "svt")
    assert Fraction(999, 1000) * 2 < spent(opened) <= 2  # epsilon 2 is rho 2
    asyncio.run(opened.close())
