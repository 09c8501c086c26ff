"""Text to one sqlglot tree, and where things stand in the text."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Token, TokenType

from dp4sql.errors import ReadOnly, SyntaxError_, Unsupported
from dp4sql.sql import lexer, strict

MAX_LENGTH = 1_000_000


class _Dialect(Postgres):  # type: ignore[misc]
    """Formats of times stay as they are written: sqlglot takes the words in their quoted texts for parts, too."""

    TIME_MAPPING: ClassVar[dict[str, str]] = {}


_POSTGRES: Final = _Dialect()
_TYPES: Final = Postgres.parser_class.TYPE_TOKENS
_TOP: Final = re.compile(r"\bselect\s+top\s+$", re.IGNORECASE)
_PARAMETER: Final = re.compile(r"\$\d")
_FIELDS: Final = frozenset({"year", "month", "day", "hour", "minute", "second"})
_NUMBER_AND_UNIT: Final = re.compile(r"\s*-?\d+(\.\d+)?\s*[a-zA-Z]*\s*")


def parse(sql: str) -> exp.Expr:
    """The single SELECT-like statement in `sql`; anything else is refused by name."""
    if len(sql) > MAX_LENGTH:
        raise Unsupported(f"statement longer than {MAX_LENGTH} characters")
    try:
        tokens = tokenized(sql)
        found = trees(sql, _literals_in_brackets(sql, tokens))
        _whole_intervals(sql, tokens)
        strict.whole(tokens)
    except ParseError as error:
        raise _syntax(error, sql) from None
    except (TokenError, RecursionError):
        raise SyntaxError_(
            "the statement cannot be read as SQL", hint="Check quotes, brackets and nesting."
        ) from None
    if not found:
        raise SyntaxError_("the statement is empty")
    if len(found) > 1:
        raise SyntaxError_(
            "several statements in one",
            hint="Send one statement at a time.",
            position=position(found[1]),
        )
    query = _only_queries(found[0])
    strict.conditions(query, tokens)
    return query


def tokenized(sql: str) -> list[Token]:
    """The tokens of `sql`, which are sqlglot's but for $1,$2: it takes `$1,$` for the start of a text."""
    tokens: list[Token] = _POSTGRES.tokenize(_marked(sql))
    for token in tokens if "@" in sql else ():
        if token.token_type == TokenType.PARAMETER and sql[token.start] != "$":
            raise Unsupported(
                f"the operator {token.text} is not supported",
                hint="ABS(x) for @ x; parameters are $1, $2.",
                position=token.start + 1,
            )
    if "E'" not in sql and "e'" not in sql:
        return tokens
    return [_plain(t, sql) if t.token_type == TokenType.BYTE_STRING else t for t in tokens]


def _plain(token: Token, sql: str) -> Token:
    """E'...' as the text that it stands for, which sqlglot takes for bytes."""
    if sql[token.start] not in "eE":
        return token
    text = lexer.unescaped(sql[token.start : token.end + 1])
    return Token(TokenType.STRING, text, token.line, token.col, token.start, token.end, [])


def trees(sql: str, tokens: list[Token]) -> list[exp.Expr]:
    return [tree for tree in _POSTGRES.parser().parse(tokens, sql) if tree is not None]


def _marked(sql: str) -> str:
    """The text with its parameters as @1, which sqlglot reads just so and takes for nothing else."""
    if not _PARAMETER.search(sql):
        return sql
    letters = list(sql)
    for statement in lexer.statements(sql):
        for token in statement.tokens:
            if token.kind == "parameter":
                letters[statement.start + token.start] = "@"
    return "".join(letters)


def _literals_in_brackets(sql: str, tokens: Sequence[Token]) -> list[Token]:
    """(DATE '...')::text for DATE '...'::text: sqlglot would cast the text first, and make a date of that."""
    found = list(tokens)
    for i in range(len(tokens) - 2, 0, -1) if "::" in sql else ():
        if tokens[i].token_type == TokenType.STRING and tokens[i + 1].text == "::":
            first = _type_before(tokens[:i])
            if first is not None:
                found.insert(i + 1, _bracket(TokenType.R_PAREN, ")", tokens[i]))
                found.insert(first, _bracket(TokenType.L_PAREN, "(", tokens[first]))
    return found


