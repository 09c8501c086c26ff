"""Requests that are answered as they were before, byte for byte, without being decoded.

Pools and drivers send the same few statements over literals alone, such as SELECT 1, to see whether a
connection lives: most of what many proxies answer. Their answers hold at any time, so the same bytes get
the same reply as long as the session is the same.

A request is what arrived at once while the session was at rest: outside of a transaction, with nothing
unread, unsent or half done. It is kept when all it did was to answer such statements, through the unnamed
portal. Whatever else the session is asked, be it a setting, a name, an error, all that is kept is forgotten:
so nothing here has to know what a reply depends on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dp4sql.session.prepared import Prepared
from dp4sql.wire import messages as m

MOST: Final = 16
MOST_ASKED: Final = 256
MOST_REPLIED: Final = 1024
"""Entries, and bytes of each: a session's memory stays in bounds."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A reply. Where the request `renames`, `unnamed` is the unnamed statement that it leaves."""

    reply: bytes
    renames: bool
    unnamed: Prepared | None


class Memo:
    """What one session was asked and replied. `rests`: the last batch is over, as the login is at first."""

    __slots__ = ("_asked", "_bound", "_found", "_parsed", "_renames", "_served", "rests")

    def __init__(self) -> None:
        self._found: dict[bytes, Kept] = {}
        self._served: object = None
        self._asked: bytes | None = None
        self._renames = self._parsed = self._bound = False
        self.rests = True

    def find(self, data: bytes, served: object) -> Kept | None:
        """What was replied to these bytes. `served` is what answers now: another one, another memory."""
        if not self.rests:
            return None
        if served is not self._served:
            self._found, self._served = {}, served
        return self._found.get(data)

    def ask(self, data: bytes) -> None:
        """These bytes are about to be answered."""
        whole = self.rests and len(data) <= MOST_ASKED
        self._asked = data if whole else None
        self._renames = self._parsed = self._bound = False

    def see(self, event: m.Message) -> None:
        """One message that is about to be answered: does it ask for no more than an answer?"""
        self.rests = False
        match event:
            case m.Query():
                self._renames = True
            case m.Parse(""):
                self._renames = self._parsed = True
            case m.Bind("", name) if name or self._parsed:
                self._bound = True
            case m.Describe("S", name) if name or self._parsed:
                pass
            case m.Describe("P", "") | m.Execute("") if self._bound:
                pass
            case m.Sync():
                self._parsed = self._bound = False
            case _:
                self.forget()

    def told(self, lasting: bool) -> None:
        """What a statement is, or gives: does it hold at any time?"""
        if not lasting:
            self.forget()

    def forget(self) -> None:
        self._found.clear()
        self.drop()
        self.rests = False

    def drop(self) -> None:
        """What is asked now is not to be kept."""
        self._asked = None

    def keep(self, reply: bytes, unnamed: Prepared | None) -> None:
        """What is sent: the reply to what was asked, if that is over and this the whole of it."""
        asked, self._asked = self._asked, None
        if asked is None or not self.rests or len(reply) > MOST_REPLIED:
            return
        if len(self._found) >= MOST:
            del self._found[next(iter(self._found))]
        self._found[asked] = Kept(reply, self._renames, unnamed if self._renames else None)
