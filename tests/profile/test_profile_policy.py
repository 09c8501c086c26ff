"""Mistakes in the profiles section and in the files it names, each with its place and a hint."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dp4sql
from dp4sql.errors import PolicyError
from dp4sql.policy.profiles.files import SHIPPED, domain_names, find_domain, read_codebook
from tests.profile.toys import FILES, policy, write


def problems(tmp_path, content=None, **files):
    with pytest.raises(PolicyError) as caught:
        dp4sql.load_policy(write(tmp_path, content, **files))
    return caught.value.problems


def changed(**changes):
    content = policy()
    content["profiles"]["vet"] |= changes
    return content


def field(name, **changes):
    content = policy()
    content["profiles"]["vet"]["fields"][name] |= changes
    return content


def relabelled(**labels):
    content = policy()
    content["policies"]["cat"]["labels"] |= labels
    return content


MISTAKES = [
    (changed(entity="dog"), 'entity "dog" is not declared', None),
    (changed(entity="meal"), "no policy protects meal", None),
    (changed(policy="dog"), 'policy "dog" does not protect cat', None),
    (changed(default_policy={"mood": "share"}), "mood is shared, but cat.mood is rep", "Withhold"),
    (
        changed(default_policy={"toy": "withhold"}),
        "toy is withheld, but cat.toy is public",
        "Withhold",
    ),
    (changed(default_policy={"id": "share"}), "is marked as an identifier", "Withhold"),
    (changed(default_policy={"tail": "share"}), 'field "tail" is not declared', None),
    (
        changed(closure=[{"from": "tail", "to": "mood", "score": 1}]),
        'field "tail" is not declared',
        None,
    ),
    (
        changed(closure=[{"from": "toy", "to": "mood", "score": 1.5}]),
        "score is 1.5, not a number from 0 to 1",
        None,
    ),
    (changed(groups=[["mood", "meals"]]), "the group joins fields of cat and meal", None),
    (changed(groups=[["mood", "tail"]]), 'field "tail" is not declared', None),
    (
        changed(prior={"pairs": [{"fields": ["mood", "nick"], "table": "compat/mood_size.csv"}]}),
        "no domain",
        None,
    ),
    (
        changed(prior={"pairs": [{"fields": ["mood", "size"], "table": "compat/none.csv"}]}),
        "does not exist",
        None,
    ),
    (changed(roles="agent"), 'role pattern "agent"', None),
    (changed(color="red"), "color", None),
    (field("mood", column="cat.tail"), 'cat has no column "tail"', None),
    (field("mood", column="dog.tail"), '"dog.tail" names no declared table', None),
    (field("mood", domain="moods"), 'there is no domain "moods"', None),
    (field("mood", domain="../../etc"), 'there is no domain "../../etc"', None),
    (field("size", scores="scores/none.csv"), "does not exist", None),
    (field("mood", scorer="oracle"), "oracle", None),
    (field("mood", scorer="table"), "the scorer table has no file", None),
    (
        field("nick", domain="mood", scorer="lexical", values="public_list"),
        "a public_list without values",
        None,
    ),
    (relabelled(cat="del", meal={"rep": ["cid", "amount"]}), "cat is del", "Existence"),
    (
        relabelled(meal={"rep": ["cid", "amount"]}),
        "which rows of meal are whose is private",
        "Owner",
    ),
]


@pytest.mark.parametrize(("content", "found", "rule"), MISTAKES, ids=[m[1] for m in MISTAKES])
def test_mistakes_in_the_section(tmp_path, content, found, rule):
    reported = problems(tmp_path, content)
    matching = [p for p in reported if found in p.found]
    assert matching, [str(p) for p in reported]
    assert all(p.rule == rule and p.hint for p in matching)
    assert any(p.line > 0 for p in reported)


def test_which_rows_truncation_keeps_is_no_profile():
    """Of the cats with one mood one is kept: who it is tells of the others' moods."""
    cat = {
        "key": ["id"],
        "columns": {"id": "integer", "mood": "text"},
        "max_frequency": {"mood": {"rows": 1, "enforce": "truncate"}},
    }
    content = {
        "dp4sql": 1,
        "tables": {"cat": cat},
        "policies": {"cat": {"entity": "cat", "epsilon": 1, "labels": {"cat": {"rep": ["mood"]}}}},
        "profiles": {"vet": {"entity": "cat", "fields": {"mood": {"column": "cat.mood"}}}},
    }
    with pytest.raises(PolicyError, match="private values decide which rows of cat are kept"):
        dp4sql.load_policy(content)


def test_a_profile_reads_no_rows_that_others_own_as_well():
    """What a guest wrote of a stay is the host's, too: the host would lose it without a charge."""
    note = {
        "key": ["nid"],
        "columns": {"nid": "integer", "cid": "integer", "sid": "integer", "text": "text"},
        "foreign_keys": {"cid": "cat", "sid": "stay"},
        "max_frequency": {"cid": 2, "sid": 2},
    }
    stay = {
        "key": ["sid"],
        "columns": {"sid": "integer", "host": "integer"},
        "foreign_keys": {"host": "cat"},
        "max_frequency": {"host": 2},
    }
    labels = {"cat": "pub", "stay": "pub", "note": {"rep": ["text"]}}
    content = {
        "dp4sql": 1,
        "tables": {
            "cat": {"key": ["id"], "columns": {"id": "integer"}},
            "stay": stay,
            "note": note,
        },
        "policies": {"cat": {"entity": "cat", "epsilon": 1, "labels": labels}},
        "profiles": {"vet": {"entity": "cat", "fields": {"note": {"column": "note.text"}}}},
    }
    with pytest.raises(PolicyError, match="rows of note belong to others, too"):
        dp4sql.load_policy(content)
    del note["foreign_keys"]["sid"]
    dp4sql.load_policy(content)


