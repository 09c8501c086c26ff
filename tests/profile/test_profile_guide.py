"""docs/profile.md says what is so: its queries run, its answers are the real ones, its keys are all there."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
import yaml

import dp4sql
from dp4sql.data import people
from dp4sql.mechanisms.profile.functions import PLAN, RELEASE, RELEASE_COLUMNS
from dp4sql.policy.profiles.models import FieldModel, ProfileModel
from dp4sql.policy.profiles.types import ScorerName

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "profile.md").read_text(encoding="utf-8")
QUERIES = re.findall(
    r"^```sql\n(.*?);\n```$(?:\n\n```text\n(.*?)\n```$)?", GUIDE, re.MULTILINE | re.DOTALL
)


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    people.generate(folder / "people.duckdb")
    opened = dp4sql.open_pipeline(
        policy=ROOT / "policies" / "people.yaml",
        database=f"duckdb:///{folder / 'people.duckdb'}",
        ledger=folder / "ledger",
    )
    yield opened
    asyncio.run(opened.close())


@pytest.mark.parametrize(("sql", "shown"), QUERIES, ids=range(len(QUERIES)))
def test_the_queries_of_the_guide(pipeline, sql, shown):
    rows = asyncio.run(pipeline.query(sql, role="agent_u17")).rows
    assert rows
    if shown:
        lines = [re.split(r"\s{2,}", line.strip()) for line in shown.splitlines()]
        assert [["-" if cell is None else str(cell) for cell in row] for row in rows] == lines


def test_the_guide_shows_queries():
    assert len(QUERIES) == 4
    assert sum(1 for _, shown in QUERIES if shown) == 2


def test_the_section_of_the_guide_loads(tmp_path):
    (section,) = re.findall(r"^```yaml\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    content = yaml.safe_load((ROOT / "policies" / "people.yaml").read_text(encoding="utf-8"))
    content |= yaml.safe_load(section)
    (tmp_path / "policy.yaml").write_text(
        yaml.safe_dump(content, sort_keys=False), encoding="utf-8"
    )
    assistant = dp4sql.load_policy(tmp_path / "policy.yaml").extras["profiles"]["assistant"]
    assert assistant.withheld == ("user", "work", "education", "history")


NAMES = {
    "arguments": [*RELEASE, *PLAN],
    "columns": [name for name, _ in RELEASE_COLUMNS],
    "keys": list(ProfileModel.model_fields),
    "fields": list(FieldModel.model_fields),
    "scorers": list(ScorerName.__args__),
}


@pytest.mark.parametrize("kind", NAMES)
def test_every_name_is_in_the_guide(kind):
    missing = [
        name for name in NAMES[kind] if f"`{name}`" not in GUIDE and f"`{name}:" not in GUIDE
    ]
    assert missing == []


def test_the_population_keeps_the_policy(pipeline):
    """Keys, references, bounds and NULLs are as policies/people.yaml declares them."""
    import duckdb

    path = pipeline.backend.identity.removeprefix("duckdb://")
    declared = pipeline.policy.schema
    with duckdb.connect(path, read_only=True) as db:
        for name, table in declared.tables.items():
            (rows, keys) = db.execute(
                f"SELECT COUNT(*), COUNT(DISTINCT {table.key[0]}) FROM {name}"
            ).fetchone()
            assert rows == keys <= table.rows
            for column in table.columns.values():
                if not column.nullable:
                    (missing,) = db.execute(
                        f"SELECT COUNT(*) FROM {name} WHERE {column.name} IS NULL"
                    ).fetchone()
                    assert missing == 0, column.name
        (most,) = db.execute(
            "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM job GROUP BY uid)"
        ).fetchone()
        assert most <= declared.tables["job"].frequencies[0].rows
        (orphans,) = db.execute(
            "SELECT COUNT(*) FROM job WHERE uid NOT IN (SELECT uid FROM person)"
        ).fetchone()
        assert orphans == 0
