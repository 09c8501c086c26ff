"""Two proxies, one ledger, rows behind both, each in a Postgres; 16 clients: one budget, never overspent.

DP4SQL_ATTEMPTS says how often the clients ask together; make soak asks some thousand times.
"""

from __future__ import annotations

import os
import random
import threading
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

import psycopg
import pytest
import yaml

from dp4sql.backends.postgres import identity
from dp4sql.budget.ledger import Ledger
from tests.budget.conftest import postgres, server
from tests.server.test_running import COUNT, POLICY, changed
from tests.serving import serving

__all__ = ["postgres", "server"]

CLIENTS: Final = 16
ATTEMPTS: Final = int(os.environ.get("DP4SQL_ATTEMPTS", "320"))
PRICES: Final = ("0.05", "0.1", "0.25", "0.5")
BUDGET: Final = Fraction(ATTEMPTS, 10)
"""About half of what the clients ask for."""


@dataclass(frozen=True)
class Place:
    """What both proxies are started with."""

    policy: Path
    rows: str
    ledger: str

    @property
    def arguments(self) -> tuple[str, ...]:
        policy = str(self.policy)
        return ("--policy", policy, "--database", self.rows, "--ledger", self.ledger)


class Client(threading.Thread):
    """Asks until it has asked often enough, its proxy is gone, or something unforeseen happens."""

    def __init__(self, port: int, number: int, together: threading.Barrier, asks: int) -> None:
        super().__init__()
        self._port, self._random = port, random.Random(number)
        self._together, self._asks = together, asks
        self.answered, self.refused = Fraction(0), 0
        self.unforeseen: list[psycopg.Error] = []
        self.lost = False

    def run(self) -> None:
        try:
            where = f"host=127.0.0.1 port={self._port} user=ann dbname=people"
            with psycopg.connect(where, autocommit=True) as client:
                client.execute("SET dp4sql.reuse = off")
                self._ask(client, self._random.choice(PRICES))
                self._together.wait()
                for _ in range(1, self._asks):
                    self._ask(client, self._random.choice(PRICES))
        except psycopg.OperationalError:
            self.lost = True

    def _ask(self, client: psycopg.Connection[tuple[int]], price: str) -> None:
        client.execute(f"SET dp4sql.epsilon = {price}".encode())
        try:
            client.execute(COUNT)
            self.answered += Fraction(price)
        except psycopg.OperationalError as error:
            if error.sqlstate != "53400":
                raise
            self.refused += 1
        except psycopg.Error as error:
            self.unforeseen.append(error)


@pytest.fixture
def place(tmp_path: Path, server: str, postgres: str) -> Place:
    rows = server.replace("/template1", "/people")
    with psycopg.connect(server, autocommit=True) as db:
        db.execute("DROP DATABASE IF EXISTS people")
        db.execute("CREATE DATABASE people TEMPLATE template0")
    with psycopg.connect(rows) as db:
        db.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, city TEXT)")
    content = changed(policies__person__budget=float(BUDGET))
    (tmp_path / "people.yaml").write_text(yaml.safe_dump(content))
    assert POLICY["policies"]["person"]["epsilon"] == 1
    return Place(tmp_path / "people.yaml", rows, postgres)


def asked(
    ports: tuple[int, int], asks: tuple[int, int] = (ATTEMPTS // CLIENTS,) * 2
) -> list[Client]:
    """Clients of both proxies in turns, which all have asked once before any asks again."""
    together = threading.Barrier(CLIENTS, timeout=120)
    clients = [Client(ports[i % 2], i, together, asks[i % 2]) for i in range(CLIENTS)]
    for client in clients:
        client.start()
    return clients


def spent(place: Place) -> Fraction:
    found = Ledger(place.ledger, create=False)
    total = found.spent(identity(place.rows), "person", "person")
    charges = [entry.epsilon for entry in found.entries() if entry.kind == "charge"]
    found.close()
    assert sum(charges) == total
    return total


def test_two_proxies_never_overspend_one_budget(place: Place) -> None:
    with serving(*place.arguments) as (_, one), serving(*place.arguments) as (_, other):
        clients = asked((one, other))
        for client in clients:
            client.join()
    assert [client.unforeseen for client in clients if client.unforeseen or client.lost] == []
    answered = sum(client.answered for client in clients)
    assert answered == spent(place) <= BUDGET
    assert answered > BUDGET - Fraction(max(PRICES))
    assert sum(client.refused for client in clients) > 0
    assert all(client.answered for client in clients)


def test_a_proxy_that_is_killed_takes_no_charge_with_it(place: Place) -> None:
    with serving(*place.arguments) as (doomed, one), serving(*place.arguments) as (_, other):
        # Those of the one to be killed ask for as long as it lives.
        clients = asked((one, other), (10**9, ATTEMPTS // CLIENTS))
        while sum(client.answered for client in clients) < BUDGET / 4 and clients[0].is_alive():
            clients[0].join(0.01)
        doomed.kill()
        for client in clients:
            client.join()
    assert [client.unforeseen for client in clients if client.unforeseen] == []
    assert any(client.lost for client in clients[::2])
    assert not any(client.lost for client in clients[1::2])
    answered = sum(client.answered for client in clients)
    assert answered <= spent(place) <= BUDGET
    assert spent(place) - answered <= Fraction(max(PRICES)) * CLIENTS // 2
