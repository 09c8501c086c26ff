"""Settings, cursors, statements by name and the rest of what a session keeps."""

from __future__ import annotations

import pytest

from tests.session.talk import ask, reply
from tests.wire.live import SYNC, Raw, bind, describe, execute, parse, query

# ------------------------------------------------------------------ settings


@pytest.mark.parametrize(
    ("sql", "name", "shown"),
    [
        ("SET TIME ZONE 'Europe/Berlin'", "TimeZone", b"Europe/Berlin"),
        ("SET timezone TO 'utc'", "timezone", b"UTC"),
        ("SET SESSION extra_float_digits = 3", "extra_float_digits", b"3"),
        ("SET search_path = public, pg_catalog", "search_path", b"public, pg_catalog"),
        ("SET TIME ZONE INTERVAL '+02:00' HOUR TO MINUTE", "TimeZone", b"<+02>-02"),
        ("SET TIME ZONE INTERVAL '-05:30'", "TimeZone", b"<-05:30>+05:30"),
        ("SET TIME ZONE -7", "TimeZone", b"<-07>+07"),
        ("SET timezone = '5.5'", "TimeZone", b"<+05:30>-05:30"),
        ("SET timezone = '<+02>-02'", "TimeZone", b"<+02>-02"),
        ("SET client_encoding TO 'UTF-8'", "client_encoding", b"UTF8"),
        ("SET NAMES 'utf8'", "client_encoding", b"UTF8"),
        ("SET DateStyle = 'ISO, DMY'", "DateStyle", b"ISO, DMY"),
        ("SET statement_timeout = '5min'", "statement_timeout", b"5min"),
        ("SET work_mem = '8MB'", "work_mem", b"8MB"),
        ("SET dp4sql.epsilon = 0.5", "dp4sql.epsilon", b"0.5"),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE", "transaction_read_only", b"on"),
        ("SET my.own = 'x'", "my.own", b"x"),
        (r"SET my.own = E'a\tb\\c\'d''e\101\x42\u00e9\q'", "my.own", "a\tb\\c'd'eABéq".encode()),
    ],
)
def test_what_is_set_is_shown(raw: Raw, sql: str, name: str, shown: bytes) -> None:
    assert ask(raw, sql).tags == ["SET"]
    assert ask(raw, f"SHOW {name}").rows == [[shown]]


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ("SET client_encoding = 'LATIN1'", "22023"),
        ("SET DateStyle = 'German'", "22023"),
        ("SET IntervalStyle = 'iso_8601'", "22023"),
        ("SET standard_conforming_strings = off", "22023"),
        ("SET TIME ZONE 'Nowhere/Atall'", "22023"),
        ("SET TIME ZONE INTERVAL '1 month'", "22023"),
        ("SET TIME ZONE 24", "22023"),
        ("SET TIME ZONE '<+02>-03'", "22023"),
        ("SET TIME ZONE '+02:00'", "22023"),
        (r"SET my.own = E'\200'", "0A000"),
        ("SET my.own = B'1'", "0A000"),
        ("SET server_version = '9'", "42501"),
        ("SET nosuch = 1", "42704"),
        ("SHOW nosuch", "42704"),
        ("RESET nosuch", "42704"),
        ("SET dp4sql.nosuch = 1", "22023"),
        ("SET ROLE postgres", "42501"),
        ("SET SESSION AUTHORIZATION postgres", "42501"),
        ("SET TRANSACTION SNAPSHOT 'x'", "0A000"),
        ("SET application_name", "42601"),
    ],
)
def test_what_is_not_honoured_is_refused(raw: Raw, sql: str, state: str) -> None:
    assert ask(raw, sql).state == state


@pytest.mark.parametrize("zone", ["5.5", "INTERVAL '+05:30' HOUR TO MINUTE"])
def test_an_offset_is_a_zone_to_the_proxy_and_to_the_catalog(raw: Raw, zone: str) -> None:
    ask(raw, f"SET TIME ZONE {zone}")
    moment = "timestamptz '2024-02-29 22:00:00+00'"
    shown = [[b"2024-03-01 03:30:00+05:30"]]
    assert ask(raw, f"SELECT {moment}").rows == shown
    assert ask(raw, f"SELECT {moment} FROM student GROUP BY 1").rows == shown
    assert ask(raw, "SELECT current_setting('timezone')").rows == [[b"<+05:30>-05:30"]]


