"""Each claim of a policy file, kept by one database and broken by another."""

from __future__ import annotations

import asyncio
from pathlib import Path

import duckdb
import pytest

import dp4sql
from dp4sql.backends import open_backend
from dp4sql.cli import main
from dp4sql.curator.check import Finding, claims, findings

POLICY = """\
dp4sql: 1
tables:
  shop:
    key: [region, no]
    rows: 3
    columns: {region: text, no: integer, opened: {type: date, range: ["2000-01-01", "2020-12-31"]}}
  sale:
    key: [id]
    foreign_keys: [{columns: [region, no], references: shop}]
    max_frequency: [{columns: [region, no], rows: 2}]
    columns:
      id: integer
      region: {type: text, nullable: true}
      no: {type: integer, nullable: true}
      price: {type: "numeric(9,2)", range: [0.5, 99.95], nullable: true}
      kind: {type: text, domain: [new, used], nullable: true}
      odd: {type: text, domain: [x], other: y, nullable: true}
  item:
    key: [id]
    foreign_keys: {sale: sale}
    max_frequency: {sale: 5}
    columns: {id: integer, sale: integer}
policies:
  shop:
    entity: shop
    epsilon: 1
    labels: {shop: del, sale: del, item: del}
    max_owned: {item: 4}
"""
TABLES = """
CREATE TABLE shop (region VARCHAR, no INTEGER, opened DATE);
CREATE TABLE sale (
    id INTEGER, region VARCHAR, no INTEGER, price DECIMAL(9, 2), kind VARCHAR, odd VARCHAR
);
CREATE TABLE item (id INTEGER, sale INTEGER);
INSERT INTO shop VALUES ('n', 1, '2000-01-01'), ('n', 2, '2020-12-31'), ('s', 1, '2010-06-01');
INSERT INTO sale VALUES
    (1, 'n', 1, 0.50, 'new', 'x'), (2, 'n', 1, 99.95, 'used', 'z'), (3, NULL, NULL, NULL, NULL, NULL),
    (4, NULL, 7, 10, 'new', 'y'), (5, NULL, 7, 10, 'new', 'y'), (6, NULL, 7, 10, 'new', 'y');
INSERT INTO item VALUES (1, 1), (2, 1), (3, 2), (4, 2), (5, 3);
"""
#: What breaks one claim: the statement, the claim, how many break it, the worst count.
BREAKS = (
    ("INSERT INTO shop VALUES ('s', 2, '2010-01-01')", "shop: at most 3 rows", 1, 4),
    ("UPDATE shop SET region = NULL WHERE no = 2", "shop: region is never NULL", 1, None),
    (
        "UPDATE shop SET opened = '1999-12-31' WHERE no = 2",
        "shop: opened lies in 2000-01-01",
        1,
        None,
    ),
    ("UPDATE shop SET opened = '2021-01-01'", "shop: opened lies in 2000-01-01", 3, None),
    ("UPDATE shop SET no = 1", "shop: region, no is a key", 1, 2),
    ("UPDATE sale SET price = 99.96 WHERE id < 3", "sale: price lies in 0.5 .. 99.95", 2, None),
    ("UPDATE sale SET price = 0.49 WHERE id = 1", "sale: price lies in 0.5 .. 99.95", 1, None),
    ("UPDATE sale SET kind = 'New' WHERE id = 1", "sale: kind is one of 2 bins", 1, None),
    ("UPDATE sale SET id = 2 WHERE id = 1", "sale: id is a key", 1, 2),
    ("UPDATE sale SET no = 9 WHERE id = 2", "sale: region, no refers to shop", 1, None),
    ("UPDATE sale SET region = 'n', no = 1 WHERE id < 4", "sale: at most 2 rows share one", 1, 3),
    ("INSERT INTO item VALUES (6, 1)", "policy shop: each shop owns at most 4 rows of item", 1, 5),
    ("ALTER TABLE item RENAME TO things", "item: the database has no such table", 1, None),
    ("ALTER TABLE item RENAME sale TO s", "item: the database has no column sale", 1, None),
    (
        "ALTER TABLE item ALTER sale TYPE VARCHAR",
        "item: sale is varchar there, integer here",
        1,
        None,
    ),
)


def made(path: Path, *statements: str) -> str:
    with duckdb.connect(str(path)) as connection:
        for statement in (TABLES, *statements):
            connection.execute(statement)
    return f"duckdb://{path}"


def broken(policy: Path, url: str) -> list[Finding]:
    async def found() -> list[Finding]:
        backend = open_backend(url)
        try:
            return [f async for f in findings(dp4sql.load_policy(policy), backend) if f.broken]
        finally:
            await backend.close()

    return asyncio.run(found())


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "shop.yaml"
    path.write_text(POLICY)
    return path


def test_data_that_keeps_every_claim(policy: Path, tmp_path: Path) -> None:
    assert broken(policy, made(tmp_path / "x.duckdb")) == []


@pytest.mark.parametrize(("statement", "claim", "count", "worst"), BREAKS)
def test_a_broken_claim_is_counted(
    policy: Path, tmp_path: Path, statement: str, claim: str, count: int, worst: int | None
) -> None:
    found = broken(policy, made(tmp_path / "x.duckdb", statement))
    told = {f"{f.subject}: {f.rule.text}": (f.broken, f.worst) for f in found}
    assert [told[text] for text in told if text.startswith(claim)] == [(count, worst)], told


def test_the_command_tells_lines_and_exit_codes(
    policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = made(tmp_path / "good.duckdb")
    bad = made(tmp_path / "bad.duckdb", "UPDATE sale SET kind = 'secret' WHERE id = 1")
    assert main(["check", "--policy", str(policy)]) == 0
    assert "no mistakes in 3 tables and 1 policy" in capsys.readouterr().out
    assert main(["check", "--policy", str(policy), "--database", good]) == 0
    assert " 0 broken" in capsys.readouterr().out
    assert main(["check", "--policy", str(policy), "--database", bad]) == 1
    shown = capsys.readouterr().out
    line = 1 + POLICY.splitlines().index(
        next(x for x in POLICY.splitlines() if "domain: [new" in x)
    )
    assert f"BROKEN  sale: kind is one of 2 bins (1 break it)  {policy}:{line}" in shown
    assert "secret" not in shown


def test_rows_that_truncation_leaves_out_are_counted(
    policy: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two sales at one place one goes, and its two items with it; sales without a place stay."""
    policy.write_text(
        POLICY.replace("rows: 2}", "rows: 1, enforce: truncate}").replace(
            "max_owned: {item: 4}", ""
        )
    )
    assert main(["check", "--policy", str(policy), "--database", made(tmp_path / "x.duckdb")]) == 0
    shown = capsys.readouterr().out
    assert "sale: 1 rows of each no, region are seen: 1 of 6 rows are left out" in shown
    assert "item: rows go with their sale: 2 of 5 rows are left out" in shown


def test_how_many_claims_there_are_is_known_beforehand(policy: Path, tmp_path: Path) -> None:
    async def counted() -> tuple[int, int]:
        backend = open_backend(made(tmp_path / "x.duckdb"))
        loaded = dp4sql.load_policy(policy)
        found = [f async for f in findings(loaded, backend)]
        await backend.close()
        return len(found), claims(loaded, backend)

    tested, expected = asyncio.run(counted())
    assert tested == expected > 10
