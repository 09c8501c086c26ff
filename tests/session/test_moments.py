"""CURRENT_DATE by the session's clock, also in a statement that was prepared under another."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from dp4sql.session.memo import MOST_ASKED
from tests.session.talk import ask, reply
from tests.wire.live import SYNC, Raw, bind, execute, parse

#: A day and an hour apart, so that it is never the same day in both.
EAST, WEST = "Pacific/Kiritimati", "Pacific/Niue"
TODAY = "SELECT CURRENT_DATE FROM section LIMIT 1"


def test_each_statement_asks_the_clock_anew(raw: Raw) -> None:
    assert len(TODAY) < MOST_ASKED
    raw.send(parse(TODAY, "today") + SYNC)
    raw.until("Z")
    while True:
        hour = datetime.now(UTC).hour
        seen = [asked(raw, zone) for zone in (EAST, WEST, EAST)]
        if datetime.now(UTC).hour == hour:  # or a day may have begun in between
            break
    assert all(simple == prepared == relayed for simple, prepared, relayed in seen)
    assert seen[0] == seen[2] != seen[1]


def asked(raw: Raw, zone: str) -> list[Any]:
    """By a query, a prepared statement, and of the catalog's Postgres."""
    ask(raw, f"SET TIME ZONE '{zone}'")
    simple = ask(raw, TODAY).rows
    raw.send(bind(statement="today") + execute() + SYNC)
    return [simple, reply(raw.until("Z")).rows, ask(raw, "SELECT CURRENT_DATE").rows]
