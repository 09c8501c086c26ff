"""Patterns: LIKE with another escape character, and the regular expressions that all engines read alike.

A regular expression is read here and written anew, so that none reaches an engine that it could refuse, or take
otherwise than Postgres does. Read are characters, `.`, lists such as [a-z0-9], `\\d`, brackets, `|`, the repeats
`* + ? {m,n}`, and `^` and `$`; of letters in lists and under `~*` those of ASCII. Engines match what is written
in time linear in the text, so that no value makes them give up.
"""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from dp4sql.algebra.expr import Call, Expr, Lit
from dp4sql.algebra.types import BOOLEAN, TEXT
from dp4sql.errors import Unsupported
from dp4sql.sql.lower.expressions.operators import negated
from dp4sql.sql.parse import position

if TYPE_CHECKING:
    from dp4sql.sql.lower.expressions import Expressions

LONGEST: Final = 500
MOST_REPEATS: Final = 100
_SPECIAL: Final = frozenset(r"\.[]{}()*+?^$|")
_REPEAT: Final = re.compile(r"\{(\d{1,3})(,(\d{1,3})?)?\}")
_RANGE: Final = re.compile("[0-9]-[0-9]|[a-z]-[a-z]|[A-Z]-[A-Z]")
_ALNUM: Final = frozenset(string.ascii_letters + string.digits)


class Malformed(Exception):
    """What of a pattern has no common meaning."""


def match(ex: Expressions, e: exp.Expr) -> Expr:
    """`~`, `~*` and SIMILAR TO with a constant pattern."""
    subject, pattern = (ex.coerce(ex.lower(part), TEXT) for part in (e.this, e.expression))
    if not isinstance(pattern, Lit) or not isinstance(pattern.value, str):
        raise Unsupported("a regular expression must be a constant", position=position(e))
    reader = _Reader(
        pattern.value,
        similar=isinstance(e, exp.SimilarTo),
        folded=isinstance(e, exp.RegexpILike),
    )
    try:
        found = reader.whole()
    except Malformed as problem:
        raise Unsupported(
            f"this pattern has {problem}, which engines do not read alike",
            hint="Patterns may have characters, ., lists such as [a-z0-9], \\d, (...), |, * + ? {m,n}, ^ and $.",
            position=position(e.expression) or position(e),
        ) from None
    ex.need(
        subject.type.kind in ("text", "character varying", "character"),
        f"operator does not exist: {subject.type.kind} ~ unknown",
        e,
    )
    return Call("matches", (subject, Lit(found, TEXT)), BOOLEAN)


