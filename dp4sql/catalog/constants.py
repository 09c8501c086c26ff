"""Statements over literals alone, such as SELECT 1: their answers hold for everybody and are kept.

Pools and drivers send them to see whether a connection lives, so they are most of what many proxies
answer. A cast or a function could depend on settings or the clock, and is asked each time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from functools import lru_cache
from typing import Final, TypeVar, cast

from dp4sql.catalog.lexer import Statement

T = TypeVar("T")

KEPT: Final = 256
MAX_LENGTH: Final = 1000
_WORDS: Final = frozenset({"select", "as", "null", "true", "false"})
_SYMBOLS: Final = frozenset("(),+-*")


@lru_cache(maxsize=1024)
def is_constant(statement: Statement) -> bool:
    """Whether nothing but literals, arithmetic and names of columns stands in the statement."""
    if len(statement.text) > MAX_LENGTH:
        return False
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

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        if key not in self._found:
            self._found[key] = await ask()
            if len(self._found) > KEPT:
                self._found.popitem(last=False)
        self._found.move_to_end(key)
        return cast(T, self._found[key])