def test_the_line_is_that_of_the_mistake(tmp_path):
    content = changed(default_policy={"mood": "share"})
    (problem,) = problems(tmp_path, content)
    text = (tmp_path / "policy.yaml").read_text().splitlines()
    assert "mood: share" in text[problem.line - 1]


def test_every_mistake_in_one_run(tmp_path):
    content = changed(default_policy={"mood": "share", "tail": "share"}, groups=[["mood", "meals"]])
    assert len(problems(tmp_path, content)) == 3


@pytest.mark.parametrize(
    ("file", "text", "line", "found"),
    [
        ("codebooks/mood.csv", "value,code\nhappy,up\nsad,gray\n", 3, 'code "gray" is not in domain mood'),
        ("codebooks/mood.csv", "value,code\nhappy,up\nHappy,up\n", 3, 'value "happy" stands twice'),
        ("codebooks/mood.csv", "word,code\nhappy,up\n", 1, "the header word,code"),
        ("codebooks/mood.csv", "value,code\nhappy,up,1\n", 2, "3 cells"),
        ("codebooks/mood.csv", "# nothing\n", 0, "codebooks/mood.csv: the file has no rows"),
        ("scores/size.csv", FILES["scores/size.csv"].replace("0.9\n", "1.9\n"), 2, '"1.9" is not a score'),
        ("scores/size.csv", "value,code,score\ntiny,S,1\n", 0, 'value "tiny" has no score for code M'),
        ("compat/mood_size.csv", "mood,S,M,L\nup,1,1,1\n", 0, "no entry for mood down with size S"),
        ("compat/mood_size.csv", "mood,S,M\nup,1,1\ndown,1,1\n", 0, "no entry for mood up with size L"),
        ("domains/mood.yaml", FILES["domains/mood.yaml"].replace("down", "up"), 8, 'code "up" stands twice'),
        ("domains/mood.yaml", FILES["domains/mood.yaml"].replace("verified: true\n", ""), 1, "verified"),
        ("domains/mood.yaml", "name: mood\ncategories: [\n", 3, "not YAML"),
    ],
)  # fmt: skip
def test_mistakes_in_other_files_name_file_and_line(tmp_path, file, text, line, found):
    reported = problems(tmp_path, **{file: text})
    problem = next(p for p in reported if found in p.found)
    if line:
        assert (Path(problem.file).name, problem.line) == (Path(file).name, line)
    else:
        assert Path(problem.file).name == "policy.yaml"
        assert Path(file).name in problem.found


def test_a_codebook_with_holes(tmp_path):
    """The column's declared values need an answer each, from the codebook or from a scorer behind it."""
    content = policy()
    content["tables"]["cat"]["columns"]["mood"] = {
        "type": "text",
        "domain": ["happy", "sad", "cross"],
    }
    (problem,) = problems(tmp_path, content)
    assert problem.found == 'no scorer of mood knows "cross" from the column\'s domain'
    content["profiles"]["vet"]["fields"]["mood"]["scorer"] = ["codebook", "lexical"]
    mood = dp4sql.load_policy(write(tmp_path, content)).extras["profiles"]["vet"].fields["mood"]
    assert mood.values == ("happy", "sad", "cross")


def test_several_policies_of_the_entity_need_a_choice(tmp_path):
    content = policy()
    content["policies"]["strict"] = {**content["policies"]["cat"], "epsilon": 1}
    assert "several policies protect cat" in problems(tmp_path, content)[0].found
    content["profiles"]["vet"]["policy"] = "strict"
    vet = dp4sql.load_policy(write(tmp_path, content)).extras["profiles"]["vet"]
    assert (vet.policy, vet.policies) == ("strict", ("cat", "strict"))


def test_what_another_policy_protects_cannot_be_shared(tmp_path):
    content = policy()
    content["policies"]["toys"] = {
        "entity": "cat", "epsilon": 1, "labels": {"cat": {"rep": ["toy"]}, "meal": "pub"},
    }  # fmt: skip
    content["profiles"]["vet"]["policy"] = "cat"
    (problem,) = problems(tmp_path, content)
    assert problem.found == "cat.toy is private, but not under cat"


# ---------------------------------------------------------------- what is shipped


def test_the_shipped_policy_loads():
    assistant = dp4sql.load_policy(SHIPPED / "people.yaml").extras["profiles"]["assistant"]
    assert assistant.fields["work"].private
    assert not assistant.fields["occupation"].private


@pytest.mark.parametrize("name", domain_names(SHIPPED))
def test_shipped_domains_have_a_source_and_a_codebook(name):
    domain = find_domain(SHIPPED, name)
    assert domain.source
    codebook = read_codebook(SHIPPED / "codebooks" / f"{name}.csv", domain)
    assert set(codebook.values()) == set(range(len(domain.codes)))


def test_m49_parents_are_regions():
    regions = find_domain(SHIPPED, "m49_regions").codes
    subregions = find_domain(SHIPPED, "m49_subregions").categories
    assert {c.parent for c in subregions} == set(regions)
    assert all(re.fullmatch(r"\d{3}", c.code) for c in subregions)


def test_files_beside_the_policy_come_first(tmp_path):
    own = FILES["domains/mood.yaml"].replace("name: mood", "name: isco08")
    write(tmp_path, **{"domains/isco08.yaml": own})
    assert find_domain(Path(tmp_path), "isco08").codes == ("up", "down")
    assert len(find_domain(Path(tmp_path), "isced2011").codes) == 9
