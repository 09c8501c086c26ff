"""Nonsensical labels are refused by the rule they break (paper sections 5.3 and 6.4)."""

from __future__ import annotations

from typing import Any

import pytest

from dp4sql.policy import load_policy
from dp4sql.policy.labels import Del, Pub, Rep

from .support import problems, the_problem, university


def labelled(**labels: Any) -> dict[str, Any]:
    """The university with other labels under policy student."""
    return university(
        **{f"policies.student.labels.{table}": label for table, label in labels.items()}
    )


def policy(entity: str, labels: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"entity": entity, "epsilon": 1, "labels": labels, **rest}


# ---------------------------------------------------------------- E-Rep, F-Rep, F-Pub


def test_the_example_of_section_5_3() -> None:
    """A DEL entity with a PUB table that refers to it; the paper's two ways out are accepted."""
    content: dict[str, Any] = {
        "tables": {
            "r1": {"key": ["eid"], "columns": {"eid": "integer", "a": "integer"}},
            "r2": {
                "key": ["id"],
                "foreign_keys": {"eid": "r1"},
                "columns": {"id": "integer", "eid": "integer", "b": "integer"},
            },
        },
        "policies": {"p": policy("r1", {"r1": "del", "r2": "pub"})},
    }
    problem = the_problem(content)
    assert problem.rule == "F-Pub"
    assert problem.found == "table r2 is pub under policy p, but its eid refers to r1, which is del"
    assert problem.hint == "label r2 del or {rep: [eid]}, or r1 rep or pub"
    for labels in ({"r1": {"rep": ["a"]}, "r2": "pub"}, {"r1": "del", "r2": {"rep": ["eid"]}}):
        content["policies"]["p"]["labels"] = labels
        assert len(load_policy(content).policies) == 1


def test_f_rep_wants_the_reference_among_the_attributes() -> None:
    problem = the_problem(labelled(enrollment={"rep": ["grade"]}))
    assert problem.rule == "F-Rep"
    assert "table enrollment is rep without uid under policy student" in problem.found
    assert problem.hint == "add uid to its rep list, or label student rep or pub"


@pytest.mark.parametrize(
    ("table", "key", "rule"), [("student", "uid", "E-Rep"), ("enrollment", "eid", "F-Rep")]
)
def test_a_key_is_never_rep(table: str, key: str, rule: str) -> None:
    problem = the_problem(labelled(**{"student": {"rep": ["major"]}, table: {"rep": [key]}}))
    assert problem.rule == rule
    assert f'table {table} is rep "{key}", which is part of its key' in problem.found


def test_a_reference_inside_a_key_needs_del() -> None:
    """Order lines share their order's key: REP cannot cover it."""
    content: dict[str, Any] = {
        "tables": {
            "orders": {"key": ["o"], "columns": {"o": "integer"}},
            "line": {
                "key": ["o", "n"],
                "foreign_keys": {"o": "orders"},
                "columns": {"o": "integer", "n": "integer", "price": "integer"},
            },
        },
        "policies": {"p": policy("orders", {"orders": "del", "line": {"rep": "all"}})},
    }
    problem = the_problem(content)
    assert (problem.rule, problem.hint) == (
        "F-Rep",
        "label line del (a key cannot be rep), or label orders rep or pub",
    )
    content["policies"]["p"]["labels"]["line"] = "pub"
    assert the_problem(content).hint == "label line del, or orders rep or pub"
    content["policies"]["p"]["labels"]["line"] = "del"
    assert load_policy(content).policies[0].labels["line"] == Del()


def test_every_column_of_a_composite_reference_counts() -> None:
    def content(columns: list[str]) -> dict[str, Any]:
        return {
            "tables": {
                "stock": {
                    "key": ["part", "firm"],
                    "columns": {"part": "integer", "firm": "integer"},
                },
                "item": {
                    "key": ["id"],
                    "foreign_keys": [{"columns": ["p", "f"], "references": "stock"}],
                    "columns": {"id": "integer", "p": "integer", "f": "integer"},
                },
            },
            "policies": {"x": policy("stock", {"stock": "del", "item": {"rep": columns}})},
        }

    problem = the_problem(content(["p"]))
    assert (problem.rule, "rep without f" in problem.found) == ("F-Rep", True)
    assert len(load_policy(content(["p", "f"])).policies) == 1


