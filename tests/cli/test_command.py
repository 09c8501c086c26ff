"""The command as a person runs it: its output, its exit code, the process it is."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import duckdb
import psycopg
import pytest

import dp4sql
from dp4sql.cli import main
from dp4sql.data import university
from tests.serving import serving

ROOT = Path(__file__).parent.parent.parent
POLICY = str(ROOT / "policies" / "university.yaml")
COMMAND = (sys.executable, "-m", "dp4sql")


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def dp4sql_(*arguments: str, text: str = "") -> Done:
    """What the process would say and exit with, without its start."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), mock.patch("sys.stdin", io.StringIO(text)):
        try:
            code = main(arguments)
        except SystemExit as end:
            code = end.code
    return Done(code, out.getvalue(), err.getvalue())


def process(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (*COMMAND, *arguments), capture_output=True, text=True, check=False, timeout=120
    )


# ------------------------------------------------------------------ help


def test_version() -> None:
    assert process("--version").stdout == f"dp4sql {dp4sql.__version__}\n"


@pytest.mark.parametrize(
    "command", ["serve", "demo", "explain", "check", "ledger", "data-version", "user"]
)
def test_help_teaches_by_example(command: str) -> None:
    shown = dp4sql_(command, "--help")
    assert shown.returncode == 0
    assert f"  dp4sql {command} " in shown.stdout.partition("examples:")[2]
    assert command in dp4sql_("--help").stdout


def test_a_wrong_command_line_exits_with_2() -> None:
    for arguments in ((), ("explian",), ("explain", "SELECT 1")):
        done = dp4sql_(*arguments)
        assert done.returncode == 2
        assert "usage:" in done.stderr
        assert not done.stdout


def test_a_process_says_and_exits_with_the_same() -> None:
    for arguments in (("explian",), ("explain", "--policy", POLICY, "SELECT 1 FROM nosuch")):
        done, said = process(*arguments), dp4sql_(*arguments)
        assert (done.returncode, done.stdout, done.stderr) == (said.returncode, "", said.stderr)


# ------------------------------------------------------------------ explain


def test_explain_prints_bound_noise_and_price() -> None:
    shown = dp4sql_("explain", "--policy", POLICY, "SELECT COUNT(*) FROM student").stdout
    assert "COUNT(*): 1 under policy student" in shown
    assert "noise scale 1, 95 % within +-3" in shown
    assert "price (epsilon): student 1, faculty 0, faculty_salary 0" in shown


def test_explain_as_json_from_standard_input() -> None:
    done = dp4sql_(
        "explain", "--policy", POLICY, "--json", "-", text="SELECT COUNT(*) FROM student"
    )
    shown = json.loads(done.stdout)
    assert shown["aggregates"][0]["bounds"]["student"] == "1"
    assert shown["charges"]["student"] == "1"


def test_a_refusal_points_at_its_place_and_exits_with_1() -> None:
    done = dp4sql_("explain", "--policy", POLICY, "SELECT COUNT(*)\nFROM student WHERE majr = 'x'")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        'dp4sql: column "majr" does not exist',
        "  FROM student WHERE majr = 'x'",
        "                     ^",
        '  hint: Perhaps "major" was meant.',
    ]


