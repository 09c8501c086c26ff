"""What is not an answer tells nothing: errors, notices, shapes, plans and charges are the same on every database.

One pipeline each on databases that have the same public rows and differ in what is private, up to there being
nothing at all. Whatever a client sees beside the noisy values must be equal on all of them, and so must be what
the engine is asked for: the choice of a plan is no answer either.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dp4sql
from dp4sql.errors import Dp4sqlError, EngineError
from dp4sql.settings import Settings

POLICY: dict[str, Any] = {
    "dp4sql": 1,
    "tables": {
        "person": {
            "key": ["id"],
            "columns": {
                "id": {"type": "integer", "range": [1, 40]},
                "kind": {"type": "text", "domain": ["a", "b", "c"]},
                "note": "text",
            },
        },
        "shop": {"key": ["sid"], "columns": {"sid": "integer", "town": "text"}},
        "visit": {
            "key": ["vid"],
            "foreign_keys": {"id": "person", "sid": "shop"},
            "max_frequency": {"id": 3},
            "columns": {
                "vid": "integer",
                "id": "integer",
                "sid": "integer",
                "cost": {"type": "integer", "range": [-5, 100], "nullable": True},
                "share": {"type": "double precision", "range": [0, 1]},
                "day": {"type": "date", "range": ["2024-01-01", "2024-01-07"]},
            },
        },
    },
    "policies": {
        "person": {
            "entity": "person",
            "epsilon": 1,
            "budget": 1000,
            "labels": {"person": "del", "visit": "del", "shop": "pub"},
        }
    },
}
SHOPS = [(1, "north"), (2, "south")]
CALM = (
    [(1, "a", "12"), (2, "b", "7"), (3, "c", "2024-01-01")],
    [
        (1, 1, 1, 5, 0.5, "2024-01-02"),
        (2, 1, 2, 7, 0.25, "2024-01-03"),
        (3, 2, 1, 0, 0.0, "2024-01-03"),
    ],
)
#: By name: persons and visits. A neighbour, values that make careless SQL fail, many rows, and none.
DATABASES = {
    "calm": CALM,
    "without a person": (CALM[0][1:], CALM[1][2:]),
    "wild": (
        [(1, "a", "%"), (2, "b", "\\"), (3, "c", ""), (4, "a", "x" * 10_000)],
        [
            (1, 1, 1, 0, 0.0, "2024-01-01"),
            (2, 1, 2, None, float("nan"), "2024-01-07"),
            (3, 2, 2, 2**31 - 1, float("inf"), "1970-01-01"),
            (4, 4, 2, -(2**31), 1e308, "9999-12-31"),
        ],
    ),
    "many": (
        [(i, "abc"[i % 3], str(i)) for i in range(1, 41)],
        [(i, 1 + i % 40, 1 + i % 2, i % 100, i / 120, "2024-01-05") for i in range(120)],
    ),
    "empty": ([], []),
}

REFUSED = [
    "SELECT * FROM person",
    "SELECT note FROM person WHERE id = 1",
    "SELECT note, COUNT(*) FROM person GROUP BY note",
    "SELECT SUM(LENGTH(note)) FROM person",
    "SELECT COUNT(*) FROM person HAVING COUNT(*) > (SELECT id FROM person LIMIT 1)",
    "SELECT kind FROM person ORDER BY id LIMIT 1",
    "SELECT MAX(note) FROM person",
    "SELECT COUNT(*) FROM nowhere",
    "SELECT COUNT(nothing) FROM person",
    "SELECT COUNT(*) FROM person WHERE",
    "SELECT STRING_AGG(note, ',') FROM person",
    "SELECT SUM(cost * cost * cost * cost * cost * cost * cost * cost * cost * cost * 1000000000) FROM visit",
    "SELECT pg_sleep(id) FROM person",
    "DELETE FROM person",
    "SELECT COUNT(*) FROM person WHERE note ~ note",
    "SELECT COUNT(*) FROM person, dp4sql.budget",
]
ANSWERED = [
    "SELECT COUNT(*) FROM person",
    "SELECT kind, COUNT(*), SUM(cost) FROM person JOIN visit USING (id) GROUP BY kind",
    "SELECT town, kind, AVG(share), STDDEV(cost) FROM visit JOIN shop USING (sid) JOIN person USING (id) "
    "GROUP BY town, kind",
    "SELECT day, COUNT(DISTINCT id) FROM visit GROUP BY day",
    "SELECT MIN(cost), MAX(cost), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost) FROM visit",
    "SELECT SUM(share) FROM visit WHERE 1 / cost > 0",
    "SELECT COUNT(*) FROM person WHERE CAST(note AS integer) > 5",
    "SELECT COUNT(*) FROM person WHERE CAST(note AS date) > DATE '2024-01-01'",
    "SELECT COUNT(*) FROM visit WHERE cost * cost * cost > 1 OR SQRT(cost) > 2 OR LN(cost) > 0",
    "SELECT COUNT(*) FROM visit WHERE share / cost > 1 OR cost % cost = 0",
    "SELECT COUNT(*) FROM visit WHERE day + cost > DATE '2024-01-01'",
    "SELECT COUNT(*) FROM person WHERE SUBSTRING(note, 1, 3) = 'abc' OR note LIKE '%a%'",
    "SELECT COUNT(*) FROM visit WHERE CAST(cost AS smallint) > 1",
    "SELECT COUNT(*) FROM person WHERE id NOT IN (SELECT id FROM visit WHERE cost > 3)",
    "SELECT id, COUNT(*) FROM visit WHERE id IN (1, 2, 99) GROUP BY id",
    "SELECT COUNT(*) FROM (SELECT id, SUM(cost) AS s FROM visit GROUP BY id) t WHERE s > 10",
    "SELECT town, COUNT(*) FROM shop GROUP BY town",
]


@dataclass(frozen=True, slots=True)
class Seen:
    """All that a client learns beside noisy values, and what the ledger and the engine were told."""

    outcome: tuple[object, ...]
    notices: tuple[str, ...]
    charges: tuple[object, ...]
    asked: tuple[str, ...]


class Watched:
    """A pipeline on one database that remembers what its engine was asked."""

    def __init__(self, folder: Path, content: tuple[Sequence[Any], Sequence[Any]]) -> None:
        path = folder / "data.duckdb"
        _create(path, content)
        self.pipeline = dp4sql.open_pipeline(
            policy=POLICY, database=f"duckdb:///{path}", ledger=folder / "ledger"
        )
        asyncio.run(self.pipeline.start())
        self.asked: list[str] = []
        read = self.pipeline.backend.read  # type: ignore[attr-defined]

        def watched(cursor: Any, sql: str) -> list[Any]:
            self.asked.append(sql)
            found: list[Any] = read(cursor, sql)
            return found

        self.pipeline.backend.read = watched  # type: ignore[attr-defined]

    def see(self, sql: str, settings: Settings | None = None) -> Seen:
        self.asked.clear()
        before = len(self.pipeline.ledger.entries())
        notices: tuple[str, ...] = ()
        try:
            released = asyncio.run(self.pipeline.query(sql, settings=settings))
        except Dp4sqlError as error:
            outcome: tuple[object, ...] = _told(error)
        else:
            keys = [tuple(v for v in row if isinstance(v, str)) for row in released.rows]
            outcome = (released.columns, len(released.rows), keys)
            # What is simulated is worked out from noisy values.
            notices = tuple(n for n in released.notices if "(simulated" not in n)
        entries = self.pipeline.ledger.entries()[before:]
        # What ends a statement has digests of its noisy values.
        charges = tuple(
            (e.kind, e.policy, e.epsilon, e.derivation if e.kind == "charge" else "")
            for e in entries
        )
        return Seen(outcome, notices, charges, tuple(self.asked))


def _told(error: Dp4sqlError) -> tuple[object, ...]:
    return (error.sqlstate, error.message, error.hint, error.detail, error.position)


def _create(path: Path, content: tuple[Sequence[Any], Sequence[Any]]) -> None:
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE person (id INTEGER, kind VARCHAR, note VARCHAR)")
        db.execute("CREATE TABLE shop (sid INTEGER, town VARCHAR)")
        db.execute(
            "CREATE TABLE visit (vid INTEGER, id INTEGER, sid INTEGER, cost INTEGER, share DOUBLE, day DATE)"
        )
        for table, rows in (("person", content[0]), ("shop", SHOPS), ("visit", content[1])):
            for row in rows:
                db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Watched]]:
    found = {
        name: Watched(tmp_path_factory.mktemp("side"), content)
        for name, content in DATABASES.items()
    }
    yield found
    for place in found.values():
        asyncio.run(place.pipeline.close())


def the_same(places: dict[str, Watched], sql: str, settings: Settings | None = None) -> Seen:
    """What is seen on the first database; every other must show the very same."""
    first, *others = [(name, place.see(sql, settings)) for name, place in places.items()]
    for name, seen in others:
        assert seen == first[1], f"{name} can be told from {first[0]}"
    return first[1]


@pytest.mark.parametrize("sql", REFUSED)
def test_a_refusal_is_the_same_everywhere_reads_nothing_and_costs_nothing(
    places: dict[str, Watched], sql: str
) -> None:
    seen = the_same(places, sql)
    assert len(str(seen.outcome[0])) == 5
    assert (seen.charges, seen.asked) == ((), ())


@pytest.mark.parametrize("sql", ANSWERED)
def test_an_answer_differs_in_its_noisy_values_alone(places: dict[str, Watched], sql: str) -> None:
    seen = the_same(places, sql, Settings(reuse="off"))
    assert isinstance(seen.outcome[1], int), seen.outcome
    assert seen.asked
    if "shop GROUP" not in sql:
        assert [charge[0] for charge in seen.charges] == ["charge", "answered"]


@pytest.mark.parametrize("sql", [*ANSWERED, *REFUSED])
def test_explain_is_the_same_everywhere_and_reads_nothing(
    places: dict[str, Watched], sql: str
) -> None:
    texts = set()
    for place in places.values():
        place.asked.clear()
        try:
            texts.add(re.sub(r"released \S+ \S+ UTC", "released", place.pipeline.explain(sql)))
        except Dp4sqlError as error:
            texts.add(str(_told(error)))
        assert not place.asked
    assert len(texts) == 1, texts


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Settings(max_charge=Fraction(1, 10)), "max_charge"),
        (Settings(target_error=Fraction(1, 10)), "an error of at most"),
        (Settings(split=(("nothing", Fraction(2)),)), "dp4sql.split"),
    ],
)
def test_what_settings_refuse_reads_nothing(
    places: dict[str, Watched], settings: Settings, message: str
) -> None:
    seen = the_same(places, "SELECT COUNT(*) AS n FROM visit WHERE cost = 5", settings)
    assert message in str(seen.outcome[1])
    assert (seen.charges, seen.asked) == ((), ())


def test_refusals_come_in_one_order_whatever_the_data(places: dict[str, Watched]) -> None:
    """Several things are wrong; which of them is told does not depend on the rows."""
    the_same(
        places, "SELECT note, 1 / 0, nothing FROM person JOIN nowhere USING (id) GROUP BY note"
    )
    the_same(places, "SELECT note, SUM(note) FROM person WHERE note ~ note GROUP BY note")


def test_the_comparison_notices_an_engine_that_fails_on_some_rows(
    places: dict[str, Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise EngineError("the database could not run the query")

    monkeypatch.setattr(places["wild"].pipeline.backend, "read", failing)
    with pytest.raises(AssertionError, match="wild can be told from calm"):
        the_same(places, "SELECT COUNT(*) FROM person", Settings(reuse="off"))


# ---------------------------------------------------------------- failures after the charge


def test_an_engine_that_fails_is_charged_for_and_says_so(tmp_path: Path) -> None:
    """The engine's own words stay in the log: here they quote a row."""
    place = Watched(tmp_path, CALM)
    asyncio.run(place.pipeline.close())
    with duckdb.connect(str(tmp_path / "data.duckdb")) as db:
        db.execute("ALTER TABLE person RENAME TO persons")
        db.execute(
            "CREATE VIEW person AS SELECT id, kind, error('row ' || note)::VARCHAR AS note FROM persons"
        )
    pipeline = dp4sql.open_pipeline(
        policy=POLICY, database=f"duckdb:///{tmp_path}/data.duckdb", ledger=tmp_path / "ledger"
    )
    with pytest.raises(EngineError) as caught:
        asyncio.run(pipeline.query("SELECT COUNT(*) FROM person WHERE note = 'x'"))
    assert caught.value.message == "the database could not run the query"
    assert caught.value.detail == (
        "The charge stays, as data may have been read: 1 to policy person."
    )
    kinds = [entry.kind for entry in pipeline.ledger.entries() if entry.kind != "open"]
    assert kinds == ["charge", "failed"]
    asyncio.run(pipeline.close())
