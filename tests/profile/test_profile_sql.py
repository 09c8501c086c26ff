"""The profile functions in SQL: answers, charges, reuse, roles, refusals; nothing charged for a mistake."""

from __future__ import annotations

import asyncio
from fractions import Fraction

import duckdb
import pytest

import dp4sql
from dp4sql.budget.cost import show
from dp4sql.errors import BudgetExceeded, Dp4sqlError, InvalidParameter, Refused, UndefinedFunction
from dp4sql.mechanisms.profile import embedding
from dp4sql.settings import Settings
from tests.profile.cats import CERTAIN, ask, opened, release, spent
from tests.profile.toys import policy

# ---------------------------------------------------------------- answers


def test_the_best_categories_when_epsilon_is_huge(certain):
    found = release(
        certain, f"entity => 'c1', epsilon => {CERTAIN}", "entity_label, field, action, value, code"
    )
    assert found.rows == [
        ("cat", "id", "suppressed", "[withheld]", None),
        ("cat", "nick", "suppressed", "[withheld]", None),
        ("cat", "toy", "sampled", "cheerful", "up"),
        ("cat", "mood", "sampled", "cheerful", "up"),
        ("cat", "size", "sampled", "large", "L"),
        ("meal 1", "meals", "sampled", "small", "S"),
        ("meal 2", "meals", "sampled", "large", "L"),
        ("meal 3", "meals", "sampled", "medium", "M"),
    ]


def test_slot_copies_what_is_shared(certain):
    found = release(
        certain,
        f"entity => 'c2', mechanism => 'slot', epsilon => {CERTAIN}",
        "field, action, value",
    )
    assert ("toy", "copied", "sad") in found.rows
    assert ("mood", "sampled", "gloomy") in found.rows


def test_null_is_copied_as_null_and_sampled_like_anything(pipeline):
    found = release(pipeline, "entity => 'c3', mechanism => 'slot'", "field, action, value").rows
    assert ("toy", "copied", None) in found
    assert {value for field, _, value in found if field == "mood"} <= {"cheerful", "gloomy"}
    assert not [row for row in found if row[0] == "meals"]


def test_only_named_fields_are_sampled_and_the_others_are_never_shared(certain):
    found = release(
        certain,
        f"entity => 'c1', withhold => ARRAY['mood'], epsilon => {CERTAIN}",
        "field, action, because",
    )
    assert ("mood", "sampled", None) in found.rows
    assert ("size", "suppressed", "not asked for") in found.rows
    assert ("toy", "sampled", "toy tells of mood (0.8)") in found.rows


def test_losses_add_up_to_the_charge(pipeline):
    found = release(pipeline, "entity => 'c1', epsilon => 2", "loss_exact, loss_bound, epsilon")
    exact = sum(row[0] for row in found.rows if row[0] is not None)
    assert Fraction(exact) == pytest.approx(float(spent(pipeline, "c1")), abs=0.0006)
    assert sum(row[2] for row in found.rows if row[2] is not None) == pytest.approx(2, abs=0.001)


def test_the_rest_of_the_statement_is_post_processing(certain):
    call = f"dp4sql.release_profile(entity => 'c1', epsilon => {CERTAIN})"
    found = ask(
        certain,
        f"WITH r AS (SELECT * FROM {call}) SELECT d.title, COUNT(*) AS n FROM r "
        "JOIN dp4sql.public_domain('size') AS d ON d.code = r.code "
        "WHERE r.field = 'meals' GROUP BY d.title HAVING COUNT(*) > 0 ORDER BY 1 LIMIT 2",
    )
    assert found.rows == [("large", 1), ("medium", 1)]
    assert spent(certain, "c1") < CERTAIN


def test_private_tables_stay_private_beside_a_call(pipeline):
    call = "dp4sql.release_profile(entity => 'c1')"
    for sql in (
        f"SELECT c.mood FROM cat c JOIN {call} r ON r.field = 'mood'",
        f"SELECT COUNT(*) FROM cat WHERE mood IN (SELECT value FROM {call})",
    ):
        with pytest.raises(Refused):
            ask(pipeline, sql)
    assert spent(pipeline) == 0


