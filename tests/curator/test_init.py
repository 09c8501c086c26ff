"""dp4sql init: drafts that load, that the data keeps, and that protect unless the curator says otherwise."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psycopg
import pytest

import dp4sql
from dp4sql.cli import main
from dp4sql.curator.draft import acyclic, proposed_entities
from dp4sql.curator.measured import outward, rounded_up
from dp4sql.data import tpch, university
from dp4sql.policy.labels import Del, PolicySet, Pub
from tests.backends.servers import server, versions

SHOP = """
CREATE TABLE country (code CHAR(2) PRIMARY KEY, name VARCHAR NOT NULL);
CREATE TABLE "Customer" (
    id INTEGER PRIMARY KEY, country CHAR(2) REFERENCES country, born DATE,
    "credit limit" DECIMAL(9, 2) NOT NULL, score DOUBLE PRECISION, boss INTEGER, photo {blob},
    seen TIMESTAMP, since TIMESTAMPTZ, until DATE, ever TIMESTAMP
);
CREATE TABLE "order" (
    customer INTEGER NOT NULL REFERENCES "Customer", no SMALLINT NOT NULL, paid BOOLEAN, PRIMARY KEY (customer, no)
);
CREATE TABLE item (
    id BIGINT PRIMARY KEY, customer INTEGER NOT NULL, no SMALLINT NOT NULL, price DECIMAL(9, 2),
    FOREIGN KEY (customer, no) REFERENCES "order"
);
CREATE TABLE journal (line VARCHAR);
INSERT INTO country VALUES ('de', 'Germany'), ('fr', 'France');
INSERT INTO "Customer" VALUES
    (1, 'de', '1980-02-03', 120.50, 0.125, NULL, NULL, '2024-12-31 23:59:59.5', '2024-12-31 23:30:00-02',
     'infinity', '2020-01-01 00:00:00'),
    (2, NULL, NULL, 99.99, 'NaN', 1, NULL, '2020-01-01 00:00:00', NULL, NULL, '-infinity');
INSERT INTO "order" VALUES (1, 1, true), (1, 2, NULL), (2, 1, false);
INSERT INTO item VALUES (10, 1, 1, 0.99), (11, 1, 1, -3.50), (12, 2, 1, NULL);
INSERT INTO journal VALUES ('x'), ('x');
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    found = versions()
    with server(found[max(found)]) as url:
        yield url