def test_each_of_several_references_to_one_table_counts() -> None:
    content: dict[str, Any] = {
        "tables": {
            "person": {"key": ["id"], "columns": {"id": "integer"}},
            "call": {
                "key": ["id"],
                "foreign_keys": {"caller": "person", "callee": "person"},
                "columns": {"id": "integer", "caller": "integer", "callee": "integer"},
            },
        },
        "policies": {"p": policy("person", {"person": "del", "call": {"rep": ["caller"]}})},
    }
    assert "rep without callee" in the_problem(content).found


def test_a_grandchild_may_be_public_below_rep() -> None:
    """The key of a REP table stays, so references to it may be public."""
    loaded = load_policy(
        {
            "tables": {
                "a": {"key": ["id"], "columns": {"id": "integer"}},
                "b": {
                    "key": ["id"],
                    "foreign_keys": {"a": "a"},
                    "columns": {"id": "integer", "a": "integer"},
                },
                "c": {
                    "key": ["id"],
                    "foreign_keys": {"b": "b"},
                    "columns": {"id": "integer", "b": "integer"},
                },
            },
            "policies": {"p": policy("a", {"a": "del", "b": {"rep": ["a"]}, "c": "pub"})},
        }
    )
    assert loaded.policies[0].labels["c"] == Pub()


def test_labels_without_effect_must_make_sense_too() -> None:
    content = labelled(faculty="del")
    content["policies"]["faculty"]["labels"] = {
        "faculty": "del",
        "section": {"rep": ["fid"]},
        "enrollment": "pub",
    }
    problem = the_problem(content)
    assert problem.rule == "F-Pub"
    assert "section is pub under policy student" in problem.found


# ---------------------------------------------------------------- ownership


def test_every_owned_table_needs_a_label() -> None:
    problem = the_problem(labelled(enrollment=None))
    assert problem.rule == "ownership"
    assert problem.found == (
        "policy student has no label for table enrollment, in which student owns rows"
    )
    assert problem.hint == "add enrollment: del, enrollment: {rep: [...]} or enrollment: pub"


def test_ownership_is_transitive() -> None:
    problem = the_problem(university(**{"policies.faculty.labels.enrollment": None}))
    assert "no label for table enrollment, in which faculty owns rows" in problem.found


def test_a_second_policy_may_leave_tables_out_as_public() -> None:
    content = university(
        **{"policies.salary": policy("faculty", {"faculty": {"rep": ["salary"]}}, epsilon=0.1)}
    )
    salary = load_policy(content).policies[2]
    assert salary.labels == {
        "faculty": Rep(frozenset({"salary"})),
        "section": Pub(),
        "enrollment": Pub(),
    }


def test_the_fuller_policy_may_come_second() -> None:
    content = university()
    content["policies"] = {
        "salary": policy("faculty", {"faculty": {"rep": ["salary"]}}),
        **content["policies"],
    }
    assert [p.name for p in load_policy(content).policies] == ["salary", "student", "faculty"]


def test_two_halves_are_no_whole() -> None:
    """Each policy may look complete beside the other; one of them has to be."""
    content = university(
        **{
            "policies.faculty.labels.enrollment": None,
            "policies.other": policy("faculty", {"faculty": {"rep": "all"}, "enrollment": "pub"}),
        }
    )
    assert [p.rule for p in problems(content)] == ["ownership"]


def test_what_a_second_policy_leaves_out_must_be_fit_to_be_public() -> None:
    content = university(**{"policies.second": policy("student", {"student": "del"})})
    problem = the_problem(content)
    assert problem.rule == "F-Pub"
    assert "table enrollment is left out, hence pub, under policy second" in problem.found


def test_max_owned_is_for_owned_tables() -> None:
    problem = the_problem(university(**{"policies.student.max_owned": {"section": 3}}))
    assert problem.rule == "ownership"
    assert problem.found == "student owns no rows of table section"
    assert problem.hint == "max_owned is for student, enrollment"
    loaded = load_policy(university(**{"policies.student.max_owned": {"enrollment": 3}}))
    assert loaded.policies[0].max_owned == {"enrollment": 3}