def test_a_local_setting_ends_with_its_transaction(raw: Raw) -> None:
    ask(raw, "SET application_name = 'lasting'; BEGIN; SET LOCAL application_name = 'local'")
    assert ask(raw, "SHOW application_name").rows == [[b"local"]]
    ask(raw, "COMMIT")
    assert ask(raw, "SHOW application_name").rows == [[b"lasting"]]
    assert ask(raw, "SET LOCAL application_name = 'x'").warned == "25P01"


def test_changes_are_reported_once_each_and_undone_ones_too(raw: Raw) -> None:
    assert ask(raw, "SET application_name = 'a'").settings == {"application_name": "a"}
    assert ask(raw, "SET application_name = 'a'").settings == {}
    assert ask(raw, "BEGIN; SET TIME ZONE 'Asia/Tokyo'").settings == {"TimeZone": "Asia/Tokyo"}
    assert ask(raw, "ROLLBACK").settings == {"TimeZone": "UTC"}
    assert ask(raw, "RESET application_name").settings == {"application_name": ""}
    assert ask(raw, "SELECT set_config('application_name', 'b', false)").settings == {
        "application_name": "b"
    }
    assert ask(raw, "DISCARD ALL").settings == {"application_name": ""}


def test_discard_forgets_what_the_session_kept(raw: Raw) -> None:
    ask(raw, "PREPARE p AS SELECT 1")
    ask(raw, "DECLARE c CURSOR WITH HOLD FOR SELECT 1")
    assert ask(raw, "DISCARD PLANS").tags == ["DISCARD PLANS"]
    assert ask(raw, "EXECUTE p").tags == ["SELECT 1"]
    assert ask(raw, "DISCARD ALL").tags == ["DISCARD ALL"]
    assert ask(raw, "EXECUTE p").state == "26000"
    assert ask(raw, "FETCH c").state == "34000"
    ask(raw, "BEGIN")
    assert ask(raw, "DISCARD ALL").state == "25001" or ask(raw, "ROLLBACK").status == "I"
    ask(raw, "ROLLBACK")


@pytest.mark.parametrize("sql", ["LISTEN a", "UNLISTEN *", "NOTIFY a, 'b'"])
def test_channels_are_accepted_and_carry_nothing(raw: Raw, sql: str) -> None:
    assert ask(raw, sql).tags == [sql.split()[0]]
    assert raw.silent(0.05)


# ------------------------------------------------------------------ statements and cursors by name


def test_statements_in_sql_and_in_the_protocol_share_their_names(raw: Raw) -> None:
    ask(raw, "PREPARE p (int) AS SELECT $1 + 1")
    raw.send(bind(b"41", statement="p"), execute(), SYNC)
    assert reply(raw.until("Z")).rows == [[b"42"]]
    raw.send(parse("SELECT 7", name="q"), SYNC)
    raw.until("Z")
    assert ask(raw, "EXECUTE q").rows == [[b"7"]]
    assert ask(raw, "PREPARE q AS SELECT 1").state == "42P05"
    assert ask(raw, "DEALLOCATE q").tags == ["DEALLOCATE"]
    assert ask(raw, "DEALLOCATE q").state == "26000"
    assert ask(raw, "EXECUTE p").state == "42601"


def test_a_statement_survives_an_error_and_a_rollback(raw: Raw) -> None:
    ask(raw, "BEGIN; PREPARE p AS SELECT 1")
    ask(raw, "SELECT nosuch")
    ask(raw, "ROLLBACK")
    assert ask(raw, "EXECUTE p").rows == [[b"1"]]


