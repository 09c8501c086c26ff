"""Each mistake is one problem that says where it is, what was found and what would work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from dp4sql.errors import PolicyError
from dp4sql.policy import FileModel, Lines, load_policy, validate_section

from .support import problems, the_problem, university

HEAD = "tables: {t: {key: [k], columns: {k: integer}}}\n"
TAIL = "policies: {p: {entity: t, epsilon: 1, labels: {t: del}}}\n"


def column(**entries: Any) -> dict[str, Any]:
    return university(**{"tables.student.columns.major": entries})


@pytest.mark.parametrize(
    ("content", "found", "hint"),
    [
        (university(tabels={}), 'unknown key "tabels"', '"tables"'),
        (university(**{"tables.student.rwos": 5}), 'unknown key "rwos"', '"rows"'),
        (column(type="text", rnage=[1, 2]), 'unknown key "rnage"', '"range"'),
        (university(dp4sql=2), "dp4sql is 2, not 1", "version"),
        (university(data={"refreshed": "yearly"}), 'refreshed is "yearly"', "weekly"),
        (university(data={}), '"refreshed" is missing', "monthly"),
        (university(**{"tables.student.rows": 0}), "rows is 0, not 1 or more", "largest size"),
        (university(**{"tables.student.rows": True}), "rows is true, not a whole number", "size"),
        (university(**{"tables.student.rows": "5"}), 'rows is "5", not a whole number', "size"),
        (university(**{"tables.student.key": "uid"}), 'key is "uid", not a list', "primary key"),
        (university(**{"tables.student.key": []}), "the key of student is empty", "row number"),
        (university(**{"tables.student.key": ["uid", "uid"]}), '"uid" twice', "once"),
        (university(**{"tables.student.key": ["uidd"]}), 'no column "uidd"', '"uid"'),
        (university(**{"tables.student.comment": 5}), "comment is 5, not text", "analysts"),
        (column(), '"type" is missing', "add type: a Postgres type"),
        (column(type="integr"), 'type is "integr"', "integer"),
        (column(type="text", nullable="yes"), 'nullable is "yes", not true or false', "NULL"),
        (
            university(**{"tables.student.columns.uid": {"type": "integer", "nullable": True}}),
            "student.uid is nullable, but part of the key",
            "remove nullable",
        ),
    ],
)
def test_tables(content: dict[str, Any], found: str, hint: str) -> None:
    problem = the_problem(content)
    assert found in problem.found
    assert hint in problem.found + problem.hint
    assert (problem.file, problem.line) == ("<mapping>", 0)


@pytest.mark.parametrize(
    ("content", "found", "hint"),
    [
        (column(type="text", range=[1, 2]), "a range on a column of type text", "domain"),
        (column(type="integer", range=[2, 1]), "the range [2, 1] is empty", "lower end first"),
        (column(type="integer", range=[1]), "range is [1], not a list of at least 2", "[lowest"),
        (column(type="integer", range=["a", 1]), 'range end "a"', "a number"),
        (column(type="integer", range=[True, 1]), "range end true", "a number"),
        (column(type="date", range=["1990-1-1", "1990-12-31"]), '"1990-1-1"', "1995-03-15"),
        (column(type="numeric", range=[0, float("inf")]), "too large", "digits"),
        (column(type="integer", unit=0), "unit is 0, not a number above 0", "cents"),
        (column(type="text", unit=1), "a unit on a column of type text", "numbers"),
        (column(type="integer", domain=[]), "the domain is empty", "at least one"),
        (column(type="integer", domain=[1, 1]), "lists 1 twice", "once"),
        (column(type="integer", domain=[1, "x"]), 'domain value "x"', "a whole number"),
        (column(type="integer", domain=[1, True]), "domain value true", "a whole number"),
        (column(type="smallint", domain=[70000]), "domain value 70000", "32767"),
        (column(type="text", domain=["a", 1]), "domain value 1", "quotes"),
        (column(type="boolean", domain=[1]), "domain value 1", "true or false"),
        (column(type="interval", domain=["1 day"]), 'domain value "1 day"', "another type"),
        (column(type="text", domain={"from": 1, "to": 2}), "{from, to} in a column", "list"),
        (column(type="integer", domain={"from": 2, "to": 1}), "from 2 to 1 is empty", "lower"),
        (column(type="integer", domain={"from": 1, "to": 10**7}), "of 10000000 values", "IN"),
        (column(type="integer", domain={"from": 1}), '"to" is missing', "last whole number"),
        (column(type="integer", domain="a"), 'domain is "a", not a list', "bins"),
        (column(type="integer", domain=[9], range=[1, 5]), "9 is outside the range", "widen"),
        (column(type="text", other="x"), "other without a domain", "declare the domain"),
        (column(type="text", domain=["a"], other="a"), 'other "a" is in the domain', "outside"),
    ],
)
def test_columns(content: dict[str, Any], found: str, hint: str) -> None:
    problem = the_problem(content)
    assert found in problem.found
    assert hint in problem.hint


def enrollment(**changes: Any) -> dict[str, Any]:
    return university(**{f"tables.enrollment.{place}": value for place, value in changes.items()})


@pytest.mark.parametrize(
    ("content", "found", "hint"),
    [
        (
            enrollment(foreign_keys={"sid": "section", "uid": "studnt"}),
            'uid of enrollment refers to the undeclared table "studnt"',
            '"student"',
        ),
        (
            enrollment(foreign_keys={"sid": "section", "uid": "student", "x": "student"}),
            'table enrollment has no column "x"',
            "known here",
        ),
        (
            enrollment(foreign_keys=[{"columns": ["sid", "uid"], "references": "student"}]),
            "(sid, uid) of enrollment refers to student, whose key is (uid)",
            "as many columns",
        ),
        (
            enrollment(foreign_keys=[{"columns": ["uid"]}]),
            '"references" is missing',
            "the table referred to",
        ),
        (enrollment(**{"columns.uid": "text"}), "uid is text, but refers to uid", "one type"),
        (enrollment(max_frequency={"uid": 0}), "max_frequency.uid is 0, not 1 or more", "most"),
        (enrollment(max_frequency={"udi": 1}), 'no column "udi"', '"uid"'),
        (
            enrollment(max_frequency=[{"columns": ["uid", "sidd"], "rows": 2}]),
            'no column "sidd"',
            '"sid"',
        ),
        (
            enrollment(max_frequency={"uid": {"rows": 3, "enforce": "cut"}}),
            'enforce is "cut", not trust or truncate',
            "truncate",
        ),
    ],
)
def test_references_and_frequencies(content: dict[str, Any], found: str, hint: str) -> None:
    problem = the_problem(content)
    assert found in problem.found
    assert hint in problem.hint


def student(**changes: Any) -> dict[str, Any]:
    return university(**{f"policies.student.{place}": value for place, value in changes.items()})


@pytest.mark.parametrize(
    ("content", "found", "hint"),
    [
        (student(epsilon=0), "epsilon is 0, not a number above 0", "such as 1.0"),
        (student(epsilon="1"), 'epsilon is "1", not a number', "such as 1.0"),
        (student(epsilon=True), "epsilon is true, not a number", "such as 1.0"),
        (student(epsilon=float("nan")), "a number too large or too small", "digits"),
        (student(budget=0.5), "budget 0.5 is below epsilon 1", "raise the budget"),
        (student(entity=None), '"entity" is missing', "the table whose rows"),
        (student(max_owned={"enrollment": 0}), "max_owned.enrollment is 0", "most rows"),
        (student(max_owned={"enrolment": 5}), 'table "enrolment" is not', '"enrollment"'),
        (student(**{"labels.section": "public"}), 'labels.section is "public"', "del, pub"),
        (student(**{"labels.section": {"rep": []}}), "rep is [], not a list of", "all"),
        (student(**{"labels.section": {"rep": "each"}}), 'rep is "each", not all', "all"),
        (student(**{"labels.sction": "pub"}), 'table "sction" is not declared', '"section"'),
    ],
)
def test_policies(content: dict[str, Any], found: str, hint: str) -> None:
    problem = the_problem(content)
    assert found in problem.found
    assert hint in problem.hint


def test_an_unknown_entity_is_named() -> None:
    problem = the_problem(student(entity="studnt"))
    assert (problem.found, problem.hint) == (
        'table "studnt" is not declared',
        'perhaps "student" is meant',
    )


def test_a_truncation_under_which_rows_move_bounds_nothing() -> None:
    problem = the_problem(enrollment(max_frequency={"uid": {"rows": 3, "enforce": "truncate"}}))
    assert "any number of its rows may move" in problem.found
    assert problem.line == 0


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ({**university(), "policies": {}}, "no policy"),
        ({**university(), "tables": {}}, "no table"),
        ({"policies": university()["policies"]}, '"tables" is missing'),
        ({}, '"tables" is missing'),
    ],
)
def test_empty_sections(content: dict[str, Any], found: str) -> None:
    assert found in [problem.found for problem in problems(content)]


# ---------------------------------------------------------------- files


def written(folder: Path, text: str) -> Path:
    path = folder / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("tables: {\n", 2, "not YAML"),
        ("tables:\n\tt: 1\n", 2, "not YAML"),
        ("", 1, '"tables" is missing'),
        ("- a\n- b\n", 1, "the content is"),
        (HEAD + TAIL + "policies: {}\n", 3, 'key "policies" stands twice'),
        (HEAD + "1: x\n" + TAIL, 2, "key 1 is not text"),
        (HEAD + TAIL + "comment: !!python/name:os.system x\n", 3, "the tag"),
        (HEAD + TAIL + "comment: &a {again: *a}\n", 3, "an alias that holds itself"),
        (HEAD + TAIL + "---\n" + TAIL, 3, "not YAML"),
        (HEAD + TAIL + "comment: \x01\n", 1, "not YAML"),
        (
            HEAD
            + "policies:\n  p:\n    entity: t\n    epsilon: 1e999999999\n    labels: {t: del}\n",
            5,
            "a number too large",
        ),
        (HEAD + TAIL + f"data_version: {'9' * 5000}\n", 3, "a number too large"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, text: str, line: int, found: str) -> None:
    path = written(tmp_path, text)
    reported = [(p.file, p.line) for p in problems(path) if found in p.found]
    assert reported == [(str(path), line)]


def test_a_missing_file(tmp_path: Path) -> None:
    problem = the_problem(tmp_path / "none.yaml")
    assert problem.found == "the file cannot be read (No such file or directory)"


def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_bytes("comment: Größe\n".encode("latin-1"))
    assert the_problem(path).found == "the file is not UTF-8 text"


MANY = """\
dp4sql: 1
tables:
  student:
    key: [uid]
    colour: red
    columns:
      uid: integer
      major: {type: txt}
      age: {type: integer, range: [9, 1]}
  enrollment:
    key: [eid]
    foreign_keys:
      uid: student
    max_frequency: {uid: 0}
    columns:
      eid: integer
      uid: integer
      grade: {type: integer, unit: -1}
