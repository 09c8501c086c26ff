"""Cases that other servers of this protocol got wrong, each as a conversation over TCP."""

from __future__ import annotations

import struct

import pytest

from dp4sql.wire import messages as m
from dp4sql.wire import replies as r
from tests.wire.live import (
    FLUSH,
    SYNC,
    TERMINATE,
    Proxy,
    Raw,
    bind,
    describe,
    error,
    execute,
    parse,
    query,
    report,
    row,
    rows,
    startup,
)

PRIVATE = "select major, count(*) from student group by major order by major"
SERIES = "select generate_series(1, 5)"


# ------------------------------------------------------------------ 1 versions


@pytest.mark.parametrize("version", [m.PROTOCOL_3_0 + 2, m.PROTOCOL_3_0 + 9999])
def test_newer_protocols_are_negotiated_down(live: Proxy, version: int) -> None:
    with Raw(live.port) as client:
        answer = client.log_in(version, **{"_pq_.grease": "on"})
    assert answer[0] == ("v", struct.pack("!ii", 196608, 1) + b"_pq_.grease\0")
    assert answer[-1] == ("Z", b"I")


# ------------------------------------------------------------------ 2 flush


@pytest.mark.parametrize("sql", [PRIVATE, SERIES])
def test_flush_brings_the_replies_before_sync(raw: Raw, sql: str) -> None:
    raw.send(parse(sql), describe("S"), FLUSH)
    assert raw.kinds("T") == "1tT"
    raw.send(bind(), execute(), SYNC)
    assert raw.kinds().replace("N", "").replace("D", "") == "2CZ"


# ------------------------------------------------------------------ 3 errors


def test_an_error_comes_at_once_and_silences_the_batch(raw: Raw) -> None:
    raw.send(parse("select nosuch from student"))
    assert report(raw.frame()[1])["C"] == "42703"
    raw.send(parse(SERIES), query("select 1"), bind(), execute())
    assert raw.silent()
    raw.send(SYNC)
    assert raw.frame() == ("Z", b"I")
    assert raw.silent()
    raw.send(query("select 1"))
    assert raw.kinds() == "TDCZ"


def test_each_sync_has_one_answer(raw: Raw) -> None:
    raw.send(parse("selec"), SYNC, SYNC, parse("select 1"), bind(), execute(), SYNC)
    assert raw.kinds() == "EZ"
    assert raw.kinds() == "Z"
    assert raw.kinds() == "12DCZ"


def test_errors_point_into_the_text_that_was_sent(raw: Raw) -> None:
    sql = "select 1; /* é */ select nosuch from student"
    raw.send(query(sql))
    assert int(error(raw.until("Z"))["P"]) == sql.index("nosuch") + 1


def test_nothing_of_a_text_with_a_syntax_error_runs(raw: Raw) -> None:
    raw.send(query("set application_name = 'changed'; selec 1"))
    assert raw.kinds() == "EZ"
    raw.send(query("show application_name"))
    assert rows(raw.until("Z")) == [[b""]]


# ------------------------------------------------------------------ 4 row limits


@pytest.mark.parametrize("sql", [PRIVATE, "select x, x from generate_series(1, 8) x"])
def test_a_row_limit_suspends_the_portal_and_nothing_more(raw: Raw, sql: str) -> None:
    raw.send(parse(sql), bind(), execute(3), execute(3), execute(3), SYNC)
    answer = raw.until("Z")
    kinds = "".join(kind for kind, _ in answer).replace("N", "")
    assert kinds == "12DDDsDDDsDDCZ"
    assert next(body for kind, body in answer if kind == "C") == b"SELECT 2\0"


def test_two_portals_are_read_in_turns_and_across_syncs_of_a_transaction(raw: Raw) -> None:
    raw.send(query("begin"))
    raw.until("Z")
    raw.send(parse(SERIES), bind(portal="a"), bind(portal="b"), SYNC)
    raw.until("Z")
    found = []
    for portal in "abab":
        raw.send(execute(2, portal), SYNC)
        found.append(rows(raw.until("Z")))
    assert found == [[[b"1"], [b"2"]]] * 2 + [[[b"3"], [b"4"]]] * 2