class _Reader:
    """Reads one pattern from left to right. `similar`: as SIMILAR TO has it, `folded`: letters of either case."""

    def __init__(self, text: str, *, similar: bool, folded: bool) -> None:
        self.text, self.similar, self.folded = text, similar, folded
        self.at = self.depth = 0

    def whole(self) -> str:
        if len(self.text) > LONGEST:
            raise Malformed(f"more than {LONGEST} characters")
        found = self._branches()
        if self.at < len(self.text):
            raise Malformed("a bracket that was not opened")
        return f"^(?:{found})$" if self.similar else found

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self) -> str:
        self.at += 1
        return self.text[self.at - 1 : self.at]

    def _branches(self) -> str:
        found = [self._branch()]
        while self._peek() == "|":
            self._take()
            found.append(self._branch())
        return "|".join(found)

    def _branch(self) -> str:
        pieces: list[str] = []
        if not self.similar and self._peek() == "^":
            pieces.append(self._take())
        while self._peek() not in ("", "|", ")"):
            if not self.similar and self._peek() == "$":
                pieces.append(self._take())
                if self._peek() not in ("", "|", ")"):
                    raise Malformed("$ in its middle")
                break
            pieces.append(self._piece())
        if not pieces:
            raise Malformed("an empty branch")
        return "".join(pieces)

    def _piece(self) -> str:
        group = self._peek() == "("
        atom = self._group() if group else self._atom()
        repeat = self._repeat(group)
        if repeat and (self._peek() in tuple("*+?") or _REPEAT.match(self.text, self.at)):
            raise Malformed("a repeat of a repeat")
        return atom + repeat

    def _group(self) -> str:
        self._take()
        self.depth += 1
        if self.depth > 20:
            raise Malformed("brackets nested too deeply")
        if self.text.startswith("?:", self.at) and not self.similar:
            self.at += 2
        elif self._peek() == "?":
            raise Malformed("(?")
        found = self._branches()
        if self._take() != ")":
            raise Malformed("a bracket that is not closed")
        self.depth -= 1
        return f"(?:{found})"

    def _repeat(self, group: bool) -> str:
        if self._peek() in tuple("*+?"):
            return self._take()
        counted = _REPEAT.match(self.text, self.at)
        if counted is None:
            return ""
        least, most = int(counted[1]), int(counted[3] or counted[1])
        if group or not least <= most <= MOST_REPEATS:
            raise Malformed(f"{{m,n}} after brackets, or beyond {MOST_REPEATS}")
        self.at = counted.end()
        return counted[0]

    def _atom(self) -> str:
        one = self._take()
        if one == "[":
            return self._list()
        if one == "\\":
            return self._escaped()
        if self.similar and one in "%_":
            return ".*" if one == "%" else "."
        if one == "." and not self.similar:
            return "."
        if one in _SPECIAL and not (self.similar and one in ".^$"):
            raise Malformed(f"{one} where a character was expected")
        return self._character(one)

    def _escaped(self) -> str:
        one = self._take()
        if one == "d" and not self.similar:
            return "[0-9]"
        if not one or one.isalnum() or one == "_":
            raise Malformed(f"\\{one}")
        return self._character(one)

    def _character(self, one: str) -> str:
        if self.folded and one.isalpha():
            if one not in _ALNUM:
                raise Malformed("letters beyond ASCII without regard to case")
            return f"[{one.lower()}{one.upper()}]"
        return "\\" + one if one in _SPECIAL else one

    def _list(self) -> str:
        """Characters and ranges of ASCII letters and digits."""
        start = "[^" if self._peek() == "^" else "["
        self.at += len(start) - 1
        members: list[str] = []
        while self._peek() not in ("", "]"):
            members.append(self._member())
        if self._take() != "]" or not members:
            raise Malformed("a list that is empty or not closed")
        return start + "".join(members) + "]"

    def _member(self) -> str:
        ranged = _RANGE.match(self.text, self.at)
        if ranged is not None and ranged[0][0] <= ranged[0][2]:
            self.at = ranged.end()
            both = self.folded and ranged[0].isascii() and ranged[0][0].isalpha()
            return ranged[0].lower() + ranged[0].upper() if both else ranged[0]
        one = self._take()
        ranged_oddly = self._peek() == "-" and not self.text.startswith("-]", self.at)
        if one in "[\\^" or ranged_oddly or (one == "-" and self._peek() != "]"):
            raise Malformed(f"{one} in a list")
        if not one.isascii():
            raise Malformed("letters beyond ASCII in a list")
        return one.lower() + one.upper() if self.folded and one.isalpha() else one


def escaped(ex: Expressions, e: exp.Escape) -> Expr:
    """LIKE ... ESCAPE: the same with `\\`, which needs no word of its own."""
    like, sign = e.this, ex.coerce(ex.lower(e.expression), TEXT)
    pattern = ex.coerce(ex.lower(like.expression), TEXT)
    known = isinstance(sign, Lit) and isinstance(sign.value, str) and len(sign.value) <= 1
    if not known or not isinstance(pattern, Lit) or not isinstance(pattern.value, str):
        raise Unsupported(
            "LIKE ... ESCAPE needs a constant pattern and one constant character",
            hint="For instance LIKE '100!%' ESCAPE '!'.",
            position=position(e),
        )
    rewritten = _with_backslash(pattern.value, str(getattr(sign, "value", "")), e)
    return negated(like, ex.like(like, ex.lower(like.this), Lit(rewritten, TEXT)))


def _with_backslash(pattern: str, sign: str, at: exp.Expr) -> str:
    found, rest = [], iter(pattern)
    for one in rest:
        if one == sign:
            one = next(rest, "")
            if not one:
                raise Unsupported(
                    "LIKE pattern must not end with the escape character", position=position(at)
                )
            found.append("\\" + one)
        else:
            found.append("\\\\" if one == "\\" else one)
    return "".join(found)
