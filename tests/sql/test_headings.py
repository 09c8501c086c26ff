"""Columns without an alias are called what Postgres calls them. The names are those that Postgres 15 gave."""

from __future__ import annotations

import datetime

import pytest

import dp4sql
from dp4sql.pipeline.preparation import prepare

POLICY = dp4sql.load_policy("policies/university.yaml")
NOW = datetime.datetime(2026, 1, 1)
NAMES = {
    "fid": "fid",
    "(fid)::bigint": "fid",
    "fid + 1": "?column?",
    "-fid": "?column?",
    "5 % 2": "?column?",
    "title LIKE 'A%'": "?column?",
    "(1.5)::int": "int4",
    "'a'::varchar(3)": "varchar",
    "'a'::char(3)": "bpchar",
    "'2'::double precision": "float8",
    "1::real": "float4",
    "CAST(1 AS numeric(10, 2))": "numeric",
    "true::boolean": "bool",
    "DATE '2020-01-01'": "date",
    "(SELECT 1)": "?column?",
    "(SELECT MAX(title) FROM section)": "max",
    "(SELECT fid AS x FROM section WHERE sid = 1)::text": "x",
    "CASE WHEN fid = 1 THEN 2 END": "case",
    "CASE WHEN fid = 1 THEN 2 ELSE 1 + fid END": "case",
    "CASE WHEN fid = 1 THEN 2 ELSE fid END": "fid",
    "CURRENT_DATE::text": "current_date",
    "NOW()::date": "now",
    "EXTRACT(year FROM DATE '2020-01-01')::int": "extract",
    "TIMESTAMP '2020-01-01' AT TIME ZONE 'UTC'": "timezone",
    "COALESCE(fid, 2)::text": "coalesce",
    "NULLIF(fid, 2)::numeric": "nullif",
    "TRIM(title)": "btrim",
    "LTRIM(title)": "ltrim",
    "TRIM(TRAILING 'a' FROM title)": "rtrim",
    "SUBSTR(title, 1, 2)": "substr",
    "SUBSTRING(title FROM 1 FOR 2)": "substring",
    "STRPOS(title, 'a')": "strpos",
    "POSITION('a' IN title)": "position",
    "CHAR_LENGTH(title)": "char_length",
    "TO_CHAR(DATE '2020-01-01', 'YYYY')": "to_char",
    "DATE_TRUNC('month', DATE '2020-01-01')": "date_trunc",
    "MAKE_DATE(2020, 1, 1)": "make_date",
    "CEILING(1.5)": "ceiling",
    "POWER(2, 3)": "power",
    "MOD(5, 2)": "mod",
    "DIV(5, 2)": "div",
    "LPAD(title, 3)": "lpad",
    "ROW_NUMBER() OVER ()": "row_number",
    "SUM(fid)::bigint": "sum",
    "AVG(fid)::numeric(10, 2)": "avg",
    "VAR_POP(fid)": "var_pop",
    "EVERY(fid > 1)": "every",
    "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY fid)": "percentile_cont",
    "COUNT(*) FILTER (WHERE fid > 1)": "count",
    "CASE WHEN COUNT(*) > 1 THEN 1 ELSE SUM(fid) END": "sum",
}


@pytest.mark.parametrize(("expression", "name"), NAMES.items())
def test_a_column_is_called_as_in_postgres(expression: str, name: str) -> None:
    (column,) = prepare(POLICY, f"SELECT {expression} FROM section", (), now=NOW).plan.columns
    assert column.name == name


def test_the_name_stands_for_the_column_outside() -> None:
    sql = "SELECT sum FROM (SELECT SUM(fid)::bigint FROM section) AS s"
    assert [column.name for column in prepare(POLICY, sql, ()).plan.columns] == ["sum"]
