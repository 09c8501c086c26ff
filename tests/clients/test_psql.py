"""psql: its meta-commands are catalog queries, its completion is too."""

from __future__ import annotations

import datetime as dt
import signal
import subprocess

import pytest

from tests.clients.cancelling import cancelling
from tests.clients.direct import postgres
from tests.clients.place import (
    ALL_RELEASED,
    ALL_TYPES,
    MAJORS,
    NAMES,
    PARAMETERS,
    SHOWN,
    Place,
    counting,
)


def psql(place: Place, *commands: str, options: tuple[str, ...] = ()) -> str:
    """The output of psql, which fails on the first error."""
    each = [part for command in commands for part in ("-c", command)]
    done = subprocess.run(
        ["psql", "-X", "-v", "ON_ERROR_STOP=1", *options, *each, place.libpq],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def test_connect(place: Place) -> None:
    out = psql(place, r"\conninfo")
    assert "SSL connection" in out
    assert 'as user "ann"' in out


def test_results(place: Place) -> None:
    for sql in (ALL_TYPES, ALL_RELEASED):
        assert psql(place, sql, options=("-At", "-F", "|")).splitlines()[-1].split("|") == SHOWN
    majors = psql(place, MAJORS, options=("-At", "-F", "|")).splitlines()
    assert [line.split("|")[0] for line in majors] == NAMES


@pytest.mark.parametrize("kind", PARAMETERS)
def test_parameters(place: Place, kind: str) -> None:
    """psql writes its variables into the text, quoted."""
    value = PARAMETERS[kind][1]
    text = f"{value.total_seconds()} s" if isinstance(value, dt.timedelta) else str(value)
    given = "NULL" if value is None else ":'value'"
    done = subprocess.run(
        ["psql", "-X", "-At", "-v", f"value={text}", place.libpq], input=counting(kind, given),
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert int(done.stdout) > 500, done.stderr


def test_prepared(place: Place) -> None:
    each = [f"EXECUTE below({bound})" for bound in (10, 20, 30)]
    prepare = "PREPARE below(int) AS SELECT count(*) FROM student WHERE uid < $1"
    assert len(psql(place, prepare, *each, options=("-Atq",)).splitlines()) == 3


def test_error(place: Place) -> None:
    with pytest.raises(RuntimeError, match=r"LINE 1: SELECT count\(nosuch\)"):
        psql(place, "SELECT count(nosuch) FROM student")
    assert (
        psql(place, r"\set ON_ERROR_STOP 0", "SELECT nosuch", "SELECT 1", options=("-At",)) == "1\n"
    )


#: Of psql's \\? everything that asks the server; those with an argument once more where that asks other things.
ASKING = [
    r"\d", r"\d+", r"\dS+ pg_class", r"\da count", r"\dA", r"\dA+", r"\dAc", r"\dAf", r"\dAo", r"\dAp",
    r"\db", r"\dc", r"\dconfig work_mem", r"\dC", r"\dC+", r"\ddp", r"\det", r"\deu", r"\dew", r"\des",
    r"\df+ count", r"\dF", r"\dFd", r"\dFp", r"\dFt", r"\dg", r"\di", r"\di+", r"\dl", r"\dL", r"\dm",
    r"\dn+", r"\do =", r"\dO", r"\dO+", r"\dp", r"\dP", r"\drds", r"\dRp", r"\dRs", r"\ds", r"\dt+",
    r"\dt *.*", r"\dT", r"\dT+", r"\du", r"\du+", r"\dv", r"\dx", r"\dX", r"\dy", r"\l", r"\l+",
    r"\sv pg_roles", r"\z student", r"\lo_list", r"\encoding", r"\timing", r"\errverbose",
    "SELECT 1 AS a, 2 AS b \\gset", "SELECT 'SELECT 1' \\gexec", f"{MAJORS} \\gx",
    "SELECT major, 'n' AS k, count(*) AS n FROM student GROUP BY major \\crosstabview",
]  # fmt: skip

#: What a Postgres with the same tables prints, letter for letter.
EQUAL = [
    r"\d student", r"\d+ student", r"\d+ enrollment", r"\dd", r"\dD", r"\dE", r"\df", r"\dm", r"\dP",
    r"\ds", r"\dv", r"\sf pg_get_keywords", r"\dO", f"{MAJORS} \\gdesc",
]  # fmt: skip


@pytest.mark.parametrize("command", ASKING)
def test_introspection(place: Place, command: str) -> None:
    psql_reads(place, command)


def psql_reads(place: Place, commands: str) -> str:
    """What psql prints that reads `commands` from its standard input, up to the first error."""
    done = subprocess.run(
        ["psql", "-X", "-v", "ON_ERROR_STOP=1", place.libpq], input=commands + "\n",
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_prints_what_it_prints_of_a_postgres(place: Place) -> None:
    """The databases have other collations, which only \\dO and \\l show."""
    with postgres() as direct:
        for command in EQUAL:
            assert psql_reads(place, command) == psql_reads(direct, command), command


def test_descriptions(place: Place) -> None:
    out = psql(place, r"\d+ enrollment")
    assert '"enrollment_pkey" PRIMARY KEY' in out
    assert "FOREIGN KEY (uid) REFERENCES student(uid)" in out
    assert "private under student" in out


def test_gdesc(place: Place) -> None:
    done = subprocess.run(
        ["psql", "-X", "-At", place.libpq], input=f"{MAJORS} \\gdesc\n",
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["major|text", "n|bigint"]


def test_cursor(place: Place) -> None:
    out = psql(place, MAJORS, options=("-At", "-v", "FETCH_COUNT=3"))
    assert len(out.splitlines()) == 8


def test_copy(place: Place) -> None:
    out = psql(place, rf"\copy ({MAJORS}) to stdout csv header")
    assert out.splitlines()[0] == "major,n"


def test_cancel(place: Place) -> None:
    client = subprocess.Popen(
        ["psql", "-X", "-At", "-c", "SELECT 'here'", "-c", "SELECT pg_sleep(30)", place.libpq],
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert client.stdout is not None
    assert client.stdout.readline() == "here\n"
    with cancelling(lambda: client.send_signal(signal.SIGINT)):
        assert "canceling statement" in client.communicate(timeout=60)[1]


def test_thousand(place: Place) -> None:
    script = "".join(f"SELECT {i};\n" for i in range(1000))
    done = subprocess.run(
        ["psql", "-X", "-At", place.libpq], input=script, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == [str(i) for i in range(1000)]
