"""psql: its meta-commands are catalog queries, its completion is too."""

from __future__ import annotations

import datetime as dt
import os
import re
import signal
import subprocess
import time

import pytest

from tests.clients.place import ALL_TYPES, MAJORS, NAMES, PARAMETERS, VALUES, Place, counting


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
    lines = psql(place, ALL_TYPES, options=("-At", "-F", "|")).splitlines()
    assert len(lines[0].split("|")) == len(VALUES)
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


@pytest.mark.parametrize(
    "command",
    [
        r"\d", r"\d+", r"\d student", r"\d+ enrollment", r"\dt", r"\dt+", r"\di", r"\ds", r"\dv", r"\dn+",
        r"\du", r"\dp", r"\df", r"\df+ count", r"\dT", r"\dx", r"\dd", r"\dC", r"\do =", r"\dF",
        r"\da count", r"\db", r"\dc", r"\dL", r"\dy", r"\z student", r"\sf pg_get_keywords",
        r"\dconfig work_mem", r"\ddp", r"\det", r"\dRp", r"\dX", r"\encoding", r"\timing",
        r"\dt *.*", r"\dm", r"\drds",
    ],
)  # fmt: skip
def test_introspection(place: Place, command: str) -> None:
    psql(place, command)


@pytest.mark.parametrize("command", [r"\l", r"\dO"])
def test_introspection_that_knows_the_version(place: Place, command: str) -> None:
    """Columns that Postgres 17 renamed: an older psql fails on any newer server."""
    of_server = int(psql(place, "SHOW server_version_num", options=("-At",))) // 10000
    banner = subprocess.run(["psql", "--version"], capture_output=True, text=True, check=True)
    of_psql = int(re.findall(r"\d+", banner.stdout)[0])
    if of_psql < 17 <= of_server:
        with pytest.raises(RuntimeError, match="locale"):
            psql(place, command)
    else:
        psql(place, command)


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
        ["psql", "-X", "-c", "SELECT pg_sleep(30)", place.libpq],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    time.sleep(0.7)
    os.kill(client.pid, signal.SIGINT)
    assert "canceling statement" in client.communicate(timeout=10)[1]


def test_thousand(place: Place) -> None:
    script = "".join(f"SELECT {i};\n" for i in range(1000))
    done = subprocess.run(
        ["psql", "-X", "-At", place.libpq], input=script, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == [str(i) for i in range(1000)]
