"""docs/curator.md says what is so: its file loads, its errors are the real ones, its bounds hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import dp4sql
from dp4sql.errors import PolicyError

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "curator.md").read_text(encoding="utf-8")
LESSON, ERRORS = GUIDE.split("\n## 10. ")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> list[tuple[str, str]]:
    return [(match[1], match[2]) for match in BLOCK.finditer(text)]


def written(folder: Path, text: str) -> Path:
    path = folder / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_pieces_make_the_file_that_ships(tmp_path: Path) -> None:
    pieces = "".join(body for kind, body in blocks(LESSON) if kind == "yaml")
    taught = dp4sql.load_policy(written(tmp_path, pieces))
    shipped = dp4sql.load_policy(ROOT / "policies" / "university.yaml")
    assert taught.policies == shipped.policies
    assert _facts(taught) == _facts(shipped)


def _facts(policies: Any) -> Any:
    """Everything that is declared of tables but the comments on columns."""
    return {
        name: (
            table.key,
            table.rows,
            table.foreign_keys,
            table.frequencies,
            [
                (c.name, c.type, c.nullable, c.range, c.unit, c.domain)
                for c in table.columns.values()
            ],
        )
        for name, table in policies.schema.tables.items()
    }


COSTS = re.findall(r"^\| `(SELECT .*?)` \| (\S+) \| (\S+) \| (\S+) \|$", GUIDE, re.MULTILINE)


@pytest.mark.parametrize("costs", COSTS, ids=lambda costs: costs[0])
def test_the_bounds_of_the_table(costs: tuple[str, ...]) -> None:
    sql, *bounds = costs
    for name, bound in zip(("university_u", "university_b", "university"), bounds, strict=True):
        explanation = dp4sql.explain(ROOT / "policies" / f"{name}.yaml", sql)
        found = [aggregate.bounds["student"] for aggregate in explanation.aggregates]
        assert found == ([] if bound == "exact" else [int(bound)]), name


def test_the_table_has_its_rows() -> None:
    assert len(COSTS) == 7


PARTS = blocks(ERRORS)
BASE = PARTS[0][1]
EXAMPLES = [
    (example[1] if example[1].startswith("tables:") else BASE + example[1], message[1])
    for example, message in zip(PARTS[1::2], PARTS[2::2], strict=True)
]


@pytest.mark.parametrize(("text", "message"), EXAMPLES)
def test_each_example_gives_the_error_below_it(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PolicyError) as caught:
        dp4sql.load_policy("policy.yaml")
    assert str(caught.value) + "\n" == message


def test_every_rule_is_explained() -> None:
    source = (ROOT / "dp4sql" / "policy").glob("*.py")
    rules = {
        rule
        for path in source
        for rule in re.findall(r'"(\w-\w+|ownership|protection|acyclic)"', path.read_text())
    }
    assert rules == {"E-Rep", "F-Rep", "F-Pub", "ownership", "protection", "acyclic"}
    assert all(f"**{rule}" in ERRORS for rule in rules)


@pytest.mark.parametrize("body", [body for kind, body in blocks(GUIDE) if kind == "python"])
def test_the_python_runs(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    exec(body, {})