def test_a_cursor_without_hold_ends_with_its_transaction(raw: Raw) -> None:
    ask(raw, "BEGIN; DECLARE c CURSOR FOR SELECT generate_series(1, 3)")
    assert ask(raw, "FETCH 2 FROM c").rows == [[b"1"], [b"2"]]
    assert ask(raw, "MOVE 1 IN c").tags == ["MOVE 1"]
    assert ask(raw, "FETCH c").tags == ["FETCH 0"]
    ask(raw, "COMMIT")
    assert ask(raw, "FETCH c").state == "34000"


def test_a_private_cursor_shows_one_release(raw: Raw) -> None:
    ask(
        raw, "BEGIN; DECLARE c SCROLL CURSOR FOR SELECT major, count(*) FROM student GROUP BY major"
    )
    whole = ask(raw, "FETCH ALL FROM c").rows
    assert len(whole) == 8
    assert ask(raw, "FETCH ABSOLUTE 3 FROM c").rows == [whole[2]]
    assert ask(raw, "FETCH LAST FROM c").rows == [whole[7]]
    assert ask(raw, "FETCH BACKWARD ALL FROM c").rows == whole[6::-1]
    ask(raw, "ROLLBACK")


def test_what_was_named_anew_after_it_was_bound_is_refused_before_it_is_charged(raw: Raw) -> None:
    two, one = "SELECT count(*), count(name) FROM student", "SELECT count(*) FROM student"
    spent = "SELECT spent FROM dp4sql.budget WHERE policy = 'student'"
    ask(raw, f"BEGIN; PREPARE p AS {two}; DECLARE c CURSOR FOR {two}")
    before = ask(raw, spent).rows
    for run in ("EXECUTE p", "FETCH ALL FROM c"):
        raw.send(parse(run, name=run), bind(statement=run, portal=run, results=(0, 1)), SYNC)
        raw.until("Z")
    ask(raw, f"DEALLOCATE p; CLOSE c; PREPARE p AS {one} WHERE uid < 7; SAVEPOINT s")
    ask(raw, f"DECLARE c CURSOR FOR {one} WHERE uid < 8")
    for run in ("EXECUTE p", "FETCH ALL FROM c"):
        raw.send(execute(portal=run), SYNC)
        assert reply(raw.until("Z")).state == "0A000"
        ask(raw, "ROLLBACK TO s")
    assert ask(raw, spent).rows == before
    ask(raw, "ROLLBACK")


def test_closing_a_portal_or_statement_that_is_not_there_is_no_error(raw: Raw) -> None:
    raw.send(
        b"C" + (10).to_bytes(4, "big") + b"Pnone\0",
        b"C" + (10).to_bytes(4, "big") + b"Snone\0",
        SYNC,
    )
    assert raw.kinds() == "33Z"


def test_what_was_charged_is_said_before_the_rows(raw: Raw) -> None:
    """A client that does not take all rows, or is out of time, knows it."""
    for number, form in enumerate(("{}", "COPY ({}) TO STDOUT"), 31):
        raw.send(query(form.format(f"SELECT count(*) FROM student WHERE uid < {number}")))
        kinds = raw.kinds()
        assert 0 <= kinds.rindex("N") < min(kinds.index(kind) for kind in "TH" if kind in kinds)


def test_describing_runs_nothing_and_costs_nothing(raw: Raw) -> None:
    for _ in range(3):
        raw.send(parse("SELECT major, count(*) FROM student GROUP BY 1"), describe("S"), SYNC)
        assert raw.kinds() == "1tTZ"


def test_an_array_is_a_parameter_of_a_private_query_beside_any_alone(raw: Raw) -> None:
    raw.send(parse("SELECT count(*) FROM student WHERE uid = ANY($1)", oids=(1007,)))
    raw.send(bind(b"{1,2,NULL}"), execute(), SYNC)
    assert len(reply(raw.until("Z")).rows) == 1
    raw.send(parse("SELECT count(*) FROM student WHERE uid = $1", oids=(1007,)), SYNC)
    assert reply(raw.until("Z")).state == "42804"
    raw.send(parse("SELECT $1::int[]"), bind(b"{1,2}"), execute(), SYNC)
    assert reply(raw.until("Z")).rows == [[b"{1,2}"]]