def test_portals_end_with_the_transaction(raw: Raw) -> None:
    raw.send(parse(SERIES), bind(portal="a"), execute(2, "a"), SYNC, execute(2, "a"), SYNC)
    assert raw.kinds() == "12DDsZ"
    assert error(raw.until("Z"))["C"] == "34000"


# ------------------------------------------------------------------ 5 cancel


def cancel(port: int, pid: int, secret: bytes) -> bytes:
    with Raw(port) as client:
        client.send(struct.pack("!iii", 16, m.CANCEL_REQUEST, pid) + secret)
        return client.socket.recv(10)


def test_cancel_stops_a_statement_and_answers_nothing(live: Proxy) -> None:
    with Raw(live.port) as client:
        keys = dict(client.log_in())["K"]
        pid, secret = int.from_bytes(keys[:4], "big", signed=True), keys[4:]
        assert pid > 0
        client.send(query("select pg_sleep(30)"))
        assert cancel(live.port, pid, b"\0\0\0\0") == b""
        assert client.silent()
        while client.silent():  # a request that comes before its statement stops nothing
            assert cancel(live.port, pid, secret) == b""
        assert error(client.until("Z"))["C"] == "57014"
        client.send(query("select 1"))
        assert client.kinds() == "TDCZ"


def test_a_statement_timeout_stops_it_too(raw: Raw) -> None:
    raw.send(query("set statement_timeout = '50ms'"))
    raw.until("Z")
    raw.send(query("select pg_sleep(30)"))
    assert error(raw.until("Z"))["C"] == "57014"


# ------------------------------------------------------------------ 6 formats


def test_announced_formats_are_sent_column_by_column(raw: Raw) -> None:
    sql = "select major, count(*), 'x' from student group by major"
    raw.send(parse(sql), bind(results=(0, 1, 0)), describe("P"), execute(), SYNC)
    answer = raw.until("Z")
    described = next(body for kind, body in answer if kind == "T")
    assert struct.unpack("!H", described[-2:]) == (0,)
    name, count, constant = rows(answer)[0]
    assert name is not None
    assert name.isalpha()
    assert count is not None
    assert len(count) == 8
    assert constant == b"x"


def test_parameters_as_text_and_binary(raw: Raw) -> None:
    sql = "select count(*) from student where uid < $1 and major <> $2"
    raw.send(
        parse(sql), bind(b"10", b"CS"), execute(), bind(struct.pack("!i", 10), b"CS", codes=(1, 0)),
        execute(), SYNC,
    )  # fmt: skip
    answer = raw.until("Z")
    assert len(rows(answer)) == 2


def test_too_many_format_codes_are_an_error_and_no_more(raw: Raw) -> None:
    raw.send(parse("select count(*) from student"), bind(results=(0, 0)), SYNC)
    assert error(raw.until("Z"))["C"] == "08P01"
    raw.send(query("select 1"))
    assert raw.kinds() == "TDCZ"


def test_a_parameter_that_is_not_of_its_type(raw: Raw) -> None:
    raw.send(parse("select count(*) from student where uid = $1"), bind(b"ten"), execute(), SYNC)
    assert error(raw.until("Z"))["C"] == "22P02"


def test_the_number_of_parameters_has_to_fit(raw: Raw) -> None:
    raw.send(parse("select count(*) from student where uid = $1"), bind(), SYNC)
    assert error(raw.until("Z"))["C"] == "08P01"


# ------------------------------------------------------------------ 7 parameter types


def test_parameter_types_are_inferred(raw: Raw) -> None:
    raw.send(
        parse("select count(*) from student where uid < $1 and major = $2"), describe("S"), SYNC
    )
    described = next(body for kind, body in raw.until("Z") if kind == "t")
    assert struct.unpack("!HII", described) == (2, 23, 25)


