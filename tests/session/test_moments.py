"""CURRENT_DATE by the session's clock, also in a statement that was prepared under another."""

from __future__ import annotations

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
    seen = []
    for zone in (EAST, WEST, EAST):
        ask(raw, f"SET TIME ZONE '{zone}'")
        simple = ask(raw, TODAY).rows
        raw.send(bind(statement="today") + execute() + SYNC)
        assert reply(raw.until("Z")).rows == simple
        assert ask(raw, "SELECT CURRENT_DATE").rows == simple
        seen.append(simple)
    assert seen[0] == seen[2] != seen[1]
