"""Nothing beside a release tells of rows: on a full and on an empty database the answers are the same."""

from __future__ import annotations

import psycopg
import pytest

from tests.catalog.conftest import connect
from tests.wire.live import Proxy

#: What would tell something on a Postgres that holds the rows.
TELLING = [
    "SELECT relname, reltuples, relpages, relallvisible FROM pg_class ORDER BY oid",
    "SELECT * FROM pg_stats ORDER BY 1, 2, 3",
    "SELECT * FROM pg_stat_user_tables ORDER BY relid",
    "SELECT * FROM pg_stat_all_tables WHERE relname = 'student'",
    "SELECT * FROM pg_statio_user_tables ORDER BY relid",
    "SELECT * FROM pg_stat_user_indexes ORDER BY indexrelid",
    "SELECT * FROM pg_stat_xact_user_tables ORDER BY relid",
    "SELECT n_live_tup, last_analyze FROM pg_stat_user_tables ORDER BY relid",
    "SELECT pg_stat_get_live_tuples('student'::regclass), pg_stat_get_tuples_inserted('student'::regclass)",
    "SELECT pg_relation_size('student'), pg_total_relation_size('student'), pg_table_size('student')",
    "SELECT pg_size_pretty(pg_indexes_size('student'))",
    "SELECT pg_relation_size(oid) FROM pg_class WHERE relkind IN ('r', 'i') ORDER BY oid",
    "SELECT * FROM pg_sequences",
    "SELECT * FROM pg_stats_ext",
    "SELECT * FROM pg_prepared_xacts",
    "SELECT * FROM pg_cursors WHERE name <> '' AND statement LIKE '%student%'",
    "SELECT * FROM pg_prepared_statements WHERE statement LIKE '%student%'",
    "SELECT count(*) FROM pg_largeobject_metadata",
    "SELECT obj_description('student'::regclass), col_description('student'::regclass, 1)",
    "SELECT * FROM information_schema.tables ORDER BY 1, 2, 3",
    "SELECT * FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 3, 5",
    "SELECT has_table_privilege('student', 'select'), has_column_privilege('student', 'uid', 'select')",
    "EXPLAIN SELECT count(*) FROM student",
    "EXPLAIN (FORMAT JSON) SELECT major, avg(uid) FROM student GROUP BY major",
    "EXPLAIN SELECT count(*) FROM enrollment e JOIN student s USING (uid) WHERE e.grade > 50",
]


@pytest.mark.parametrize("sql", TELLING)
def test_it_says_the_same_whatever_the_rows(
    sql: str, on_full: psycopg.Connection, on_empty: psycopg.Connection
) -> None:
    found = on_full.execute(sql.encode()).fetchall()
    assert found == on_empty.execute(sql.encode()).fetchall()


