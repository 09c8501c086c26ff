"""docs/clients.md is the table of these very checks."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.clients.conftest import MISSING, NEEDS
from tests.clients.table import FOOT, HEAD, NAMES, TARGET

HERE = Path(__file__).parent


def test_the_table_has_every_check_and_every_one_holds(request: pytest.FixtureRequest) -> None:
    counts = Counter(item.path.name for item in request.session.items if item.path.parent == HERE)
    if request.config.getoption("keyword") or not (NEEDS.keys() - MISSING.keys() <= counts.keys()):
        pytest.skip("only some of the checks were collected")
    shown = TARGET.read_text(encoding="utf-8")
    assert shown.startswith(HEAD.partition("{direct}")[0])
    assert shown.endswith(FOOT)
    rows = dict(re.findall(r"^\| ([^|(]+) \([^|]*\) \|(.*)\|$", shown, re.MULTILINE))
    for file in NEEDS.keys() - MISSING.keys():
        client = file[5:-3]
        cells = re.findall(r"(\d+) / (\d+) ", rows[NAMES.get(client, client)])
        assert all(ours == theirs for ours, theirs in cells), client
        assert sum(int(ours) for ours, _ in cells) == counts[file], (
            f"{client}: make the table again"
        )
