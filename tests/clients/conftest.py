"""Where the clients connect to, and which of them are installed here."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn, cast

import pytest

from tests.clients.direct import postgres
from tests.clients.place import Place
from tests.clients.serve import proxy

JDBC = Path("/usr/share/java/postgresql.jar")

#: What each module needs: Python packages, programs, files.
NEEDS: dict[str, tuple[str | Path, ...]] = {
    "test_psycopg.py": ("psycopg",),
    "test_psycopg2.py": ("psycopg2",),
    "test_asyncpg.py": ("asyncpg",),
    "test_pg8000.py": ("pg8000",),
    "test_sqlalchemy.py": ("sqlalchemy", "greenlet", "psycopg", "asyncpg"),
    "test_pandas.py": ("pandas", "sqlalchemy"),
    "test_pgcli.py": ("pgcli",),
    "test_psql.py": ("psql/",),
    "test_pg_dump.py": ("pg_dump/",),
    "test_node.py": ("node/", "npm/"),
    "test_jdbc.py": ("java/", "javac/", JDBC),
}


def _here(need: str | Path) -> bool:
    """`name` is a package, `name/` a program."""
    if isinstance(need, Path):
        return need.exists()
    program = need.endswith("/")
    return bool(shutil.which(need[:-1]) if program else importlib.util.find_spec(need))


MISSING = {
    file: absent
    for file, needs in NEEDS.items()
    if (absent := [str(need).rstrip("/") for need in needs if not _here(need)])
}


class Absent(pytest.Module):
    """A module that cannot even be imported without its client."""

    def collect(self) -> NoReturn:
        absent = ", ".join(MISSING[self.path.name])
        pytest.skip(f"not installed here: {absent}", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Package) -> pytest.Module | None:
    if module_path.name not in MISSING:
        return None
    return cast(pytest.Module, Absent.from_parent(parent, path=module_path))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--direct", action="store_true", help="run the clients against a Postgres")


@pytest.fixture(scope="package")
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    if request.config.getoption("--direct", default=False):
        with postgres() as found:
            yield found
        return
    with proxy(tmp_path_factory.mktemp("clients")) as found:
        yield found


@pytest.fixture(scope="session")
def node_modules(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """node-postgres, installed once from the package registry into pytest's cache, where it can have one."""
    try:
        folder = request.config.cache.mkdir("node-clients")
    except (AttributeError, OSError):
        folder = tmp_path_factory.mktemp("node-clients")
    if not (folder / "node_modules" / "pg").exists():
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), "pg@8"]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=120)
        except subprocess.SubprocessError:
            pytest.skip("npm cannot install pg here")
    return folder / "node_modules"
