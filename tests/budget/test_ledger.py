"""The ledger never admits more than a budget and forgets nothing, in SQLite and in Postgres."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest

from dp4sql.budget.cost import Charge
from dp4sql.budget.ledger import Ledger
from dp4sql.catalog import embedded
from dp4sql.errors import BudgetExceeded, LedgerBroken
from tests.budget.conftest import Tamper, Where

TENTH = Fraction(1, 10)


def charge(epsilon: Fraction = TENTH, budget: int | None = 1, policy: str = "student") -> Charge:
    return Charge(policy, policy, epsilon, None if budget is None else Fraction(budget))


def spend(ledger: Ledger, *charges: Charge) -> int | None:
    return ledger.charge(charges or (charge(),), database="db", role="ann", statement="SELECT 1")


def test_ten_tenths_are_one(where: Where) -> None:
    ledger = Ledger(where)
    for _ in range(10):
        spend(ledger)
    with pytest.raises(BudgetExceeded) as caught:
        spend(ledger)
    assert "it costs 0.1 and 0 of 1 is left" in caught.value.message
    assert "smaller value" not in str(caught.value.hint)
    assert ledger.spent("db", "student", "student") == 1


def test_exact_thirds(where: Where) -> None:
    ledger = Ledger(where)
    for _ in range(3):
        spend(ledger, charge(Fraction(1, 3)))
    with pytest.raises(BudgetExceeded):
        spend(ledger, charge(Fraction(1, 10**30)))


def test_a_total_has_few_digits_whatever_was_charged(where: Where) -> None:
    """Exact sums of these have some 6000, and Python would write no more of them than 4300."""
    ledger = Ledger(where)
    amounts = [Fraction(1, 3**90 + i) for i in range(150)]
    spend(ledger, *(charge(amount) for amount in amounts))
    spent = ledger.spent("db", "student", "student")
    assert sum(amounts) <= spent < sum(amounts) + Fraction(1, 2**2000)
    assert ledger.verify() == Ledger(where).verify() == 150
    assert Ledger(where).spent("db", "student", "student") == spent


def test_all_policies_of_a_query_or_none(where: Where) -> None:
    ledger = Ledger(where)
    with pytest.raises(BudgetExceeded):
        spend(ledger, charge(), charge(Fraction(2), policy="faculty"))
    assert ledger.spent("db", "student", "student") == 0
    assert ledger.entries() == []


def test_charges_of_one_query_add_up(where: Where) -> None:
    ledger = Ledger(where)
    half = charge(Fraction(1, 2))
    with pytest.raises(BudgetExceeded):
        spend(ledger, half, half, charge())
    spend(ledger, half, half)
    assert ledger.spent("db", "student", "student") == 1


def test_what_costs_nothing_is_not_written(where: Where) -> None:
    ledger = Ledger(where)
    assert spend(ledger, charge(Fraction(0))) is None
    ledger.close_query(None, "answered", database="db", role="ann")
    assert ledger.entries() == []


def test_entries_say_who_asked_what_and_what_became_of_it(where: Where) -> None:
    ledger = Ledger(where)
    first = ledger.charge(
        [charge()], database="db", role="ann", statement="SELECT é", derivation="1 (S-Cnt)"
    )
    second = spend(ledger)
    ledger.close_query(second, "failed", database="db", role="ann")
    charged, again, failed = ledger.entries()
    assert (charged.query, again.query, failed.query) == (first, second, second)
    assert (charged.statement, charged.derivation) == ("SELECT é", "1 (S-Cnt)")
    assert (charged.epsilon, again.total) == (TENTH, 2 * TENTH)
    assert (failed.kind, failed.epsilon, failed.role) == ("failed", 0, "ann")
    assert ledger.entries(1) == [failed]


def test_it_survives_a_restart(where: Where) -> None:
    first = Ledger(where)
    spend(first)
    first.close()
    assert Ledger(where).spent("db", "student", "student") == TENTH


def test_two_at_once_see_each_other_s_charges(where: Where) -> None:
    one, other = Ledger(where), Ledger(where)
    for ledger in (one, other) * 5:
        spend(ledger)
    for ledger in (one, other):
        with pytest.raises(BudgetExceeded):
            spend(ledger)
    one.refresh()
    assert one.spent("db", "student", "student") == 1


def _attempts(where: Where, count: int, out: multiprocessing.Queue[int]) -> None:
    ledger = Ledger(where)
    passed = []

    def many() -> None:
        for _ in range(count):
            try:
                spend(ledger, charge(Fraction(1, 7), 10))
                passed.append(1)
            except BudgetExceeded:
                continue

    threads = [threading.Thread(target=many) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out.put(len(passed))


def test_two_processes_of_eight_clients_never_overspend(where: Where) -> None:
    context = multiprocessing.get_context("spawn")
    out = context.Queue()
    workers = [context.Process(target=_attempts, args=(where, 125, out)) for _ in range(2)]
    for worker in workers:
        worker.start()
    try:
        passed = sum(out.get(timeout=300) for _ in workers)
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()
    ledger = Ledger(where)
    assert passed == 70
    assert ledger.spent("db", "student", "student") == 10
    assert ledger.verify() == 70


def test_waiting_charges_are_decided_one_by_one(where: Where) -> None:
    """Some of those that share a transaction fit, and others do not."""
    ledger, refused = Ledger(where), []

    def ask(tenths: int) -> None:
        try:
            spend(ledger, charge(tenths * TENTH))
        except BudgetExceeded:
            refused.append(tenths)

    with ledger._lock:
        threads = [threading.Thread(target=ask, args=(tenths,)) for tenths in (4, 20, 6, 30)]
        for thread in threads:
            thread.start()
        while len(ledger._waiting) < len(threads):
            pass
    for thread in threads:
        thread.join()
    assert sorted(refused) == [20, 30]
    assert ledger.spent("db", "student", "student") == 1
    assert ledger.verify() == 2


# ---------------------------------------------------------------- what cannot be a ledger


def test_a_file_that_is_no_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(LedgerBroken):
        Ledger(path)


def test_a_missing_file_is_not_made_for_somebody_who_reads(tmp_path: Path) -> None:
    with pytest.raises(LedgerBroken, match="unable to open"):
        Ledger(tmp_path / "typo", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_server_out_of_reach_is_not_named_to_clients() -> None:
    with pytest.raises(LedgerBroken, match="cannot be opened") as caught:
        Ledger("postgresql://somebody@127.0.0.1:1/none")
    assert "somebody" not in caught.value.message
    assert "127.0.0.1" not in caught.value.message


def test_a_server_that_may_lose_what_it_commits_is_refused() -> None:
    running = asyncio.run(embedded.start())
    try:
        with pytest.raises(LedgerBroken, match="fsync off"):
            Ledger(f"postgresql://{embedded.SUPERUSER}@/template1?host={running.directory}")
    finally:
        asyncio.run(running.stop())


def end(postgres: str) -> None:
    sql = (
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = %s"
    )
    with psycopg.connect(postgres, autocommit=True) as db:
        assert db.execute(sql, ("dp4sql ledger",)).fetchall()


def test_a_connection_that_the_server_ended_is_made_anew(postgres: str) -> None:
    """Its server was restarted, or somebody lost patience with it: the next charge goes through."""
    ledger = Ledger(postgres)
    for spends in (1, 2, 3):
        spend(ledger, charge(budget=None))
        assert ledger.spent("db", "student", "student") == spends * TENTH
        end(postgres)


def test_a_connection_that_ends_within_a_transaction_charges_nothing(postgres: str) -> None:
    ledger = Ledger(postgres)
    spend(ledger, charge(budget=None))

    def interrupted() -> None:
        with ledger._transaction(durable=True):
            end(postgres)
            ledger._database.run("DELETE FROM uses")

    with pytest.raises(LedgerBroken):
        interrupted()
    assert Ledger(postgres).verify() == 1
    spend(ledger, charge(budget=None))
    assert ledger.spent("db", "student", "student") == 2 * TENTH


def test_deltas_are_recorded_beside_epsilon(where: Where) -> None:
    ledger = Ledger(where)
    delta = Fraction(1, 10**6)
    for loss in (delta, Fraction(0), delta):
        due = Charge("p", "e", TENTH, None, delta=loss)
        ledger.charge([due], database="db", role="", statement="")
    assert [entry.delta for entry in ledger.entries()] == [delta, 0, delta]
    ledger.close()
    again = Ledger(where)
    assert again.verify() == 3
    for policy in ("p", "renamed"):
        more = Charge(policy, "e", TENTH, None, delta=delta, most_delta=2 * delta)
        with pytest.raises(BudgetExceeded, match="loses delta 1e-06"):
            again.charge([more], database="db", role="", statement="")
    assert again.verify() == 3


def test_a_ledger_from_before_there_were_deltas_goes_on(where: Where, tamper: Tamper) -> None:
    ledger = Ledger(where)
    spend(ledger)
    ledger.close()
    tamper("ALTER TABLE entries DROP COLUMN delta")
    for number in (2, 3):
        ledger = Ledger(where)
        spend(ledger)
        ledger.close()
        assert Ledger(where).verify() == number