@pytest.mark.parametrize("condition", ["uid in ($1,$2)", "uid<>$1+$2", "uid = any(array[$1,$2])"])
def test_parameters_need_no_blanks_between(raw: Raw, condition: str) -> None:
    """JDBC, PDO and postgres.js write IN (?,?) as IN ($1,$2)."""
    sql = f"select count(*) from student where {condition}"
    raw.send(parse(sql, oids=(23, 23)), bind(b"1", b"2"), execute(), SYNC)
    assert len(rows(raw.until("Z"))) == 1


def test_the_reset_of_asyncpg_is_one_query(raw: Raw) -> None:
    raw.send(query("SELECT pg_advisory_unlock_all();CLOSE ALL;UNLISTEN *;RESET ALL;"))
    answer = raw.until("Z")
    tags = [body.rstrip(b"\0") for kind, body in answer if kind == "C"]
    assert tags == [b"SELECT 1", b"CLOSE CURSOR ALL", b"UNLISTEN", b"RESET"]


def test_discard_all_and_a_query(raw: Raw) -> None:
    raw.send(query("DISCARD ALL; select 1"))
    assert raw.kinds().replace("S", "") == "CTDCZ"


# ------------------------------------------------------------------ 8 startup


def test_a_wrong_database_is_an_error_and_the_end(live: Proxy) -> None:
    with Raw(live.port) as client:
        client.send(startup(user="ann", database="nosuch"))
        answer = client.rest()
    assert [kind for kind, _ in answer] == ["E"]
    assert error(answer)["C"] == "3D000"


def test_what_drivers_put_into_the_startup_packet_is_taken(live: Proxy) -> None:
    with Raw(live.port) as client:
        options = r"-c statement_timeout=5s --search_path=public -c application_name=a\ b"
        answer = client.log_in(
            options=options,
            extra_float_digits="2",
            client_encoding="'utf-8'",
            TimeZone="Asia/Tokyo",
        )
        told = dict(body.decode().split("\0")[:2] for kind, body in answer if kind == "S")
        assert told["application_name"] == "a b"
        assert told["TimeZone"] == "Asia/Tokyo"
        assert int(told["server_version"].split(".")[0]) >= 13
        client.send(query("show statement_timeout; reset application_name; show application_name"))
        assert rows(client.until("Z")) == [[b"5s"], [b"a b"]]


def test_bad_settings_in_the_startup_packet_end_it(live: Proxy) -> None:
    with Raw(live.port) as client:
        client.send(startup(user="ann", database="university", client_encoding="LATIN1"))
        answer = client.rest()
    assert error(answer)["C"] == "22023"


# ------------------------------------------------------------------ 9 empty queries


def test_empty_queries(raw: Raw) -> None:
    raw.send(query(" -- nothing\n;;"))
    assert raw.kinds() == "IZ"
    raw.send(parse(""), bind(), describe("P"), execute(), SYNC)
    assert raw.kinds() == "12nIZ"


# ------------------------------------------------------------------ 10 cursors, PREPARE, shapes


def test_the_cursor_of_psqlodbc(raw: Raw) -> None:
    raw.send(query(f'BEGIN;declare "C1" cursor with hold for {PRIVATE};fetch 100 in "C1"'))
    answer = raw.until("Z")
    assert len(rows(answer)) == 8
    assert answer[-1] == ("Z", b"T")
    raw.send(query('COMMIT;fetch 1 in "C1"; fetch prior from "C1"; close "C1"; fetch 1 in "C1"'))
    answer = raw.until("Z")
    assert len(rows(answer)) == 1
    assert error(answer)["C"] == "34000"


def test_cursors_move_both_ways(raw: Raw) -> None:
    raw.send(query(f"begin; declare c scroll cursor for {SERIES}"))
    raw.until("Z")
    found = {}
    for step in (
        "fetch 2", "fetch backward 1", "fetch last", "fetch prior", "fetch absolute 2", "fetch relative 2",
        "fetch next", "fetch next", "fetch backward all", "fetch first", "fetch all", "fetch absolute -2",
    ):  # fmt: skip
        raw.send(query(f"{step} from c"))
        found[step] = [int(cell) for (cell,) in rows(raw.until("Z"))]
    assert found == {
        "fetch 2": [1, 2],
        "fetch backward 1": [1],
        "fetch last": [5],
        "fetch prior": [4],
        "fetch absolute 2": [2],
        "fetch relative 2": [4],
        "fetch next": [],
        "fetch backward all": [5, 4, 3, 2, 1],
        "fetch first": [1],
        "fetch all": [2, 3, 4, 5],
        "fetch absolute -2": [4],
    }