def test_plan_and_domains_cost_nothing_and_agree_with_the_release(pipeline):
    plan = ask(
        pipeline, "SELECT field, policy, action, calibration FROM dp4sql.profile_plan(epsilon => 2)"
    ).rows
    assert plan[4] == ("size", "withheld", "sampled", "exact")
    assert plan[5] == ("meals", "withheld", "sampled", "universal")
    domain = ask(pipeline, "SELECT code, title, verified FROM dp4sql.public_domain('mood')").rows
    assert domain == [("up", "cheerful", True), ("down", "gloomy", True)]
    assert spent(pipeline) == 0
    released = release(pipeline, "entity => 'c2', epsilon => 2", "field, policy, action").rows
    assert released == [row[:3] for row in plan]


def test_explain_prices_without_charging(pipeline):
    text = pipeline.explain("SELECT * FROM dp4sql.release_profile(entity => 'c1', epsilon => 2)")
    assert "mood: withheld, sampled in block 2, exact" in text
    assert "price at most (epsilon): cat 1." in text
    assert spent(pipeline) == 0


# ---------------------------------------------------------------- text for a prompt


def test_compose_renders_the_same_release(certain):
    arguments = f"entity => 'c1', epsilon => {CERTAIN}"
    compose = "SELECT prompt, reused FROM dp4sql.compose_profile({}, template => $1, format => $2)"
    first = ask(
        certain,
        compose.format(arguments),
        "Mood {mood}, meals {meals}. {{{profile}}}",
        "structured",
    )
    assert first.rows[0][0] == (
        "Mood cheerful, meals small; large; medium. {nick: [withheld]\ntoy: cheerful\nmood: cheerful\n"
        "size: large\nmeals (meal 1): small\nmeals (meal 2): large\nmeals (meal 3): medium}"
    )
    second = ask(certain, compose.format(arguments), "{profile}", "freeform")
    assert second.rows == [
        (
            "The toy is cheerful. The mood is cheerful. The size is large. The meals (meal 1) is small. "
            "The meals (meal 2) is large. The meals (meal 3) is medium.",
            True,
        )
    ]


def test_what_compose_leaves_out_is_as_in_the_newest_release(pipeline):
    compose = "SELECT release_id, reused FROM dp4sql.compose_profile(entity => 'c1'{})"
    releases = [
        release(pipeline, f"entity => 'c1', {arguments}", "release_id").rows[0][0]
        for arguments in ("epsilon => 3, withhold => ARRAY['mood']", "epsilon => 2")
    ]
    charged = spent(pipeline, "c1")
    newest = ask(pipeline, compose.format(""))
    assert newest.rows == [(releases[1], True)]
    assert "a stored release (epsilon 2) is shown again" in newest.notices[0]
    older = ask(pipeline, compose.format(", epsilon => 3, withhold => ARRAY['mood']"))
    assert older.rows == [(releases[0], True)]
    assert ask(pipeline, compose.format(", mechanism => 'block'")).rows == newest.rows
    assert spent(pipeline, "c1") == charged


@pytest.mark.parametrize(
    "arguments",
    [", epsilon => 2.5", ", mechanism => 'slot'", ", withhold => ARRAY['size']", ", fresh => true"],
)
def test_compose_draws_where_the_newest_release_is_another_one(pipeline, arguments):
    release(pipeline, "entity => 'c1', epsilon => 2", "release_id")
    charged = spent(pipeline, "c1")
    call = f"dp4sql.compose_profile(entity => 'c1'{arguments})"
    assert ask(pipeline, f"SELECT reused FROM {call}").rows == [(False,)]
    assert spent(pipeline, "c1") > charged


def test_compose_shows_no_release_of_another_entity(pipeline):
    release(pipeline, "entity => 'c1', epsilon => 2", "release_id")
    call = "dp4sql.compose_profile(entity => 'c2')"
    assert ask(pipeline, f"SELECT reused FROM {call}").rows == [(False,)]


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("{tail}", "placeholder"),
        ("{mood", "brace"),
        ("{mood:>9}", "formats"),
        ("{mood.__class__}", "placeholder"),
    ],
)
def test_templates_are_checked_before_the_charge(pipeline, template, found):
    with pytest.raises(InvalidParameter, match=found):
        ask(
            pipeline,
            "SELECT * FROM dp4sql.compose_profile(entity => 'c1', template => $1)",
            template,
        )
    assert spent(pipeline) == 0


# ---------------------------------------------------------------- charges and reuse


