"""dp4sql.budget, my_queries, policies, tables and settings: free to read, as the role may see them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pytest
from psycopg.rows import dict_row

from dp4sql.catalog.own import TABLES
from dp4sql.settings import NAMES
from tests.policy.support import university
from tests.wire.live import DATABASE, Proxy, proxy, stop_clock

COUNT = "SELECT COUNT(*) FROM student"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    content = university(
        **{
            "policies.student.roles": {"intern": {"budget": 2, "max_charge": 0.5}},
            "policies.student.renewal": {"day": 10},
        }
    )
    with proxy(tmp_path_factory.mktemp("own"), content) as running:
        stop_clock(running.pipeline)
        yield running


def client(place: Proxy, role: str) -> psycopg.Connection[dict[str, Any]]:
    return psycopg.connect(
        host="127.0.0.1",
        port=place.port,
        user=role,
        dbname=DATABASE,
        autocommit=True,
        row_factory=dict_row,
    )


def ask(connection: psycopg.Connection[Any], sql: str, *values: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = connection.execute(sql.encode(), values or None).fetchall()
    return found


def test_the_budget_is_that_of_the_role(place: Proxy) -> None:
    with client(place, "intern") as intern:
        ask(intern, COUNT)
        rows = ask(
            intern, "SELECT * FROM dp4sql.budget WHERE policy = %s ORDER BY amount", "student"
        )
    assert [(row["amount"], row["spent"], row["remaining"]) for row in rows] == [
        (2, Decimal("0.5"), Decimal("1.5")),
        (10, Decimal("0.5"), Decimal("9.5")),
        (None, Decimal("0.5"), None),
    ]
    assert rows[0]["cap"] == "role intern's allowance under policy student"
    with client(place, "ann") as ann:
        assert len(ask(ann, "SELECT FROM dp4sql.budget WHERE policy = 'student'")) == 2


def test_queries_are_seen_by_who_asked_them(place: Proxy) -> None:
    with client(place, "carl") as carl:
        ask(carl, f"{COUNT} WHERE uid > 7")
        (row,) = ask(carl, "SELECT * FROM dp4sql.my_queries")
        assert row["statement"] == f"{COUNT} WHERE uid > 7"
        assert (row["policy"], row["epsilon"], row["outcome"]) == ("student", 1, "answered")
        ((spent,),) = (
            r.values() for r in ask(carl, "SELECT sum(epsilon) AS s FROM dp4sql.my_queries")
        )
        assert spent == 1
    with client(place, "dora") as dora:
        assert ask(dora, "SELECT * FROM dp4sql.my_queries") == []
        # What a session could set by itself is no way in either: it has nobody's rows.
        assert ask(dora, "SELECT current_setting('dp4sql_rows.my_queries', true) AS s") in (
            [{"s": None}],
            [{"s": ""}],
        )


def test_policies_and_tables_are_those_of_the_file(place: Proxy) -> None:
    with client(place, "intern") as intern:
        (row,) = ask(intern, "SELECT * FROM dp4sql.policies WHERE policy = 'student'")
        assert (row["epsilon"], row["max_charge"]) == (Decimal("0.5"), Decimal("0.5"))
        assert row["labels"]["student"] == "DEL"
        joined = ask(
            intern,
            "SELECT column_name, low, high, bins FROM dp4sql.tables t "
            "JOIN dp4sql.policies p ON t.private_under ? p.policy "
            "WHERE p.policy = 'student' AND t.table_name = 'enrollment' ORDER BY ordinal",
        )
    assert [row["column_name"] for row in joined] == ["uid", "grade"]
    assert (joined[1]["low"], joined[1]["high"]) == ("0", "100")


def test_every_setting_is_there_with_its_value(place: Proxy) -> None:
    with client(place, "ann") as ann:
        ann.execute("SET dp4sql.epsilon = 0.25")
        rows = ask(ann, "SELECT * FROM dp4sql.settings ORDER BY name")
    assert [row["name"] for row in rows] == [f"dp4sql.{name}" for name in NAMES]
    assert {r["value"] for r in rows if r["value"] != r["default_value"]} == {"0.25"}
    assert all(row["comment"] for row in rows)


def test_nothing_is_charged(place: Proxy) -> None:
    before = len(place.pipeline.ledger.entries())
    with client(place, "ann") as ann:
        for name in TABLES:
            ask(ann, f"SELECT count(*) FROM dp4sql.{name}")
    assert len(place.pipeline.ledger.entries()) == before


def test_every_column_has_a_comment(place: Proxy) -> None:
    with client(place, "ann") as ann:
        found = ask(
            ann,
            "SELECT relname, attname, col_description(c.oid, attnum) AS about, obj_description(c.oid) AS "
            "whole FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid "
            "WHERE relnamespace = 'dp4sql'::regnamespace AND relkind = 'v' AND attnum > 0",
        )
    assert {row["relname"] for row in found} == set(TABLES)
    assert all(row["about"] and row["whole"] for row in found)


def test_prepared_statements_see_new_rows(place: Proxy) -> None:
    with client(place, "emil") as emil:
        sql = b"SELECT count(*) AS n FROM dp4sql.my_queries WHERE epsilon > %s"
        for expected in (0, 1, 2):
            found = emil.execute(sql, (Decimal("0.1"),), prepare=True, binary=True).fetchall()
            assert found == [{"n": expected}]
            ask(emil, f"{COUNT} WHERE uid > {100 + expected}")


def test_they_are_not_mixed_with_private_rows(place: Proxy) -> None:
    with client(place, "ann") as ann:
        for sql in (
            "SELECT COUNT(*) FROM student, dp4sql.budget",
            "SELECT COUNT(*) FROM student WHERE uid > (SELECT amount FROM dp4sql.budget LIMIT 1)",
        ):
            with pytest.raises(psycopg.Error, match=r"dp4sql\.budget and private rows together"):
                ask(ann, sql)
        with pytest.raises(psycopg.Error) as caught:
            ask(ann, "SELECT * FROM dp4sql.nothing")
        assert caught.value.sqlstate == "42P01"
        assert caught.value.diag.message_hint == r"\dv dp4sql.* lists the tables of dp4sql."
        with pytest.raises(psycopg.Error) as caught:
            ask(ann, "SELECT 1 FROM public.studnet")
        assert caught.value.diag.message_hint == 'Perhaps "student" was meant.'
        with pytest.raises(psycopg.Error):
            ask(ann, "DELETE FROM dp4sql.budget")