def test_a_cursor_is_charged_for_once_whatever_is_fetched(raw: Raw) -> None:
    raw.send(query(f"begin; declare c scroll cursor for {PRIVATE}"))
    raw.until("Z")
    notices, answers = 0, []
    for step in ("all", "backward all", "first"):
        raw.send(query(f"fetch {step} from c"))
        answer = raw.until("Z")
        notices += sum(b"charged" in body for kind, body in answer if kind == "N")
        answers.append(rows(answer))
    assert notices == 1
    assert answers[0] == answers[1][::-1]
    assert answers[2] == answers[0][:1]


def test_prepare_and_execute_in_sql(raw: Raw) -> None:
    raw.send(query("prepare p (int) as select count(*) from student where uid < $1; execute p(10)"))
    assert len(rows(raw.until("Z"))) == 1
    raw.send(query("prepare q as select $1::int + 1; execute q(41); deallocate q; execute q(1)"))
    answer = raw.until("Z")
    assert rows(answer) == [[b"42"]]
    assert error(answer)["C"] == "26000"


def test_describing_rows_that_cannot_be_had_says_so(raw: Raw) -> None:
    raw.send(parse("select * from student"), describe("S"), SYNC)
    assert error(raw.until("Z"))["C"] == "42501"


@pytest.mark.parametrize(
    ("sql", "state"),
    [
        ("create temp view v as select 1", "25006"),
        ("insert into student values (1)", "25006"),
        ("copy student from stdin", "25006"),
        ("copy student to stdout", "42501"),
        ("copy (select count(*) from student) to '/tmp/x'", "42501"),
        ("explain analyze select count(*) from student", "0A000"),
        ("select * from student, pg_class", "42501"),
        ("prepare transaction 'x'", "0A000"),
        ("set role postgres", "42501"),
        ("savepoint a", "25P01"),
        ("declare c cursor for select 1", "25P01"),
        ("fetch 1 from nosuch", "34000"),
        ("set client_encoding = latin1", "22023"),
        ("set nosuch = 1", "42704"),
        ("show nosuch", "42704"),
        ("set dp4sql.nosuch = 1", "22023"),
        ("flurb", "42601"),
        ("select 'open", "42601"),
        ("/* open", "42601"),
    ],
)
def test_what_is_refused_has_its_sqlstate(raw: Raw, sql: str, state: str) -> None:
    raw.send(query(sql))
    assert error(raw.until("Z"))["C"] == state
    raw.send(query("select 1"))
    assert raw.kinds() == "TDCZ"


# ------------------------------------------------------------------ COPY


def test_copy_in_three_formats(raw: Raw) -> None:
    sql = (
        "copy (select review, count(*) from enrollment where review = 5 group by review) to stdout"
    )
    for options, start in (
        ("", b"5\t"),
        (" with csv header", b"review,count\n"),
        (" (format csv, force_quote *)", b'"5","'),
        (" (format binary)", b"PGCOPY\n\xff\r\n\0"),
    ):
        raw.send(query(sql + options))
        answer = [frame for frame in raw.until("Z") if frame[0] != "N"]
        kinds = "".join(kind for kind, _ in answer)
        assert kinds.startswith("Hd")
        assert kinds.endswith("cCZ")
        assert answer[1][1].startswith(start)
    # To Postgres STDIN is the same there, and PHP writes it.
    escapes = r"with delimiter as E'\t' null as E'\\N'"
    raw.send(query(f"copy (values (1, null), (2, 'x')) to stdin {escapes}"))
    answer = raw.until("Z")
    assert [body for kind, body in answer if kind == "d"] == [b"1\t\\N\n", b"2\tx\n"]
    assert answer[-2] == ("C", b"COPY 2\0")