def test_a_stored_release_is_shown_again_for_free(pipeline):
    first = release(
        pipeline, "entity => 'c1', epsilon => 2, purpose => 'letter'", "value, release_id"
    )
    charged = spent(pipeline, "c1")
    again = release(
        pipeline, "entity => 'c1', epsilon => 2, purpose => 'travel'", "value, release_id"
    )
    assert again.rows == first.rows
    assert spent(pipeline, "c1") == charged > 0
    assert "shown again" in again.notices[0]
    fresh = release(pipeline, "entity => 'c1', epsilon => 2, fresh => true", "release_id, reused")
    assert spent(pipeline, "c1") == 2 * charged
    assert {row[1] for row in fresh.rows} == {False}


def test_purposes_are_recorded(pipeline):
    release(pipeline, "entity => 'c1', epsilon => 2, purpose => 'letter'", role="ann")
    release(pipeline, "entity => 'c1', epsilon => 2, purpose => 'travel'", role="bob")
    uses = [use[1:] for use in pipeline._kept.uses()]
    assert uses == [("ann", "letter", False), ("bob", "travel", True)]


def test_a_release_survives_a_restart(tmp_path, database):
    rows = []
    for _ in range(2):
        pipeline = opened(tmp_path, database)
        rows.append(release(pipeline, "entity => 'c1', epsilon => 2", "value, release_id").rows)
        asyncio.run(pipeline.close())
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    "change",
    ["epsilon => 1", "epsilon => 2, mechanism => 'rr'", "epsilon => 2, withhold => '{mood}'"],
)
def test_another_request_is_another_release(pipeline, change):
    release(pipeline, "entity => 'c1', epsilon => 2")
    found = release(pipeline, f"entity => 'c1', {change}", "reused")
    assert {row[0] for row in found.rows} == {False}


def test_new_rows_are_another_release(tmp_path, database):
    first = opened(tmp_path, database)
    release(first, "entity => 'c2', epsilon => 2")
    asyncio.run(first.close())
    with duckdb.connect(database.removeprefix("duckdb:///")) as db:
        db.execute("INSERT INTO meal VALUES (9, 'c2', 'small')")
    second = opened(tmp_path, database)
    assert release(second, "entity => 'c2', epsilon => 2", "reused").rows[0] == (False,)
    asyncio.run(second.close())


def test_each_entity_has_its_own_account(pipeline):
    release(pipeline, "entity => 'c1', epsilon => 8")
    release(pipeline, "entity => 'c2', epsilon => 8")
    assert spent(pipeline, "c1") < 10
    with pytest.raises(BudgetExceeded):
        release(pipeline, "entity => 'c1', epsilon => 8, fresh => true")
    count = "SELECT COUNT(*) FROM cat WHERE mood = '{}'"
    ask(pipeline, count.format("sad"))
    ask(pipeline, count.format("happy"))
    with pytest.raises(BudgetExceeded):
        ask(pipeline, count.format("cross"))
    assert 9 < spent(pipeline, "c1") <= 10


def test_a_profile_budget_leaves_the_rest_to_other_queries(tmp_path, database):
    content = policy()
    content["profiles"]["vet"]["budget"] = 3
    pipeline = opened(tmp_path, database, content)
    told = release(pipeline, "entity => 'c1', epsilon => 3").notices
    left = 3 - spent(pipeline, "c1")
    assert f"the profile budget of one cat has {show(left)} of 3 left" in told
    with pytest.raises(BudgetExceeded, match="the profile budget of one cat"):
        release(pipeline, "entity => 'c1', epsilon => 3, fresh => true")
    asyncio.run(pipeline.close())


def test_every_policy_that_protects_a_field_is_charged(tmp_path, database):
    content = policy()
    content["policies"]["strict"] = {**content["policies"]["cat"], "budget": 2}
    content["profiles"]["vet"]["policy"] = "cat"
    pipeline = opened(tmp_path, database, content)
    with pytest.raises(BudgetExceeded, match="policy strict"):
        release(pipeline, "entity => 'c1', epsilon => 8")
    assert spent(pipeline, "c1") == 0
    asyncio.run(pipeline.close())


def test_suppression_is_free(pipeline):
    found = release(pipeline, "entity => 'c1', mechanism => 'suppress'", "action, release_id")
    assert set(found.rows) == {("suppressed", None)}
    assert spent(pipeline) == 0


