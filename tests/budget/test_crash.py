"""Whatever ends a process: every charge that was answered is on disk, and the ledger verifies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dp4sql.budget.ledger import Ledger
from tests.budget.conftest import Where
from tests.budget.killed import killed
from tests.budget.test_ledger import TENTH

LOOP = """
import sys, threading
from fractions import Fraction
from dp4sql.budget.cost import Charge
from dp4sql.budget.ledger import Ledger
ledger = Ledger(sys.argv[1])
def loop():
    while True:
        charge = Charge("p", "e", Fraction(1, 10), None)
        query = ledger.charge([charge], database="db", role="", statement="")
        sys.stdout.write("answered\\n")
        sys.stdout.flush()
        ledger.close_query(query, "answered", database="db", role="")
for _ in range(3):
    threading.Thread(target=loop).start()
"""


@pytest.mark.parametrize("delay", [0.0, 0.07, 0.19])
def test_kill_9_never_loses_a_charge_that_was_answered(where: Where, delay: float) -> None:
    before = Ledger(where)
    before.close()
    answered = killed(LOOP, str(where), delay=delay)
    ledger = Ledger(where)
    charged = [entry for entry in ledger.entries() if entry.kind == "charge"]
    assert answered <= len(charged) <= answered + 3
    assert ledger.spent("db", "e", "p") == len(charged) * TENTH


FILL = """
import resource, signal, sys
from tests.budget.test_ledger import spend, Ledger, charge, LedgerBroken
ledger = Ledger(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
done = failed = 0
while failed < 3:
    try:
        spend(ledger, charge(budget=None))
        done += 1
    except LedgerBroken:
        failed += 1
try:
    ledger.probe()
except LedgerBroken:
    print(done)
"""


def test_a_full_disk_gives_no_answer(tmp_path: Path) -> None:
    """A limit on file size stands for the disk."""
    fill = [sys.executable, "-c", FILL, str(tmp_path / "ledger")]
    result = subprocess.run(fill, capture_output=True, text=True, check=True)
    done = int(result.stdout)  # Nothing, if it had called itself ready.
    assert done > 20
    assert Ledger(tmp_path / "ledger").spent("db", "student", "student") == done * TENTH