policies:
  student:
    entity: student
    epsilon: none
    labels:
      student: del
      enrollment:
        rep: [grade, marks]
"""


def test_all_mistakes_come_in_one_run_in_file_order(tmp_path: Path) -> None:
    """Of shape, of names and of consistency together: no mistake hides another."""
    path = written(tmp_path, MANY)
    found = problems(path)
    assert [(p.line, p.rule) for p in found] == [
        (5, None),  # colour
        (8, None),  # txt
        (9, None),  # range
        (14, None),  # max_frequency
        (18, None),  # unit
        (22, None),  # epsilon
        (25, "F-Rep"),  # the reference to student is not private
        (26, "F-Rep"),  # marks
    ]
    assert str(found[0]) == f'{path}:5: unknown key "colour": perhaps "columns" is meant'


def test_one_mistake_is_one_problem() -> None:
    """What refers to a broken column, table or key is not reported on top."""
    broken = university(**{"tables.student.columns.uid": {"type": "integr", "unit": -1}})
    assert len(problems(broken)) == 2
    assert len(problems(university(**{"tables.student.key": 5}))) == 1
    assert len(problems(university(**{"tables.student": 5}))) == 1
    assert len(problems(university(**{"policies.faculty": 5}))) == 1
    assert len(problems(university(**{"policies.student.labels": []}))) == 1


def test_the_error_prints_every_problem() -> None:
    with pytest.raises(PolicyError) as caught:
        load_policy(student(epsilon=0, budget=-1))
    assert str(caught.value).splitlines() == [str(p) for p in caught.value.problems]
    assert caught.value.sqlstate == "F0000"
    assert len(caught.value.problems) == 2


# ---------------------------------------------------------------- sections of other features


class Template(FileModel):
    text: str = Field(description="what is claimed")
    theta: list[int] = Field(description="thresholds")


def test_other_sections_are_validated_in_the_same_style() -> None:
    lines = Lines("p.yaml", {("certify",): (7, 0), ("certify", "txt"): (9, 1)})
    with pytest.raises(PolicyError) as caught:
        validate_section(Template, {"txt": "x", "theta": 5}, lines, ("certify",))
    assert [str(problem) for problem in caught.value.problems] == [
        'p.yaml:7: "text" is missing: add text: what is claimed',
        "p.yaml:7: theta is 5, not a list: theta: thresholds",
        'p.yaml:9: unknown key "txt": perhaps "text" is meant',
    ]
    whole = validate_section(Template, {"text": "x", "theta": [1]}, lines, ("certify",))
    assert whole == Template(text="x", theta=[1])


def test_the_schema_dp4sql_is_taken() -> None:
    content = university()
    content["tables"]["dp4sql.budget"] = {"key": ["k"], "columns": {"k": "integer"}}
    assert "the schema dp4sql is the proxy's own" in the_problem(content).found
