"""The parts of the clients' own test suites that make sense for a server that only reads.

python -m tests.clients.suites [NAME ...]   gets the sources from the package registry, runs them, exits 1
                                      when a test fails that is not expected to. All, unless named.

DP4SQL_PSYCOPG_TESTS names a checkout of psycopg, whose tests are in no package.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.clients.suites import pipeline
from tests.wire.live import proxy

PLUGINS = Path(__file__).parent
DATABASE: Final = "postgres"


@dataclass(frozen=True)
class Suite:
    """`parts` are files and folders of the source, `excluded` tests with the reason for each."""

    package: str
    parts: tuple[str, ...]
    needs: tuple[str, ...] = ()
    excluded: Mapping[str, str] = field(default_factory=dict)


SESSIONS = "it ends another session by pg_terminate_backend, which nobody may call"
KEEPS_NONE = "pg_prepared_statements is that of the empty Postgres, which keeps none"
MOVES_ON = "each catalog query is a transaction of its own, in which now() moves on"
STYLE = "intervals are shown in the style postgres alone"
NOT_PG8000: Final = {
    "auth": "logins by other means than SCRAM",
    "test_benchmarks.py": "times, which need pytest-benchmark",
    "test_query.py::test_max_parameters": "minutes within the client itself",
    "test_query.py::test_close_prepared_statement": KEEPS_NONE,
    "test_query.py::test_tpc_prepare": "two-phase commit",
    "test_connection.py::test_notify": "nothing is sent on channels",
    "test_connection.py::test_notify_with_payload": "nothing is sent on channels",
    "test_connection.py::test_broken_pipe_read": SESSIONS,
    "test_connection.py::test_broken_pipe_unpack": SESSIONS,
    "test_connection.py::test_broken_pipe_flush": SESSIONS,
    "test_connection.py::test_application_name": "pg_stat_activity shows other sessions",
    "test_connection.py::test_parameter_statuses": "a session cannot change its role",
    "test_connection.py::test_no_data_error_recovery": "DROP is refused before its table is sought",
    "test_typeconversion.py::test_xml_roundtrip": "the Postgres of the wheel is built without XML",
    "test_typeconversion.py::test_hstore_roundtrip": "no extensions",
    "test_typeconversion.py::test_roundtrip_cast": "with hstore, and a cast to unknown",
    "test_typeconversion.py::test_interval_in_iso_8601": STYLE,
    "test_typeconversion.py::test_interval_in_postgres_verbose": STYLE,
    "test_typeconversion.py::test_interval_in_sql_standard": STYLE,
    "test_typeconversion.py::test_timestamptz_in[01:30-2001-02-03 04:05:06.17+01:30-test_output2]": (
        "an offset in quotes, which Postgres counts westwards, is refused"
    ),
}
SUITES: Final = (
    Suite(
        "asyncpg",
        tuple(
            f"tests/test_{name}.py"
            for name in (
                *("cursor", "prepare", "introspection", "execute", "codecs", "timeout"),
                *("cancellation", "transaction", "copy", "pool"),
            )
        ),
        excluded={
            "tests/test_prepare.py::TestPrepare::test_prepare_14_explain": "EXPLAIN ANALYZE",
            "tests/test_pool.py::TestPool::test_pool_remote_close": SESSIONS,
            "tests/test_pool.py::TestPool::test_pool_min_size_restored_after_idle_connection_loss": SESSIONS,
            "tests/test_execute.py::TestExecuteScript::test_execute_script_interrupted_by_server": SESSIONS,
            "tests/test_codecs.py::TestCodecs::test_timetz_encoding": MOVES_ON,
        },
    ),
    Suite(
        "pg8000",
        ("test/native", "test/dbapi"),
        ("pytz", "pytest-mock"),
        excluded={
            **{
                f"test/{api}/{name}": reason
                for api in ("native", "dbapi")
                for name, reason in NOT_PG8000.items()
            },
        },
    ),
)


def run(suite: Suite, port: int, folder: Path) -> bool:
    source = _source(suite, folder)
    if source is None:
        print(f"{suite.package}: skipped, its source cannot be had from the package registry")
        return True
    arguments = [part for name in suite.excluded for part in ("--deselect", name)]
    ignored = [f"--ignore={name}" for name in suite.excluded if "::" not in name]
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "readonly", "-p", "no:cacheprovider",
         "--tb=native", *suite.parts, *arguments, *ignored],
        cwd=source, env=_environment(port), check=False,
    )  # fmt: skip
    for name, reason in suite.excluded.items():
        print(f"{suite.package}: without {name}: {reason}")
    return found.returncode == 0


def _environment(port: int) -> dict[str, str]:
    return os.environ | {
        "PGHOST": "127.0.0.1", "PGPORT": str(port), "PGUSER": "postgres", "PGPASSWORD": "any",
        "PGDATABASE": DATABASE, "PYTHONPATH": str(PLUGINS), "PYTHONWARNINGS": "ignore",
    }  # fmt: skip


def _source(suite: Suite, folder: Path) -> Path | None:
    """The unpacked source, without the package itself: the installed one is tested."""
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    get = [
        "download",
        "--no-deps",
        "--no-binary",
        suite.package,
        "--dest",
        str(folder),
        suite.package,
    ]
    try:
        subprocess.run([*pip, *get], check=True, timeout=300)
        if suite.needs:
            subprocess.run([*pip, "install", *suite.needs], check=True, timeout=300)
    except subprocess.SubprocessError:
        return None
    archive = next(folder.glob(f"{suite.package}-*.tar.gz"))
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    source = folder / archive.name.removesuffix(".tar.gz")
    if (source / suite.package).exists():
        (source / suite.package).rename(source / "source")
    return source


# ------------------------------------------------------------------ not in any package

NOT_PSYCOPG: Final = {
    "tests/pq/test_pipeline.py::test_pipeline_abort": "it writes",
    "tests/test_pipeline.py::test_prepared": KEEPS_NONE,
    "tests/test_pipeline.py::test_auto_prepare": KEEPS_NONE,
}
PSYCOPG: Final = ("tests/pq/test_pipeline.py", "tests/test_cursor.py", "tests/test_pipeline.py")


def psycopg(port: int) -> bool:
    checkout = os.environ.get("DP4SQL_PSYCOPG_TESTS")
    if not checkout:
        print(
            "psycopg: skipped, its package has no tests and DP4SQL_PSYCOPG_TESTS names no checkout"
        )
        return True
    address = f"host=127.0.0.1 port={port} user=postgres dbname={DATABASE}"
    without = [part for name in NOT_PSYCOPG for part in ("--deselect", name)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "readonly", "--tb=native",
         f"--test-dsn={address}", "-m", "not slow and not mypy", *PSYCOPG, *without],
        cwd=checkout, env=_environment(port), check=False,
    )  # fmt: skip
    for name, reason in NOT_PSYCOPG.items():
        print(f"psycopg: without {name}: {reason}")
    return done.returncode == 0


def results(port: int, folder: Path) -> Iterator[bool]:
    named = sys.argv[1:] or [*(suite.package for suite in SUITES), "libpq_pipeline", "psycopg"]
    for suite in SUITES:
        if suite.package in named:
            yield run(suite, port, folder)
    if "libpq_pipeline" in named:
        yield pipeline.run(port, DATABASE, folder)
    if "psycopg" in named:
        yield psycopg(port)


def main() -> int:
    with tempfile.TemporaryDirectory() as name, proxy(Path(name), database=DATABASE) as running:
        return 0 if all(list(results(running.port, Path(name)))) else 1


if __name__ == "__main__":
    sys.exit(main())