def test_max_charge_covers_calls(pipeline):
    limit = Settings(max_charge=Fraction(1))
    with pytest.raises(BudgetExceeded, match="max_charge"):
        ask(
            pipeline,
            "SELECT * FROM dp4sql.release_profile(entity => 'c1', epsilon => 2)",
            settings=limit,
        )


def test_the_session_epsilon_is_the_default(pipeline):
    asked = Settings(epsilon=Fraction(1, 2))
    ask(pipeline, "SELECT * FROM dp4sql.release_profile(entity => 'c1')", settings=asked)
    assert 0 < spent(pipeline, "c1") <= Fraction(1, 2)


# ---------------------------------------------------------------- roles and mistakes


@pytest.mark.parametrize("roles", ["agent_{entity}", {"agent_c1": "c1"}])
def test_a_role_may_be_bound_to_its_entity(tmp_path, database, roles):
    content = policy()
    content["profiles"]["vet"]["roles"] = roles
    pipeline = opened(tmp_path, database, content)
    release(pipeline, "entity => 'c1'", role="agent_c1")
    texts = set()
    for entity in ("c2", "no such cat"):
        with pytest.raises(Refused) as caught:
            release(pipeline, f"entity => '{entity}'", role="agent_c1")
        texts.add(caught.value.message)
    assert len(texts) == 1
    assert spent(pipeline, "c2") == 0
    asyncio.run(pipeline.close())


def test_an_entity_has_one_account_however_its_key_is_spelled(tmp_path):
    content = policy()
    content["tables"]["cat"]["columns"]["id"] = "numeric(5,2)"
    content["tables"]["meal"]["columns"]["cid"] = "numeric(5,2)"
    content["profiles"]["vet"]["roles"] = "agent_{entity}"
    path = tmp_path / "cats.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE cat (id DECIMAL(5,2), nick TEXT, toy TEXT, mood TEXT, size TEXT)")
        db.execute("CREATE TABLE meal (mid INTEGER, cid DECIMAL(5,2), amount TEXT)")
        db.execute("INSERT INTO cat VALUES (7, 'Tom', 'happy', 'happy', 'huge')")
    pipeline = opened(tmp_path, f"duckdb:///{path}", content)
    reused = [
        release(pipeline, f"entity => {key}", "reused", role="agent_7.00").rows[0][0]
        for key in ("7", "7.0", "'7.00'", "007")
    ]
    assert reused == [False, True, True, True]
    assert spent(pipeline, "7.00") > 0
    with pytest.raises(Refused, match="may not release"):
        release(pipeline, "entity => 7", role="agent_7")
    asyncio.run(pipeline.close())


@pytest.mark.parametrize(
    ("arguments", "error", "found"),
    [
        ("entity => 'no such cat'", InvalidParameter, "no row of cat has the key"),
        ("", InvalidParameter, "argument entity is missing"),
        ("entity => NULL", InvalidParameter, "argument entity is missing"),
        ("entity => 'c1', profile => 'vets'", InvalidParameter, 'there is no profile "vets"'),
        ("entity => 'c1', withhold => ARRAY['tail']", InvalidParameter, 'no field "tail"'),
        ("entity => 'c1', withhold => ARRAY['toy']", Refused, "toy cannot be withheld"),
        ("entity => 'c1', epsilon => 0", InvalidParameter, "epsilon is 0"),
        ("entity => 'c1', epsilon => -1.5", InvalidParameter, "epsilon is -1.5"),
        ("entity => 'c1', epsilon => 10001", InvalidParameter, "epsilon is 10001"),
        ("entity => 'c1', epsilon => 'NaN'", Dp4sqlError, "NaN"),
        ("entity => 'c1', epsilon => 'Infinity'", Dp4sqlError, "Infinity"),
        ("entity => 'c1', epsilon => 1e300", InvalidParameter, "epsilon is 1E.300"),
        ("entity => 'c1', epsilon => 1e-300", InvalidParameter, "argument epsilon is 1E-300"),
        ("entity => 'c1', epsilon => 'much'", Dp4sqlError, "invalid input syntax"),
        ("entity => 'c1', epsilon => true", Dp4sqlError, "epsilon is of type numeric"),
        ("entity => 'c1', mechanism => 'laplace'", InvalidParameter, 'mechanism is "laplace"'),
        ("entity => 'c1', calibration => 'none'", InvalidParameter, 'calibration is "none"'),
        (
            "entity => 'c1', calibration => 'exact'",
            InvalidParameter,
            "cannot enumerate the values of meals",
        ),
        (
            "entity => 'c1', mechanism => 'rr', calibration => 'paper'",
            InvalidParameter,
            "mechanism rr",
        ),
        ("entity => 'c1', entity => 'c2'", Dp4sqlError, "entity is given twice"),
        ("entity => id", Dp4sqlError, "id"),
        ("entity => 'c1', 2", Dp4sqlError, "without a name"),
        ("entity => 'c1', budget => 2", UndefinedFunction, "no argument budget"),
        ("entity => upper('c1')", InvalidParameter, "not a constant"),
    ],
)
def test_mistakes_are_named_and_free(pipeline, arguments, error, found):
    with pytest.raises(error, match=found):
        release(pipeline, arguments)
    assert spent(pipeline) == 0
    assert pipeline.ledger.entries()[-1].kind == "open"


