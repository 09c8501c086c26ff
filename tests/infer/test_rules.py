"""Every rule by itself: a query whose derivation uses it, and one next to it that must not.

Derivations are golden: tests/infer/golden/rules.txt holds what EXPLAIN prints for the query under the policy.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import get_args

import pytest

import dp4sql
from dp4sql.infer.rules import Rule

from .clinic import POLICY
from .golden import golden

COUNTED = "SELECT COUNT(*) FROM ({}) t WHERE n > 1"


@dataclass(frozen=True, slots=True)
class Example:
    """Under `policy` the derivation of `sql` uses `rule` and that of `other` does not. None: all use it."""

    rule: Rule
    policy: str
    sql: str
    other: str | None


EXAMPLES = [
    Example("E-Del", "goes", "SELECT COUNT(*) FROM person", "SELECT COUNT(*) FROM visit"),
    Example("E-Rep", "moves", "SELECT SUM(age) FROM person", "SELECT SUM(cost) FROM visit"),
    Example(
        "E-Pub", "stays", "SELECT COUNT(*) FROM person JOIN visit USING (id)",
        "SELECT COUNT(*) FROM doctor JOIN visit USING (did)",
    ),
    Example("F-Del", "goes", "SELECT COUNT(*) FROM visit", "SELECT COUNT(*) FROM person"),
    Example("F-Rep", "moves", "SELECT SUM(cost) FROM visit", "SELECT SUM(age) FROM person"),
    Example(
        "F-Pub", "ages", "SELECT SUM(age) FROM visit JOIN person USING (id)",
        "SELECT SUM(age) FROM person",
    ),
    Example(
        "X-Trunc", "goes", "SELECT COUNT(DISTINCT fee) FROM parking",
        "SELECT COUNT(*) FROM visit",
    ),
    Example(
        "X-NotOwned", "goes", "SELECT COUNT(*) FROM visit JOIN doctor USING (did)",
        "SELECT COUNT(*) FROM visit JOIN person USING (id)",
    ),
    Example(
        "X-Public", "goes",
        "SELECT COUNT(*) FROM visit JOIN (SELECT did FROM doctor JOIN ward USING (wid)) d USING (did)",
        "SELECT COUNT(*) FROM visit JOIN doctor USING (did)",
    ),
    Example(
        "T-Sel1/2", "moves", "SELECT SUM(cost) FROM visit WHERE did = 1",
        "SELECT SUM(cost) FROM visit WHERE id = 1",
    ),
    Example(
        "T-Sel3", "moves", "SELECT COUNT(*) FROM visit WHERE cost > 3",
        "SELECT COUNT(*) FROM visit WHERE did > 3",
    ),
    Example("T-Prj", "moves", "SELECT SUM(cost + 1) FROM visit", None),
    Example(
        "T-Grp", "goes", COUNTED.format("SELECT id, COUNT(*) AS n FROM visit GROUP BY id"),
        COUNTED.format("SELECT vid, COUNT(*) AS n FROM visit GROUP BY vid"),
    ),
    Example(
        "T-Grp4", "stays", COUNTED.format("SELECT did, COUNT(*) AS n FROM visit GROUP BY did"),
        COUNTED.format("SELECT did, SUM(cost) AS n FROM visit GROUP BY did"),
    ),
    Example(
        "X-GrpAll", "goes", COUNTED.format("SELECT COUNT(*) AS n FROM visit"),
        COUNTED.format("SELECT did, COUNT(*) AS n FROM visit GROUP BY did"),
    ),
    Example(
        "X-GrpKey", "goes",
        COUNTED.format("SELECT vid, did, COUNT(*) AS n FROM visit GROUP BY vid, did"),
        COUNTED.format("SELECT id, did, COUNT(*) AS n FROM visit GROUP BY id, did"),
    ),
    Example(
        "X-GrpLeft", "goes",
        COUNTED.format("SELECT d.did, COUNT(vid) AS n FROM doctor d LEFT JOIN visit USING (did) GROUP BY d.did"),
        COUNTED.format("SELECT d.wid, COUNT(vid) AS n FROM doctor d LEFT JOIN visit USING (did) GROUP BY d.wid"),
    ),
    Example(
        "X-GrpHang", "goes",
        COUNTED.format("SELECT p.id, COUNT(vid) AS n FROM person p LEFT JOIN visit USING (id) GROUP BY p.id"),
        COUNTED.format("SELECT d.did, COUNT(vid) AS n FROM doctor d LEFT JOIN visit USING (did) GROUP BY d.did"),
    ),
    Example(
        "X-Distinct", "moves", "SELECT COUNT(*) FROM (SELECT DISTINCT id FROM visit) t",
        "SELECT COUNT(*) FROM (SELECT id FROM visit) t",
    ),
    Example(
        "X-Union", "goes", "SELECT COUNT(*) FROM (SELECT id FROM visit UNION ALL SELECT id FROM person) t",
        "SELECT COUNT(*) FROM (SELECT id FROM visit JOIN person USING (id)) t",
    ),
    Example(
        "X-Order", "goes", "SELECT COUNT(*) FROM (SELECT id FROM visit ORDER BY vid) t",
        "SELECT COUNT(*) FROM (SELECT id FROM visit) t",
    ),
    Example(
        "T-Join", "goes", "SELECT COUNT(*) FROM visit v JOIN visit w ON v.did = w.did",
        "SELECT COUNT(*) FROM visit v JOIN person p ON v.id = p.id",
    ),
    Example(
        "T-Key", "moves", "SELECT COUNT(*) FROM visit v JOIN (SELECT * FROM person WHERE kind = 'a') p USING (id)",
        "SELECT COUNT(*) FROM visit v JOIN (SELECT id, COUNT(*) FROM person GROUP BY id) p USING (id)",
    ),
    Example(
        "X-Left", "goes", "SELECT COUNT(*) FROM doctor LEFT JOIN visit USING (did)",
        "SELECT COUNT(*) FROM visit LEFT JOIN doctor USING (did)",
    ),
    Example(
        "X-LeftOne", "goes",
        "SELECT COUNT(v.did) FROM doctor LEFT JOIN (SELECT DISTINCT did FROM visit) v USING (did)",
        "SELECT COUNT(*) FROM doctor LEFT JOIN visit USING (did)",
    ),
    Example(
        "X-Full", "goes", "SELECT COUNT(*) FROM doctor FULL JOIN visit USING (did)",
        "SELECT COUNT(*) FROM doctor RIGHT JOIN visit USING (did)",
    ),
    Example(
        "X-Semi", "goes",
        "SELECT COUNT(*) FROM doctor d WHERE EXISTS (SELECT 1 FROM visit v WHERE v.did = d.did)",
        "SELECT COUNT(*) FROM doctor d WHERE NOT EXISTS (SELECT 1 FROM visit v WHERE v.did = d.did)",
    ),
    Example(
        "X-Anti", "goes",
        "SELECT COUNT(*) FROM doctor WHERE did NOT IN (SELECT did FROM visit)",
        "SELECT COUNT(*) FROM doctor WHERE did IN (SELECT did FROM visit)",
    ),
    Example(
        "X-SemiKey", "moves",
        "SELECT COUNT(*) FROM visit WHERE id IN (SELECT id FROM person WHERE kind = 'a')",
        "SELECT COUNT(*) FROM visit WHERE did IN (SELECT did FROM visit WHERE cost = 3)",
    ),
    Example(
        "X-Hang", "goes", "SELECT COUNT(*) FROM person p WHERE EXISTS (SELECT 1 FROM visit v WHERE v.id = p.id)",
        "SELECT COUNT(*) FROM doctor d WHERE EXISTS (SELECT 1 FROM visit v WHERE v.did = d.did)",
    ),
    Example(
        "S-Cnt", "goes", "SELECT kind, COUNT(*) FROM person GROUP BY kind",
        "SELECT kind, SUM(age) FROM person GROUP BY kind",
    ),
    Example(
        "S-Sum", "goes", "SELECT kind, SUM(age) FROM person GROUP BY kind",
        "SELECT SUM(age) FROM person",
    ),
    Example("X-Cnt1", "goes", "SELECT COUNT(*) FROM person", "SELECT SUM(age) FROM person"),
    Example(
        "X-Sum1", "goes", "SELECT SUM(age) FROM person",
        "SELECT kind, SUM(age) FROM person GROUP BY kind",
    ),
]  # fmt: skip


def derivation(policy: str, sql: str) -> str:
    return dp4sql.explain(POLICY, sql).derivations[policy]


def rules(tree: str) -> set[str]:
    return set(re.findall(r"\(([EFSTX]-[\w/]+)\)", tree))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.rule)
def test_a_rule_is_used_where_it_holds_and_only_there(example: Example) -> None:
    assert example.rule in rules(derivation(example.policy, example.sql))
    if example.other is not None:
        assert example.rule not in rules(derivation(example.policy, example.other))


def test_every_rule_has_an_example() -> None:
    assert [example.rule for example in EXAMPLES] == sorted(
        get_args(Rule), key=get_args(Rule).index
    )


def test_derivations_are_as_reviewed() -> None:
    text = "\n".join(
        f"{e.rule} under {e.policy}: {e.sql}\n{derivation(e.policy, e.sql)}\n" for e in EXAMPLES
    )
    assert text == golden("rules", text)
