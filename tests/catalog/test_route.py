"""Who answers: the pipeline where policy tables are named, however they are written, else the empty Postgres."""

from __future__ import annotations

import pytest

from dp4sql.catalog.constants import is_constant
from dp4sql.catalog.route import router
from dp4sql.errors import Refused, Unsupported
from dp4sql.policy import load_policy
from dp4sql.sql import lexer
from tests.wire.live import POLICY

ROUTE = router(load_policy(POLICY), "university")


def statement(sql: str) -> lexer.Statement:
    (found,) = lexer.statements(sql)
    return found


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM student",
        "SELECT count(*) FROM STUDENT",
        'SELECT count(*) FROM "student"',
        "SELECT count(*) FROM public.student",
        'SELECT count(*) FROM "public"."student" AS s',
        'SELECT count(*) FROM "university"."public"."student"',
        "SELECT count(*) FROM University.public.student",
        "SELECT count(*) FROM/**/student",
        "SELECT count(*) FROM student--",
        "SELECT 1 WHERE EXISTS (SELECT FROM student)",
        "WITH s AS (SELECT * FROM student) SELECT count(*) FROM s",
        "SELECT count(*) FROM (VALUES (1)) v, LATERAL (SELECT * FROM student) s",
        "VALUES ((SELECT count(*) FROM student))",
        "TABLE student",
        "(SELECT count(*) FROM student)",
        "SELECT 1 UNION SELECT count(*) FROM student",
    ],
)
def test_policy_tables_go_to_the_pipeline(sql: str) -> None:
    assert ROUTE(statement(sql)) == "private"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT 'student'",
        "SELECT 'student'::regclass",
        "SELECT * FROM pg_class WHERE relname = 'student'",
        "SELECT $$ FROM student $$",
        "SELECT 1 -- FROM student",
        "SELECT 1 /* FROM student /* nested */ */",
        "SELECT n AS student FROM generate_series(1, 3) n",
        "SELECT E'it\\'s FROM student'",
    ],
)
def test_the_rest_goes_to_the_empty_postgres(sql: str) -> None:
    assert ROUTE(statement(sql)) == "catalog"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM student, pg_class",
        "SELECT count(*) FROM student JOIN pg_catalog.pg_class ON true",
        "SELECT count(*) FROM student WHERE name IN (SELECT relname FROM pg_class)",
        "SELECT count(*) FROM student, information_schema.tables",
    ],
)
def test_both_at_once_are_refused(sql: str) -> None:
    with pytest.raises(Refused):
        ROUTE(statement(sql))


def test_tables_of_another_database_are_refused() -> None:
    with pytest.raises(Unsupported, match="cross-database") as refused:
        ROUTE(statement("SELECT count(*) FROM other.public.student"))
    assert refused.value.position == 22


@pytest.mark.parametrize(
    "sql", ["SELECT 1", "select 1 as x, 'a' as \"B\"", "SELECT -1.5 * (2 + NULL), true"]
)
def test_constants_are_kept(sql: str) -> None:
    assert is_constant(statement(sql))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT now()", "SELECT current_user", "SELECT 1::text", "SELECT date '2024-01-01'", "SELECT $1",
        "SELECT random() AS x", "SELECT 1 / 3", "SELECT 1 FROM pg_class", "SELECT x", "VALUES (1)",
    ],
)  # fmt: skip
def test_what_may_change_is_not(sql: str) -> None:
    assert not is_constant(statement(sql))
