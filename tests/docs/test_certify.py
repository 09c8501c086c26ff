"""docs/certify.md says what is so: its queries run, its audit passes on answers and fails on forged ones."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import dp4sql
from dp4sql.data import university
from dp4sql.mechanisms.certify.functions import COLUMNS, PARAMETERS
from dp4sql.pipeline import Pipeline
from dp4sql.policy.certify import Control, MarginKind, Mechanism

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "certify.md").read_text(encoding="utf-8")
QUERIES = re.findall(r"^```sql\n(.*?);\n```$", GUIDE, re.MULTILINE | re.DOTALL)
TEXTS = re.findall(r"^```text\n(.*?)\n```$", GUIDE, re.MULTILINE | re.DOTALL)
(AUDIT,) = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    folder = tmp_path_factory.mktemp("university")
    university.generate(folder / "university.duckdb")
    content = yaml.safe_load((ROOT / "policies" / "university.yaml").read_text(encoding="utf-8"))
    for policy in content["policies"].values():
        del policy["budget"]
    opened = dp4sql.open_pipeline(
        policy=content,
        database=f"duckdb:///{folder / 'university.duckdb'}",
        ledger=folder / "ledger",
    )
    yield opened
    asyncio.run(opened.close())


@pytest.fixture(scope="module")
def audit() -> Callable[[dict[str, Any]], None]:
    names: dict[str, Any] = {}
    exec(AUDIT, names)
    found: Callable[[dict[str, Any]], None] = names["audit"]
    return found


def rows(pipeline: Pipeline, sql: str) -> list[dict[str, Any]]:
    found = asyncio.run(pipeline.query(sql))
    return [dict(zip([c.name for c in found.columns], row, strict=True)) for row in found.rows]


@pytest.mark.parametrize("sql", QUERIES, ids=range(len(QUERIES)))
def test_the_queries_run(pipeline: Pipeline, sql: str) -> None:
    found = rows(pipeline, sql)
    if "certify_plan" in sql:
        assert [str(cell) for cell in found[0].values()] == TEXTS[0].split()


def printed() -> dict[str, Any]:
    return {
        name.strip(): cell.strip() for name, cell in re.findall(r"^(\w+) *\| (.*)$", TEXTS[1], re.M)
    }


def test_the_printed_row_passes_its_audit(audit: Callable[[dict[str, Any]], None]) -> None:
    audit(printed())


@pytest.mark.parametrize(
    "forged",
    [
        {"count_lower": "178"},
        {"margin": "12"},
        {"decision": "abstain"},
        {"p_value": "1e-08"},
        {"estimate": "0.5"},
        {"theta": "0.41"},
        {"sensitivity": "12"},
        {"epsilon": "0.5"},
    ],
    ids=str,
)
def test_a_forged_row_does_not(
    audit: Callable[[dict[str, Any]], None], forged: dict[str, str]
) -> None:
    with pytest.raises(AssertionError):
        audit(printed() | forged)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "7.5"])
@pytest.mark.parametrize("beta", ["0.01", "0.05", "0.4"])
def test_answers_pass_the_audit(
    pipeline: Pipeline, audit: Callable[[dict[str, Any]], None], epsilon: str, beta: str
) -> None:
    call = f"dp4sql.certify(template => 'title_share', epsilon => {epsilon}, beta => {beta})"
    found = rows(pipeline, f"SELECT * FROM {call}")
    assert len(found) > 5
    for row in found:
        audit(row)


def test_the_tables_name_every_argument_column_and_word() -> None:
    tables = "\n".join(line for line in GUIDE.splitlines() if line.startswith("|"))
    for name in (*PARAMETERS, *(name for name, _ in COLUMNS)):
        assert f"`{name}`" in tables, name
    for kind in (MarginKind, Control, Mechanism):
        for word in kind.__args__:
            assert f"`{word}`" in tables, word


def test_the_section_loads(tmp_path: Path) -> None:
    (section,) = re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    content = yaml.safe_load((ROOT / "policies" / "university.yaml").read_text(encoding="utf-8"))
    shipped = content["certify"]["templates"]
    content["certify"] = yaml.safe_load(section)["certify"]
    loaded = dp4sql.load_policy(content).extras["certify"].templates
    assert set(loaded) < set(shipped)