def _type_before(tokens: Sequence[Token]) -> int | None:
    """Where the type begins that stands at the end; None where none does."""
    zone = [token.text.lower() for token in tokens[-4:]]
    if zone[1:] in (["with", "time", "zone"], ["without", "time", "zone"]):
        return len(tokens) - 4
    return len(tokens) - 1 if tokens[-1].token_type in _TYPES else None


def _bracket(kind: TokenType, text: str, at: Token) -> Token:
    return Token(kind, text, at.line, at.col, at.start, at.end, [])


def _whole_intervals(sql: str, tokens: Sequence[Token]) -> None:
    """sqlglot keeps one number and its unit of INTERVAL '1 day 02:00' and drops the rest."""
    if "interval" not in sql.lower():
        return
    for word, text in itertools.pairwise(tokens):
        if word.token_type != TokenType.INTERVAL or text.token_type != TokenType.STRING:
            continue
        kept = exp.INTERVAL_STRING_RE.findall(text.text)
        if len(kept) == 1 and not _NUMBER_AND_UNIT.fullmatch(text.text):
            raise Unsupported(
                f"INTERVAL '{text.text}' is not supported",
                hint=f"Write it as a cast: '{text.text}'::interval.",
                position=text.start + 1,
            )
    for word, text, unit in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if word.token_type == TokenType.INTERVAL and text.token_type == TokenType.STRING:
            _whole_units(text, unit)


def _whole_units(text: Token, unit: Token) -> None:
    """Postgres cuts INTERVAL '1.5' DAY and INTERVAL '1 day 5 hours' DAY to whole days."""
    if unit.text.lower() in _FIELDS and not re.fullmatch(r"\s*[+-]?\d+\s*", text.text):
        raise Unsupported(
            f"INTERVAL '{text.text}' {unit.text} is not supported",
            hint="Write the units inside: INTERVAL '1 day' or '1 day 12 hours'::interval.",
            position=text.start + 1,
        )


def _syntax(error: ParseError, sql: str) -> SyntaxError_:
    if not error.errors:
        return SyntaxError_("the statement cannot be read as SQL")
    first = error.errors[0]
    near = str(first.get("highlight") or "")
    line, column = int(first.get("line") or 1), int(first.get("col") or 1)
    before = sum(len(text) + 1 for text in sql.split("\n")[: line - 1])
    offset = max(1, before + column - max(len(near), 1) + 1)
    hint = _spoken(sql[: offset - 1], near)
    return SyntaxError_(f'syntax error at or near "{near}"', hint=hint, position=offset)


def _spoken(before: str, near: str) -> str | None:
    """What other systems' words are here."""
    if near == "`":
        return 'Names stand as they are, or in double quotes: "name".'
    return "LIMIT at the end takes the first rows." if _TOP.search(before) else None


def _only_queries(tree: exp.Expr) -> exp.Expr:
    if isinstance(tree, exp.Query):
        return tree
    name = type(tree).__name__.upper()
    if isinstance(tree, exp.Command):
        name = str(tree.this).upper()
    if isinstance(
        tree,
        (exp.Insert, exp.Update, exp.Delete, exp.Merge, exp.DDL, exp.Drop, exp.Alter, exp.Copy),
    ):
        raise ReadOnly(
            f"{name} is refused: dp4sql answers queries and changes nothing",
            hint="Run it on the database itself.",
        )
    raise Unsupported(
        f"{name} is not a query", hint="Statements that work start with SELECT or WITH."
    )


def position(tree: exp.Expr | None) -> int | None:
    """1-based offset of the first character of `tree` that the parser remembers."""
    if tree is None:
        return None
    starts = [int(part.meta["start"]) for part in tree.walk() if "start" in part.meta]
    return min(starts) + 1 if starts else None


def nearest(name: str, known: Iterable[str]) -> str | None:
    close = difflib.get_close_matches(name.lower(), sorted(known), n=1, cutoff=0.6)
    return close[0] if close else None