#: What reads files, other sessions or other servers, writes, or runs text as a statement.
FORBIDDEN = {
    "SELECT pg_read_file('/etc/passwd')": "42501",
    "SELECT pg_read_binary_file('PG_VERSION')": "42501",
    "SELECT pg_ls_dir('.')": "42501",
    "SELECT pg_stat_file('PG_VERSION')": "42501",
    "SELECT * FROM pg_ls_logdir()": "42501",
    "SELECT current_setting('data_directory')": "42501",
    "SHOW config_file": "42501",
    "SELECT * FROM pg_stat_activity": "42501",
    "SELECT * FROM pg_stat_get_activity(NULL)": "42501",
    "SELECT * FROM pg_authid": "42501",
    "SELECT * FROM pg_statistic": "42501",
    "SELECT * FROM pg_hba_file_rules": "42501",
    "SELECT * FROM pg_file_settings": "42501",
    "SELECT pg_terminate_backend(1)": "42501",
    "SELECT pg_reload_conf()": "42501",
    "SELECT pg_notify('a', 'b')": "42501",
    "SELECT query_to_xml('SELECT 1', true, true, '')": "42501",
    "SELECT table_to_xml('student', true, true, '')": "42501",
    "SELECT schema_to_xml('public', true, true, '')": "42501",
    "SELECT cursor_to_xml('c', 1, true, true, '')": "42501",
    "SELECT database_to_xml(true, true, '')": "42501",
    "SELECT * FROM ts_stat('SELECT 1')": "42501",
    "SELECT lo_from_bytea(0, 'x')": "42501",
    "SELECT lo_creat(-1)": "42501",
    "SELECT lo_import('/etc/passwd')": "42501",
    "SELECT lo_export(1, '/tmp/x')": "42501",
    "SELECT * FROM dblink('dbname=university', 'SELECT 1') AS t(x int)": "42883",
    "SELECT pg_create_logical_replication_slot('a', 'test_decoding')": "42501",
    "SELECT set_config('role', 'dp4sql_catalog', false)": "42501",
    "SELECT set_config('role', 'dp4sql_owner', false)": "42501",
    "SELECT pg_clear_relation_stats('public', 'student')": "42501",
    "SELECT pg_restore_relation_stats('schemaname', 'public', 'relname', 'student', 'relpages', 7)": "42501",
    "SELECT pg_clear_attribute_stats('public', 'student', 'uid', false)": "42501",
    "SELECT pg_restore_attribute_stats('schemaname', 'public')": "42501",
    "SELECT pg_sequence_last_value('student'::regclass)": "42809",
    "SELECT gin_clean_pending_list('student_pkey')": "42809",
    "SELECT set_config('session_authorization', 'dp4sql_catalog', false)": "42501",
    "SELECT set_config('log_statement', 'all', false)": "42501",
    "SELECT ctid FROM student": "42703",
    "SELECT xmin FROM student": "42703",
    "SELECT tableoid FROM student": "42703",
    "SELECT count(*) FROM student TABLESAMPLE SYSTEM (10)": "0A000",
    "SELECT * FROM student": "42501",
    "TABLE student": "42501",
    "COPY student TO STDOUT": "42501",
    "SELECT count(*) FROM student, pg_class": "42501",
    "SELECT (SELECT reltuples FROM pg_class WHERE relname = 'student'), count(*) FROM student": "42501",
    "WITH x AS (DELETE FROM student RETURNING uid) SELECT count(*) FROM x": "0A000",
    "WITH x AS (INSERT INTO pg_class SELECT * FROM pg_class RETURNING 1) SELECT 1 FROM x": "25006",
    "CREATE TEMP TABLE t (x int)": "25006",
    "CREATE EXTENSION dblink": "25006",
    "DO $$ BEGIN END $$": "25006",
    "SET ROLE dp4sql_catalog": "42501",
    "EXPLAIN ANALYZE SELECT count(*) FROM student": "0A000",
    "SELECT count(uid) FROM duckdb_tables()": "42883",
    "SELECT count(*) FROM student WHERE error(name)": "42883",
    "SELECT max(rowid) FROM student": "42703",
    "SUMMARIZE student": "42601",
    "PRAGMA database_list": "42601",
}


@pytest.mark.parametrize("sql", FORBIDDEN)
def test_it_is_refused(sql: str, on_full: psycopg.Connection) -> None:
    with pytest.raises(psycopg.Error) as caught:
        on_full.execute(sql.encode())
    assert caught.value.sqlstate == FORBIDDEN[sql]


def test_no_transaction_lets_a_catalog_query_write(on_full: psycopg.Connection) -> None:
    """The session can lift its own read-only setting on the empty server, and has no right to more."""
    on_full.execute("SELECT set_config('default_transaction_read_only', 'off', false)")
    for sql in (
        "SELECT nextval('s')",
        "SELECT lo_create(1)",
        "WITH x AS (DELETE FROM pg_class RETURNING 1) SELECT 1 FROM x",
    ):
        with pytest.raises(psycopg.Error) as caught:
            on_full.execute(sql.encode())
        assert caught.value.sqlstate in ("42P01", "42501", "25006")
    on_full.execute("RESET ALL")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM student WHERE name::int > 0",
        "SELECT sum(1 / (uid - 500)) FROM student",
        "SELECT count(*) FROM student WHERE 1 / (uid - 500) = 1",
        "SELECT count(*) FROM student WHERE sqrt(uid - 500) > 1",
        "SELECT sum(2147483647 * uid) FROM student",
        "SELECT count(*) FROM student WHERE (uid::text || 'x')::int = 1",
    ],
)
def test_no_row_makes_an_error(sql: str, full: Proxy, empty: Proxy) -> None:
    assert _state(full, sql) == _state(empty, sql)


def _state(running: Proxy, sql: str) -> str | None:
    with connect(running) as client:
        try:
            client.execute(sql.encode())
        except psycopg.Error as error:
            return error.sqlstate
    return None


def test_sessions_do_not_see_each_other(full: Proxy) -> None:
    with connect(full) as first, connect(full) as second:
        first.execute("SELECT now()")
        second.execute("SELECT now()")
        for sql in ("SELECT * FROM pg_stat_activity", "SELECT pg_cancel_backend(1)"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                first.execute(sql.encode())


def test_tags_count_released_rows_alone(
    on_full: psycopg.Connection, on_empty: psycopg.Connection
) -> None:
    """Every bin is shown, full or empty, so the number of rows tells nothing."""
    sql = "SELECT major, count(*) FROM student GROUP BY major"
    tags = [client.execute(sql.encode()).statusmessage for client in (on_full, on_empty)]
    assert tags == ["SELECT 8", "SELECT 8"]
    for client in (on_full, on_empty):
        with client.cursor().copy(f"COPY ({sql}) TO STDOUT".encode()) as copy:
            assert len(list(copy.rows())) == 8
