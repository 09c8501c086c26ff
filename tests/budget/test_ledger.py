"""The ledger never admits more than a budget, forgets nothing, and notices when it was changed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from fractions import Fraction
from pathlib import Path

import pytest

from dp4sql.budget.cost import Charge
from dp4sql.budget.ledger import Ledger
from dp4sql.errors import BudgetExceeded, LedgerBroken

TENTH = Fraction(1, 10)


def charge(epsilon: Fraction = TENTH, budget: int | None = 1, policy: str = "student") -> Charge:
    return Charge(policy, policy, epsilon, None if budget is None else Fraction(budget))


def spend(ledger: Ledger, *charges: Charge) -> int | None:
    return ledger.charge(charges or (charge(),), database="db", role="ann", statement="SELECT 1")


def test_ten_tenths_are_one(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    for _ in range(10):
        spend(ledger)
    with pytest.raises(BudgetExceeded) as caught:
        spend(ledger)
    assert "0 of 1 is left" in caught.value.message
    assert ledger.spent("db", "student", "student") == 1


def test_all_policies_of_a_query_or_none(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    with pytest.raises(BudgetExceeded):
        spend(ledger, charge(), charge(Fraction(2), policy="faculty"))
    assert ledger.spent("db", "student", "student") == 0
    assert ledger.entries() == []


def test_what_costs_nothing_is_not_written(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    assert spend(ledger, charge(Fraction(0))) is None
    assert ledger.entries() == []


def test_it_survives_a_restart(tmp_path: Path) -> None:
    first = Ledger(tmp_path / "ledger")
    spend(first)
    first.close()
    assert Ledger(tmp_path / "ledger").spent("db", "student", "student") == TENTH


def test_a_renamed_policy_starts_where_its_entity_is(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.open_accounts([("student", "old"), ("student", "second")], database="db")
    ledger.charge(
        [Charge("old", "student", Fraction(3), None)], database="db", role="", statement=""
    )
    ledger.open_accounts([("student", "old"), ("student", "new")], database="db")
    assert ledger.spent("db", "student", "new") == 3
    assert ledger.spent("db", "student", "second") == 0
    assert ledger.spent("other", "student", "new") == 0


def test_exact_thirds(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    for _ in range(3):
        spend(ledger, charge(Fraction(1, 3)))
    with pytest.raises(BudgetExceeded):
        spend(ledger, charge(Fraction(1, 10**30)))


@pytest.mark.parametrize(
    "change",
    ["UPDATE entries SET epsilon = '1/1000' WHERE id = 2", "DELETE FROM entries WHERE id = 1"],
)
def test_tampering_is_noticed(tmp_path: Path, change: str) -> None:
    path = tmp_path / "ledger"
    ledger = Ledger(path)
    for _ in range(3):
        spend(ledger)
    ledger.close()
    with sqlite3.connect(path) as db:
        db.execute("DROP TRIGGER entries_no_update")
        db.execute("DROP TRIGGER entries_no_delete")
        db.execute(change)
    with pytest.raises(LedgerBroken) as caught:
        Ledger(path)
    assert "backup" in (caught.value.hint or "")


def test_rows_cannot_be_changed_by_accident(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    spend(Ledger(path))
    with sqlite3.connect(path) as db, pytest.raises(sqlite3.IntegrityError):
        db.execute("UPDATE entries SET epsilon = '0'")


def test_a_file_that_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(LedgerBroken):
        Ledger(path)


def _attempts(path: str, count: int, out: multiprocessing.Queue[int]) -> None:
    ledger = Ledger(path)
    passed = []

    def many() -> None:
        for _ in range(count):
            try:
                spend(ledger, charge(Fraction(1, 7), 10))
                passed.append(1)
            except BudgetExceeded:
                continue

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out.put(len(passed))


def test_two_processes_of_four_clients_never_overspend(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger")
    Ledger(path).close()
    context = multiprocessing.get_context("spawn")
    out = context.Queue()
    workers = [context.Process(target=_attempts, args=(path, 60, out)) for _ in range(2)]
    for worker in workers:
        worker.start()
    passed = sum(out.get(timeout=60) for _ in workers)
    for worker in workers:
        worker.join()
    ledger = Ledger(path)
    assert passed == 70
    assert ledger.spent("db", "student", "student") == 10
    assert ledger.verify() == 70


LOOP = """
import sys
from fractions import Fraction
from dp4sql.budget.cost import Charge
from dp4sql.budget.ledger import Ledger
ledger = Ledger(sys.argv[1])
while True:
    ledger.charge([Charge("p", "e", Fraction(1, 10), None)], database="db", role="", statement="")
    print("answered", flush=True)
"""


def test_kill_9_never_loses_a_charge_that_was_answered(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    for delay in (0.3, 0.45):
        with_earlier = Ledger(path)
        before = with_earlier.spent("db", "e", "p")
        with_earlier.close()
        process = subprocess.Popen([sys.executable, "-c", LOOP, str(path)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
        answered = 1 + process.stdout.read().count(b"answered\n")
        process.wait()
        ledger = Ledger(path)
        ledger.verify()
        assert ledger.spent("db", "e", "p") >= before + answered * TENTH
        ledger.close()


def test_a_full_disk_gives_no_answer(tmp_path: Path) -> None:
    """A limit on file size stands for the disk."""
    script = (
        "import resource, signal, sys\n"
        "from tests.budget.test_ledger import spend, Ledger, charge, LedgerBroken\n"
        "ledger = Ledger(sys.argv[1])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "done = 0\n"
        "try:\n"
        "    for _ in range(5000): spend(ledger, charge(budget=None)); done += 1\n"
        "except LedgerBroken: print(done)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "ledger")],
        capture_output=True,
        text=True,
        check=True,
    )
    done = int(result.stdout)
    assert Ledger(tmp_path / "ledger").spent("db", "student", "student") == done * TENTH