def test_unknown_functions_and_domains(pipeline):
    with pytest.raises(UndefinedFunction) as caught:
        ask(pipeline, "SELECT * FROM dp4sql.relese_profile(entity => 'c1')")
    assert "dp4sql.release_profile" in caught.value.hint
    with pytest.raises(UndefinedFunction):
        ask(pipeline, "SELECT * FROM generate_subscripts(1, 2)")
    with pytest.raises(InvalidParameter, match='no domain "moods"'):
        ask(pipeline, "SELECT * FROM dp4sql.public_domain('moods')")


@pytest.mark.parametrize("package", [embedding.PACKAGE, "a_package_that_is_not_installed"])
def test_a_missing_sentence_model_shows_before_the_charge(tmp_path, database, monkeypatch, package):
    content = policy()
    content["profiles"]["vet"]["fields"]["meals"]["scorer"] = ["codebook", "embedding"]
    monkeypatch.setattr(embedding, "PACKAGE", package)
    embedding.model.cache_clear()
    pipeline = opened(tmp_path, database, content)
    if embedding.available():
        assert release(pipeline, "entity => 'c1'", "field").rows[-1] == ("meals",)
    else:
        with pytest.raises(InvalidParameter, match="scorer embedding needs packages"):
            release(pipeline, "entity => 'c1'")
        assert spent(pipeline) == 0
    asyncio.run(pipeline.close())


def test_a_policy_without_profiles_says_so(tmp_path, database):
    content = policy()
    del content["profiles"]
    pipeline = opened(tmp_path, database, content)
    with pytest.raises(InvalidParameter, match="the policy has no profiles"):
        release(pipeline, "entity => 'c1'")
    asyncio.run(pipeline.close())


def test_a_failure_after_the_charge_is_visible(pipeline, monkeypatch):
    """The private read fails: the charge stays, and its query is marked as failed."""
    asyncio.run(pipeline.start())
    read, calls = pipeline.backend.read, []

    def failing(cursor, sql):
        calls.append(sql)
        if '"mood"' in sql:
            raise dp4sql.errors.EngineError("the database went away")
        return read(cursor, sql)

    monkeypatch.setattr(pipeline.backend, "read", failing)
    with pytest.raises(dp4sql.errors.EngineError):
        release(pipeline, "entity => 'c1', epsilon => 2")
    assert [e.kind for e in pipeline.ledger.entries()][-2:] == ["charge", "failed"]
    assert calls


def test_nothing_private_is_read_before_the_charge(pipeline, monkeypatch):
    asyncio.run(pipeline.start())
    read, seen = pipeline.backend.read, []

    def watching(cursor, sql):
        seen.append((sql, spent(pipeline, "c1") > 0))
        return read(cursor, sql)

    monkeypatch.setattr(pipeline.backend, "read", watching)
    release(pipeline, "entity => 'c1', epsilon => 2")
    private = ('"mood"', '"size"', '"nick"', '"amount"')
    before = [sql for sql, charged in seen if not charged]
    after = [sql for sql, charged in seen if charged]
    assert before
    assert not any(column in sql for sql in before for column in private)
    assert any('"mood"' in sql for sql in after)
    assert not any('"nick"' in sql for sql, _ in seen)
