"""libpq_pipeline, the test program of libpq's pipeline mode, built from Debian's source package of Postgres."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path
from typing import Final

#: The tests that write nothing, and those that do.
TESTS: Final = (
    *("disallowed_in_pipeline", "multi_pipelines", "nosync", "pipeline_idle", "prepared"),
    *("simple_pipeline", "singlerow"),
)
WRITING: Final = ("pipeline_abort", "transaction", "uniqviol")
SOURCE: Final = "src/test/modules/libpq_pipeline/libpq_pipeline.c"


def run(port: int, database: str, folder: Path) -> bool:
    """Whether all of TESTS passed, or there is no program to run."""
    program = _built(folder)
    if program is None:
        return True
    address = f"host=127.0.0.1 port={port} user=postgres dbname={database}"
    good = True
    for test in TESTS:
        done = subprocess.run([program, test, address], check=False, timeout=120)
        print(f"libpq_pipeline {test}: {'passed' if done.returncode == 0 else 'FAILED'}")
        good &= done.returncode == 0
    for test in WRITING:
        print(f"libpq_pipeline: without {test}: it writes")
    return good


def _built(folder: Path) -> Path | None:
    program = folder / "libpq_pipeline"
    try:
        source = folder / "libpq_pipeline.c"
        # The setting has had another name since version 16, and the catalog's Postgres is newer.
        text = _source(folder).replace("force_parallel_mode", "debug_parallel_query")
        source.write_text(text)
        headers = ["-I" + _config(f"--includedir{kind}") for kind in ("", "-server")]
        libraries = ["-L" + _config(f"--{kind}dir") for kind in ("lib", "pkglib")]
        linked = ["-lpq", "-lpgcommon", "-lpgport", "-lm"]
        _quiet("cc", *headers, str(source), "-o", str(program), *libraries, *linked)
    except (OSError, subprocess.SubprocessError, StopIteration) as error:
        print(f"libpq_pipeline: skipped, it cannot be built here ({error})")
        print("  it takes Debian or Ubuntu with a C compiler and postgresql-server-dev-15 or later")
        return None
    return program


def _source(folder: Path) -> str:
    """From the source package of the installed headers, without touching the system's own lists."""
    major = _config("--version").split()[1].partition(".")[0]
    installed = ["dpkg-query", "-f", "${Version}", "-W", f"postgresql-server-dev-{major}"]
    apt = ["apt-get", "-q", *_private(folder)]
    _quiet(*apt, "update")
    package = f"postgresql-{major}={_said(*installed)}"
    _quiet(*apt, "source", "--download-only", package, cwd=folder)
    with tarfile.open(next(folder.glob("postgresql-*.orig.tar.*"))) as packed:
        member = next(m for m in packed if m.name.endswith(SOURCE))
        found = packed.extractfile(member)
        assert found is not None
        return found.read().decode()


def _private(folder: Path) -> list[str]:
    """Options for apt: the system's sources with source packages among them, all files in `folder`."""
    parts = folder / "sources"
    parts.mkdir()
    system = Path("/etc/apt")
    for file in (system / "sources.list", *system.glob("sources.list.d/*")):
        if file.suffix in (".list", ".sources") and file.exists():
            text = file.read_text().replace("Types: deb\n", "Types: deb-src\n")
            lines = (
                f"deb-src {line[4:]}" if line[:4] == "deb " else line for line in text.split("\n")
            )
            (parts / file.name).write_text("\n".join(lines))
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    places = {
        "Dir::Etc::SourceList": os.devnull,
        "Dir::Etc::SourceParts": str(parts),
        "Dir::State::Lists": str(folder / "lists"),
        "Dir::Cache": str(folder / "cache"),
    }
    return [part for option in places.items() for part in ("-o", "=".join(option))]


def _config(option: str) -> str:
    return _said("pg_config", option)


def _said(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _quiet(*command: str, cwd: Path | None = None) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=600, cwd=cwd)