# ------------------------------------------------------------------ transactions


def test_transaction_status_bytes(raw: Raw) -> None:
    steps = [
        ("begin", "T"), ("savepoint a", "T"), ("select nosuch", "E"), ("select 1", "E"),
        ("rollback to a", "T"), ("select 1", "T"), ("selec", "E"), ("commit", "I"), ("commit", "I"),
        ("begin; select nosuch", "E"), ("rollback and chain", "T"), ("end", "I"),
    ]  # fmt: skip
    found = []
    for sql, _ in steps:
        raw.send(query(sql))
        found.append((sql, raw.until("Z")[-1][1].decode()))
    assert found == steps


def test_a_failed_transaction_ignores_all_but_its_end(raw: Raw) -> None:
    raw.send(query("begin; select nosuch"))
    raw.until("Z")
    raw.send(parse("select 1"), SYNC)
    assert error(raw.until("Z"))["C"] == "25P02"
    raw.send(query("commit"))
    assert raw.until("Z")[-2] == ("C", b"ROLLBACK\0")


def test_settings_follow_their_transaction(raw: Raw) -> None:
    def shown(*statements: str) -> list[bytes | None]:
        raw.send(query("; ".join([*statements, "show application_name"])))
        return rows(raw.until("Z"))[-1]

    assert shown("begin", "set application_name = 'x'", "rollback") == [b""]
    assert shown("begin", "set application_name = 'x'", "commit") == [b"x"]
    assert shown("begin", "set local application_name = 'y'") == [b"y"]
    assert shown("commit") == [b"x"]
    assert shown("begin", "savepoint a", "set application_name = 'z'", "rollback to a") == [b"x"]
    assert shown("commit", "reset application_name") == [b""]


def test_changed_settings_are_reported(raw: Raw) -> None:
    raw.send(query("set timezone = 'Europe/Berlin'"))
    assert ("S", b"TimeZone\0Europe/Berlin\0") in raw.until("Z")
    raw.send(query("select set_config('search_path', '', false)"))
    assert ("S", b"search_path\0\0") in raw.until("Z")
    raw.send(query("show search_path"))
    assert rows(raw.until("Z")) == [[b""]]


def test_settings_hold_in_the_catalog_too(raw: Raw) -> None:
    raw.send(query("set timezone = 'Asia/Tokyo'; select '2024-01-01 00:00+00'::timestamptz"))
    assert rows(raw.until("Z")) == [[b"2024-01-01 09:00:00+09"]]
    raw.send(
        query(
            "set enable_seqscan = off; show enable_seqscan; reset enable_seqscan; show enable_seqscan"
        )
    )
    assert rows(raw.until("Z")) == [[b"off"], [b"on"]]


# ------------------------------------------------------------------ ends


def test_terminate_ends_the_connection(raw: Raw) -> None:
    raw.send(TERMINATE)
    assert raw.rest() == []


@pytest.mark.parametrize(
    "bytes_", [b"\x00\x00\x00\x00\x01", b"Q\xff\xff\xff\xff", b"Q\0\0\0\x05x", b"p\0\0\0\x05x"]
)
def test_bytes_that_are_no_protocol_end_the_connection(raw: Raw, bytes_: bytes) -> None:
    raw.send(bytes_)
    answer = raw.rest()
    assert error(answer)["C"] == "08P01"
    assert error(answer)["S"] == "FATAL"


def test_text_that_is_no_utf8_is_an_error_of_the_statement(raw: Raw) -> None:
    raw.send(r.frame(b"Q", b"select '\xff'\0"))
    assert error(raw.until("Z"))["C"] == "22021"


def test_a_row_is_what_its_description_says(raw: Raw) -> None:
    raw.send(query("select 1 as one, null as none"))
    answer = raw.until("Z")
    assert row(next(body for kind, body in answer if kind == "D")) == [b"1", None]
