"""docs/analyst.md says what is so: its statements run in order, and their answers look as shown.

Numbers in rows are noisy, so there the shape is compared; what notices, errors and plans say is compared word
for word, but for times and simulated half-widths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

import dp4sql
from dp4sql.catalog.own import TABLES
from tests.wire.live import DATABASE, Proxy, proxy

ROOT = Path(__file__).resolve().parents[2]
POLICY = ROOT / "policies" / "university.yaml"
GUIDE = (ROOT / "docs" / "analyst.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```sql\n(.*?)^```$\n\n```text\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
PYTHON = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
WORDS = ("NOTICE", "ERROR", "HINT", "DETAIL")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    content = yaml.safe_load(POLICY.read_text(encoding="utf-8"))
    with proxy(tmp_path_factory.mktemp("guide"), content) as running:
        yield running


@pytest.fixture(scope="module")
def answers(place: Proxy) -> list[str]:
    """All scripts of the guide in one session, in order: what is left depends on what came before."""
    with connected(place.port) as db:
        return [transcript(db, script) for script, _ in SHOWN]


def connected(port: int) -> psycopg.Connection[Any]:
    return psycopg.connect(
        host="127.0.0.1", port=port, user="ann", dbname=DATABASE, autocommit=True
    )


def transcript(db: psycopg.Connection[Any], script: str) -> str:
    """What psql prints for a script."""
    lines: list[str] = []
    db.add_notice_handler(notice := lambda n: lines.append(f"NOTICE:  {n.message_primary}"))
    try:
        for sql in (part.strip() for part in script.split(";") if part.strip()):
            try:
                cursor = db.execute(sql.encode())
            except psycopg.Error as error:
                lines += [f"ERROR:  {error.diag.message_primary}"]
                lines += [f"HINT:  {error.diag.message_hint}"]
            else:
                if cursor.description and sql.split()[0] != "SHOW":
                    lines += table([c.name for c in cursor.description], cursor.fetchall())
    finally:
        db.remove_notice_handler(notice)
    return "\n".join(lines) + "\n"


def table(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    texts = [["" if cell is None else str(cell).removesuffix(".0") for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *texts, strict=True)]
    yield " | ".join(n.center(w) for n, w in zip(names, widths, strict=True)).rstrip()
    yield "-+-".join("-" * width for width in widths)
    for row in texts:
        yield " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()


def masked(text: str) -> list[str]:
    """Without noisy numbers, times and the widths of columns."""
    found = []
    for line in text.splitlines():
        line = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "TIME", line)
        line = re.sub(r"about \+-\S+ \(simulated\)", "SIMULATED", line)
        if not line.startswith(WORDS):
            line = re.sub(r"-?\b\d+(\.\d+)?(E[+-]\d+)?\b", "#", line)
            line = re.sub(r"-[-+]+", "---", re.sub(r"\s+", " ", line))
        found.append(line.strip())
    return found


@pytest.mark.parametrize("index", range(len(SHOWN)))
def test_the_answers_look_as_shown(answers: list[str], index: int) -> None:
    assert masked(answers[index]) == masked(SHOWN[index][1])


def test_every_statement_is_run() -> None:
    assert len(SHOWN) == GUIDE.count("```sql") == 14


def test_the_python_runs(
    place: Proxy, answers: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for body in PYTHON:
        exec(body.replace("port=6432", f"port={place.port}"), {})
    printed = capsys.readouterr().out
    assert "charged 0.5 to policy student" in printed
    assert printed.splitlines()[-1].endswith(" left")


def test_every_table_is_listed() -> None:
    assert set(re.findall(r"^\| `dp4sql\.(\w+)` \|", GUIDE, re.MULTILINE)) == set(TABLES)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        (
            "SELECT SUM(amount) FROM scholarship",
            "SELECT SUM(LEAST(amount, 10000)) FROM scholarship",
        ),
        (
            "SELECT COUNT(*) FROM student JOIN scholarship USING (uid) JOIN enrollment USING (uid)",
            "SELECT COUNT(*) FROM student",
        ),
    ],
)
def test_the_advice_helps(wide: str, narrow: str) -> None:
    bounds = [dp4sql.explain(POLICY, sql).aggregates[0].bounds["student"] for sql in (wide, narrow)]
    assert bounds[0] >= 5 * bounds[1] > 0
