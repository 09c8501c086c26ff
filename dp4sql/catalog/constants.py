"""Statements over literals alone, such as SELECT 1: their answers hold for everybody and are kept.

Pools and drivers send them to see whether a connection lives, so they are most of what many proxies
answer. A cast or a function could depend on settings or the clock, and is asked each time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from functools import lru_cache
from typing import Any, Final

from dp4sql.sql.lexer import Statement

KEPT: Final = 256
MAX_LENGTH: Final = 1000
_WORDS: Final = frozenset({"select", "as", "null", "true", "false"})
_SYMBOLS: Final = frozenset("(),+-*")


def is_constant(statement: Statement) -> bool:
    """Whether nothing but literals, arithmetic and names of columns stands in the statement."""
    return len(statement.text) <= MAX_LENGTH and _is_constant(statement)


@lru_cache(maxsize=1024)
def _is_constant(statement: Statement) -> bool:
    previous = ""
    for token in statement.tokens:
        kind, text = token.kind, token.text.lower()
        named = previous == "as" and kind in ("word", "quoted")
        literal = kind in ("number", "string") or (kind == "word" and text in _WORDS)
        if not (named or literal or (kind == "symbol" and text in _SYMBOLS)):
            return False
        previous = text
    return True


class Kept:
    """The answers that were given last."""

    def __init__(self) -> None:
        self._found: OrderedDict[Hashable, object] = OrderedDict()

    def find(self, key: Hashable) -> Any:
        """What was kept under `key`, or None."""
        found = self._found.get(key)
        if found is not None:
            self._found.move_to_end(key)
        return found

    def keep(self, key: Hashable, answer: object) -> None:
        self._found[key] = answer
        if len(self._found) > KEPT:
            self._found.popitem(last=False)