@pytest.fixture(params=["duckdb", "postgres"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "duckdb":
        with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
            connection.execute(SHOP.format(blob="BLOB"))
        return f"duckdb://{tmp_path}/shop.duckdb"
    url: str = request.getfixturevalue("postgres")
    with psycopg.connect(url) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
        connection.execute(SHOP.format(blob="BYTEA").encode())
    return url


def drafted(database: str, folder: Path, *flags: str) -> tuple[PolicySet, str]:
    out = folder / "policy.yaml"
    assert main(["init", "--database", database, "--out", str(out), *flags]) == 0
    assert main(["check", "--policy", str(out), "--database", database]) == 0
    return dp4sql.load_policy(out), out.read_text()


def test_the_shop(shop: str, tmp_path: Path) -> None:
    policies, text = drafted(shop, tmp_path)
    tables = policies.schema.tables
    assert tables.keys() == {"Customer", "country", "item", "order"}
    assert tables["order"].key == ("customer", "no")
    assert [(fk.columns, fk.references) for fk in tables["item"].foreign_keys] == [
        (("customer", "no"), "order")
    ]
    assert {(tuple(sorted(f.columns)), f.rows) for f in tables["item"].frequencies} == {
        (("customer", "no"), 2)
    }
    customer = tables["Customer"].columns
    assert (str(customer["credit limit"].type), customer["credit limit"].range) == (
        "numeric(9,2)",
        (90, 130),
    )
    assert customer["country"].nullable
    assert not customer["credit limit"].nullable
    assert customer["score"].range is None, "NaN is in no range"
    assert customer["until"].range is customer["ever"].range is None, "nor is infinity"
    assert "seen: {type: timestamp, nullable: true, range: [2020-01-01, 2025-01-01]}" in text
    assert "since: {type: timestamptz, nullable: true, range: [2025-01-01, 2026-01-01]}" in text
    assert "photo" not in customer
    assert "# photo is left out" in text
    assert "journal has no columns that tell its rows apart" in text


def test_what_is_not_said_to_be_public_stays_hidden(shop: str, tmp_path: Path) -> None:
    policies, _ = drafted(shop, tmp_path)
    (policy,) = policies.policies
    assert policy.entity == "Customer"
    assert policy.labels == {"Customer": Del(), "order": Del(), "item": Del()}
    policies, _ = drafted(shop, tmp_path, "--force", "--public", "country", "--epsilon", "0.5")
    (policy,) = policies.policies
    assert policy.labels["country"] == Pub()
    assert policy.epsilon * 2 == 1


def test_every_number_of_the_data_is_marked(shop: str, tmp_path: Path) -> None:
    for line in drafted(shop, tmp_path)[1].splitlines():
        if "range:" in line or "    rows:" in line or "max_frequency:" in line:
            assert "measured-from-data" in line, line


def test_the_university(tmp_path: Path) -> None:
    university.generate(tmp_path / "university.duckdb")
    database = f"duckdb://{tmp_path}/university.duckdb"
    policies, text = drafted(database, tmp_path, "--entity", "student", "--public", "section")
    assert [p.entity for p in policies.policies] == ["student"]
    assert "# faculty: pub  # hidden" in text
    assert "#   domain: [Biology, CS, " in text
    assert policies.schema.tables["student"].columns["major"].domain is None
    assert (
        main(["explain", "--policy", str(tmp_path / "policy.yaml"), "SELECT COUNT(*) FROM student"])
        == 0
    )


def test_parquet_has_its_keys_guessed(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    tpch.write_files(tmp_path / "data", "0.01", "parquet")
    policies, text = drafted(
        f"parquet://{tmp_path}/data", tmp_path, "--public", "region", "nation", "part"
    )
    tables = policies.schema.tables
    assert tables["partsupp"].key == ("ps_partkey", "ps_suppkey")
    assert {fk.references for fk in tables["lineitem"].foreign_keys} == {"orders", "partsupp"}
    assert {fk.references for fk in tables["orders"].foreign_keys} == {"customer"}
    assert [p.entity for p in policies.policies] == ["customer", "supplier"]
    assert "guessed from names" in text


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--entity", "nobody"], "there is no table nobody"),
        (["--public", "order"], "holds rows of who is protected"),
        (["--public", "journal"], "there is no table journal"),
        (["--epsilon", "none"], "none is no amount of epsilon"),
        (["--out", "/nowhere/policy.yaml"], "policy.yaml cannot be written"),
    ],
)
def test_flags_that_make_no_sense(
    flags: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with duckdb.connect(str(tmp_path / "shop.duckdb")) as connection:
        connection.execute(SHOP.format(blob="BLOB"))
    database = f"duckdb://{tmp_path}/shop.duckdb"
    out = str(tmp_path / "policy.yaml")
    assert main(["init", "--database", database, "--out", out, *flags]) == 1
    assert said in capsys.readouterr().err
    assert not Path(out).exists()


def test_a_file_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "policy.yaml").write_text("mine")
    out = str(tmp_path / "policy.yaml")
    assert main(["init", "--database", "duckdb:///nowhere.duckdb", "--out", out]) == 1
    assert "--force" in capsys.readouterr().err
    assert (tmp_path / "policy.yaml").read_text() == "mine"


def test_an_empty_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    duckdb.connect(str(tmp_path / "empty.duckdb")).close()
    database = f"duckdb://{tmp_path}/empty.duckdb"
    assert main(["init", "--database", database, "--out", str(tmp_path / "p.yaml")]) == 1
    assert "no table with a key" in capsys.readouterr().err


def test_a_terminal_is_asked(tmp_path: Path) -> None:
    university.generate(tmp_path / "university.duckdb")
    mine, theirs = pty.openpty()
    command = [sys.executable, "-m", "dp4sql", "init", "--database", "duckdb:///university.duckdb"]
    running = subprocess.Popen(command, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(mine, b"studnet\nstudent\nenrollment\nsection\nlittle\n0.5\n\n")
    shown = b""
    try:
        while block := os.read(mine, 4096):
            shown += block
    except OSError:  # how Linux says that the other side is closed
        pass
    assert running.wait(60) == 0
    assert shown.count(b"Whom to protect? [faculty student]") == 2
    assert b"there is no table studnet" in shown
    assert b"enrollment holds rows of who is protected" in shown
    assert b"little is no amount of epsilon" in shown
    assert b"[####################] 14/14 done" in shown
    (policy,) = dp4sql.load_policy(tmp_path / "policy.yaml").policies
    assert (policy.entity, float(policy.epsilon), policy.budget) == ("student", 0.5, 20)
    assert policy.labels["section"] == Pub()


def test_circles_are_left_out() -> None:
    from dp4sql.curator.catalogue import FoundTable, Reference

    def table(name: str, *to: str) -> FoundTable:
        references = tuple(Reference((t,), t, ("id",)) for t in to)
        return FoundTable("public", name, {"id": "integer"}, key=("id",), references=references)

    tables, said = acyclic({"a": table("a", "b", "a"), "b": table("b", "a")})
    assert [r.to for r in tables["a"].references] == ["b"]
    assert tables["b"].references == ()
    assert said == ["a(a) refers to a in a circle", "b(a) refers to a in a circle"]
    assert proposed_entities(tables) == ("b",)


@pytest.mark.parametrize(
    ("number", "rounded"),
    [(0, 0), (7, 7), (10, 10), (11, 20), (21, 50), (51, 100), (100, 100), (1001, 2000)],
)
def test_sizes_round_up(number: int, rounded: int) -> None:
    assert rounded_up(number) == rounded


@pytest.mark.parametrize("low", [-12345.67, -1.0, 0.0, 0.0123, 3, 99.99])
def test_ranges_round_outward(low: float) -> None:
    least, most = outward(low, low + 1234.5)
    assert float(least) <= low
    assert float(most) >= low + 1234.5


def test_both_ends_of_a_range_are_as_round() -> None:
    assert outward(0.18, 899.94) == ("0", "900")
    assert outward(-3, 1234) == ("-100", "1300")
    assert outward(0.18, 0.9) == ("0.18", "0.9")
    assert outward(0, 0) == ("0", "0")