def test_mistakes_of_a_policy_come_with_their_lines(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(Path(POLICY).read_text().replace("student: del", "studen: del"))
    done = dp4sql_("explain", "--policy", str(bad), "SELECT 1")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert len(lines) >= 2
    assert all(re.match(rf"{re.escape(str(bad))}:\d+: ", line) for line in lines)


def test_a_reader_that_stops_reading_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        (*COMMAND, "explain", "--policy", POLICY, "--json", "SELECT COUNT(*) FROM student"),
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert done.stderr == b""


# ------------------------------------------------------------------ serve


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_answers_until_a_signal(database: str, tmp_path: Path, number: int) -> None:
    ledger = tmp_path / "my.ledger"
    with serving("--policy", POLICY, "--database", database, "--ledger", str(ledger)) as (
        process,
        port,
    ):
        with psycopg.connect(f"host=127.0.0.1 port={port} user=me dbname=university") as client:
            (count,) = client.execute("SELECT COUNT(*) FROM student").fetchone() or (0,)
        assert abs(count - university.STUDENTS) < 60  # once in e^60 runs it is not
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert out.endswith("stopped\n")
        assert "Traceback" not in err
    assert ledger.exists()


def test_serve_asks_for_a_password_where_there_are_users(database: str, tmp_path: Path) -> None:
    users = tmp_path / "users.txt"
    assert dp4sql_("user", "add", str(users), "alice", text="wonderland\n").returncode == 0
    assert "wonderland" not in users.read_text()
    ledger = str(tmp_path / "l")
    with serving(
        "--policy", POLICY, "--database", database, "--ledger", ledger, "--users", str(users)
    ) as (_, port):
        where = f"host=127.0.0.1 port={port} dbname=university user=alice"
        with psycopg.connect(f"{where} password=wonderland") as client:
            assert client.execute("SELECT COUNT(*) FROM section").fetchone() == (
                university.SECTIONS,
            )
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(f"{where} password=looking-glass")


def test_serve_says_why_it_cannot(database: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for arguments, found in (
            (("--database", f"duckdb://{tmp_path}/none.duckdb"), "no database file none.duckdb"),
            (("--database", "oracle://host/x"), '"oracle" is not an engine'),
            (
                ("--database", database, "--listen", f"127.0.0.1:{port}"),
                "Address already in use.*hint: --listen 127.0.0.1:0 takes a free port",
            ),
            (
                (
                    "--database",
                    database,
                    "--listen",
                    "127.0.0.1:0",
                    "--metrics-address",
                    f"127.0.0.1:{port}",
                ),
                "hint: --metrics-address 127.0.0.1:0 takes a free port",
            ),
            (("--database", database, "--listen", "0.0.0.0:0"), "not this machine alone"),
            (("--database", database, "--listen", "here"), "not an address to listen on"),
            (("--database", database, "--users", f"{tmp_path}/none"), "No such file"),
            (("--database", database, "--tls", "none.crt", "none.key"), "none.crt and none.key"),
            (("--database", "postgresql://me:secret@127.0.0.1/x"), "--ledger says where"),
            (
                ("--database", f"postgresql://me:secret@127.0.0.1:{port}/", "--ledger", "x"),
                "names no database",
            ),
        ):
            done = dp4sql_("serve", "--policy", POLICY, *arguments)
            assert done.returncode == 1
            assert re.search(found, done.stderr, re.DOTALL), done.stderr
            assert "Traceback" not in done.stderr
            assert "secret" not in done.stderr


def test_serve_wants_the_tables_of_the_policy(tmp_path: Path) -> None:
    path = tmp_path / "other.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE student (uid VARCHAR, name VARCHAR)")
    done = dp4sql_("serve", "--policy", POLICY, "--database", f"duckdb://{path}")
    assert done.returncode == 1
    for found in (
        "student: uid is varchar there, integer here",
        "student: the database has no column major",
        "faculty: the database has no such table",
    ):
        assert re.search(rf"university\.yaml:\d+: {found}", done.stderr), done.stderr


def test_serve_reads_its_policy_again_on_sighup(database: str, tmp_path: Path) -> None:
    policy, log = tmp_path / "university.yaml", tmp_path / "audit.jsonl"
    policy.write_text(Path(POLICY).read_text())
    arguments = ("--policy", str(policy), "--ledger", str(tmp_path / "l"), "--audit-log", str(log))
    with serving("--database", database, *arguments) as (process, port):
        where = f"host=127.0.0.1 port={port} user=me dbname=university"
        with psycopg.connect(where, autocommit=True) as client:
            client.execute("SELECT COUNT(*) FROM student")
            policy.write_text(policy.read_text().replace("budget: 20", "budget: 1"))
            process.send_signal(signal.SIGHUP)
            assert process.stderr is not None
            while "reloaded" not in (line := process.stderr.readline()):
                assert line
            client.execute("SET dp4sql.reuse = off")
            with pytest.raises(psycopg.Error, match="0 of 1 is left"):
                client.execute("SELECT COUNT(*) FROM student")
            policy.write_text("nonsense")
            process.send_signal(signal.SIGHUP)
            while "not reloaded" not in (line := process.stderr.readline()):
                assert line
            assert client.execute("SELECT COUNT(*) FROM section").fetchone() == (
                university.SECTIONS,
            )
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    outcomes = [json.loads(line)["outcome"] for line in log.read_text().splitlines()]
    assert outcomes == ["asked", "answered", "asked", "refused", "asked", "answered"]


def test_serve_observes_and_shows_pages(database: str, tmp_path: Path) -> None:
    flags = ("--observe", "--metrics-address", "127.0.0.1:0", "--ledger", str(tmp_path / "l"))
    with serving("--policy", POLICY, "--database", database, *flags) as (process, port):
        assert process.stdout is not None
        pages = re.search(r"http://\S+?/", "".join(process.stdout.readline() for _ in range(2)))
        assert pages
        where = f"host=127.0.0.1 port={port} user=me dbname=university"
        with psycopg.connect(where, autocommit=True) as client:
            assert client.execute("SELECT COUNT(*) FROM student").fetchall() == []
        with urllib.request.urlopen(f"{pages[0]}metrics", timeout=60) as found:
            assert b'statements_total{outcome="observed"} 1.0' in found.read()