# ---------------------------------------------------------------- protection


def without_faculty_policy() -> dict[str, Any]:
    return university(**{"policies.faculty": None})


def test_a_private_table_that_nobody_owns_is_refused() -> None:
    problem = the_problem(without_faculty_policy())
    assert problem.rule == "protection"
    assert problem.found == (
        "table faculty is labelled rep by policy student, but no entity owns it"
    )
    assert problem.hint == "add a policy for faculty, or label it pub"


def test_the_natural_entity_is_the_one_to_add() -> None:
    """Sections hang on faculty, so a policy for faculty would protect them."""
    content = without_faculty_policy()
    content["policies"]["student"]["labels"] = {
        "student": "del",
        "enrollment": "del",
        "section": "del",
    }
    problem = the_problem(content)
    assert "table section is labelled del by policy student" in problem.found
    assert problem.hint == "add a policy for faculty, or label it pub"


def test_the_owners_policy_protects_at_least_as_much() -> None:
    problem = the_problem(university(**{"policies.faculty.labels.faculty": {"rep": ["age"]}}))
    assert problem.rule == "protection"
    assert "the policies of its owner faculty do not protect salary" in problem.found


def test_rep_is_weaker_than_del() -> None:
    content = university(
        **{
            "policies.student.labels.faculty": "del",
            "policies.student.labels.section": {"rep": ["fid"]},
            "policies.faculty.labels.section": {"rep": ["fid"]},
        }
    )
    problem = the_problem(content)
    assert "do not protect the existence of its rows" in problem.found


def test_policies_of_an_owner_protect_together() -> None:
    content = university(
        **{
            "policies.faculty.labels.faculty": {"rep": ["age"]},
            "policies.salary": policy("faculty", {"faculty": {"rep": ["salary"]}}),
        }
    )
    assert len(load_policy(content).policies) == 3


def test_an_owner_may_find_public_what_another_owner_protects() -> None:
    """Enrolments are private for students and public for faculty; both own them."""
    faculty = load_policy(university()).policies[1]
    assert faculty.labels["enrollment"] == Pub()


def test_an_entity_may_be_public_itself() -> None:
    loaded = load_policy(
        university(
            **{
                "policies.student.labels.student": "pub",
                "policies.student.labels.enrollment": {"rep": ["grade"]},
            }
        )
    )
    assert loaded.policies[0].labels["student"] == Pub()


def test_covered_are_the_tables_that_some_policy_names() -> None:
    content = university(**{"tables.log": {"key": ["id"], "columns": {"id": "integer"}}})
    assert load_policy(content).covered == {"student", "faculty", "section", "enrollment"}


def test_public_columns_are_public_under_every_policy() -> None:
    loaded = load_policy(university())
    assert loaded.public_columns("enrollment") == {"eid", "sid"}
    assert loaded.public_columns("student") == frozenset()
    assert loaded.public_columns("section") == {"sid", "fid"}


# ---------------------------------------------------------------- acyclic


def chain(*links: tuple[str, str]) -> dict[str, Any]:
    names = dict.fromkeys(name for link in links for name in link)
    tables = {
        name: {
            "key": ["id"],
            "foreign_keys": {f"to_{b}": b for a, b in links if a == name},
            "columns": {"id": "integer", **{f"to_{b}": "integer" for a, b in links if a == name}},
        }
        for name in names
    }
    return {"tables": tables, "policies": {"p": policy(links[0][1], dict.fromkeys(names, "del"))}}


@pytest.mark.parametrize(
    ("links", "cycle"),
    [
        ([("a", "a")], "a -> a"),
        ([("a", "b"), ("b", "a")], "a -> b -> a"),
        ([("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")], "b -> c -> d -> b"),
    ],
)
def test_cycles_are_named(links: list[tuple[str, str]], cycle: str) -> None:
    problem = the_problem(chain(*links))
    assert problem.rule == "acyclic"
    assert problem.found == f"foreign keys form a cycle: {cycle}"


def test_a_diamond_is_no_cycle() -> None:
    loaded = load_policy(chain(("b", "a"), ("c", "a"), ("d", "b"), ("d", "c")))
    assert set(loaded.policies[0].labels) == {"a", "b", "c", "d"}
