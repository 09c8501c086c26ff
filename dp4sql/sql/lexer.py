"""SQL text as tokens and statements: just enough to see where quotes, comments and statements end.

Source: the PostgreSQL documentation, "Lexical Structure". Linear in the length of the text: a quote
that never closes ends the reading at once.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from dp4sql.errors import SyntaxError_, Unsupported
from dp4sql.remember import Remembered

MAX_LENGTH: Final = 1_000_000
MAX_TOKENS: Final = 100_000
TOKEN_SIZE: Final = 150
"""Bytes that a token takes, about."""

_TOKEN = re.compile(
    r"""
      (?P<blank> \s++ | --[^\n]*+ )
    | (?P<comment> /\* )
    | (?P<string>
          [eE]'(?: [^'\\] | \\. | '' )*+'
        | (?: [bBxXnN] | [uU]& )?'(?: [^'] | '' )*+'
        | (?P<tag> \$(?: [^\W\d]\w*+ )?+\$ ) .*? (?P=tag) )
    | (?P<escaped> [uU]&" )
    | (?P<quoted> "(?: [^"] | "" )*+" )
    | (?P<unclosed> ['"] | \$(?: [^\W\d]\w*+ )?+\$ )
    | (?P<parameter> \$\d++ )
    | (?P<word> [^\W\d][\w$]*+ )
    | (?P<number> \d[\w.]*+ | \.\d[\w]*+ )
    | (?P<symbol> :: | . )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[\da-fA-F]{1,2}|u[\da-fA-F]{4}|.)|''", re.DOTALL)
_LETTERS: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Token(NamedTuple):
    """`kind` is word, quoted, string, parameter, number or symbol; `start` counts from 0."""

    kind: str
    text: str
    start: int

    @property
    def name(self) -> str:
        """The identifier it stands for, or an empty string."""
        if self.kind == "word":
            return self.text.lower()
        return self.text[1:-1].replace('""', '"') if self.kind == "quoted" else ""

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Statement(NamedTuple):
    """One statement of a text: its own text and where it starts in the whole (from 0)."""

    text: str
    start: int
    tokens: tuple[Token, ...]

    @property
    def size(self) -> int:
        """Bytes that it takes, about."""
        return len(self.text) + TOKEN_SIZE * len(self.tokens)

    def after(self, index: int) -> Statement:
        """The statement that follows the first `index` tokens, as in EXPLAIN SELECT ..."""
        if index >= len(self.tokens):
            return Statement("", self.start + len(self.text), ())
        cut = self.tokens[index].start
        rest = tuple(token._replace(start=token.start - cut) for token in self.tokens[index:])
        return Statement(self.text[cut:], self.start + cut, rest)

    def between(self, first: int, last: int) -> Statement:
        """The statement made of tokens `first` up to but not including `last`."""
        cut = self.tokens[first].start
        kept = tuple(token._replace(start=token.start - cut) for token in self.tokens[first:last])
        return Statement(self.text[cut : cut + kept[-1].end], self.start + cut, kept)


def _statements(sql: str) -> tuple[Statement, ...]:
    """The statements of `sql`, without empty ones; SyntaxError_ where a quote does not close."""
    if len(sql) > MAX_LENGTH:
        raise Unsupported(f"statement longer than {MAX_LENGTH} characters")
    found: list[list[Token]] = []
    current: list[Token] = []
    for token in _tokens(sql):
        if token.text == ";" and token.kind == "symbol":
            found.append(current)
            current = []
        else:
            current.append(token)
    found.append(current)
    return tuple(_statement(sql, tokens) for tokens in found if tokens)


statements = Remembered(_statements, len, MAX_LENGTH)


def _statement(sql: str, tokens: list[Token]) -> Statement:
    start = tokens[0].start
    moved = tuple(token._replace(start=token.start - start) for token in tokens)
    return Statement(sql[start : tokens[-1].end], start, moved)


def _tokens(sql: str) -> list[Token]:
    tokens: list[Token] = []
    at = 0
    while at < len(sql):
        if len(tokens) > MAX_TOKENS:
            raise Unsupported(f"statement of more than {MAX_TOKENS} tokens")
        found = _TOKEN.match(sql, at)
        assert found is not None
        at = found.end()
        match found.lastgroup:
            case "blank":
                continue
            case "comment":
                at = _comment_end(sql, found.start())
            case "unclosed":
                raise SyntaxError_("unterminated quoted text", position=found.start() + 1)
            case "escaped":
                raise Unsupported(
                    "identifiers with Unicode escapes are not supported",
                    hint="Write the characters themselves.",
                    position=found.start() + 1,
                )
            case kind:
                name = "string" if kind == "tag" else str(kind)
                tokens.append(Token(name, found[0], found.start()))
    return tokens


def _comment_end(sql: str, start: int) -> int:
    """Block comments nest."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(sql, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return edge.end()
    raise SyntaxError_("unterminated comment", position=start + 1)


def unescaped(text: str) -> str:
    """What E'...' stands for; Unsupported for bytes that are no character by themselves."""
    return _ESCAPE.sub(_character, text[2:-1])


def _character(found: re.Match[str]) -> str:
    escape = found[1]
    if escape is None:
        return "'"
    if len(escape) == 1 and escape not in "01234567":
        return _LETTERS.get(escape, escape)
    code = int(escape, 8) if escape[0].isdigit() else int(escape[1:], 16)
    if not 0 < code < (0x80 if escape[0] != "u" else 0xD800):
        raise Unsupported("this escape is not supported here", hint="Write the character itself.")
    return chr(code)
