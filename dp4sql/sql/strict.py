"""What sqlglot lets pass and Postgres does not: it would be answered, and charged, unlike what was meant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from dp4sql.errors import SyntaxError_

#: Nothing that could stand in a list begins so; all of these words are reserved.
_CLOSING: Final = frozenset(
    {
        TokenType.R_PAREN,
        TokenType.SEMICOLON,
        TokenType.FROM,
        TokenType.WHERE,
        TokenType.GROUP_BY,
        TokenType.HAVING,
        TokenType.ORDER_BY,
        TokenType.LIMIT,
        TokenType.OFFSET,
        TokenType.FETCH,
        TokenType.UNION,
        TokenType.INTERSECT,
        TokenType.EXCEPT,
    }
)
_OPENING: Final = frozenset(
    {TokenType.COMMA, TokenType.GROUP_BY, TokenType.DISTINCT, TokenType.OFFSET}
)
_NUMBER: Final = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WORD: Final = re.compile(r"\w")
#: t.offset, AS offset, IS [NOT] DISTINCT FROM.
_BEFORE_OTHER_USES: Final = frozenset({TokenType.DOT, TokenType.ALIAS, TokenType.IS, TokenType.NOT})


def whole(tokens: Sequence[Token]) -> None:
    """SyntaxError_ where something is missing after a comma or a keyword."""
    for i, token in enumerate(tokens):
        after = tokens[i + 1] if i + 1 < len(tokens) else None
        continues = i and tokens[i - 1].token_type in _BEFORE_OTHER_USES
        if token.token_type in _OPENING and not continues:
            if after is None:
                raise SyntaxError_("syntax error at end of input", position=token.end + 2)
            if after.token_type in _CLOSING:
                raise _near(after)
        elif token.token_type == TokenType.EQ and token.text == "==":
            raise _near(token, "Write a single =.")
        elif token.token_type == TokenType.NUMBER:
            _number(token, after)
        elif token.token_type == TokenType.R_PAREN and i > 1:
            _argument(tokens[i - 2], tokens[i - 1], token)


def _number(token: Token, after: Token | None) -> None:
    """1_000 is a 1 called _000 to sqlglot, in a list of outputs."""
    close = after is not None and after.start == token.end + 1
    junk = after.text if close and after is not None and _WORD.match(after.text) else ""
    if junk or not _NUMBER.fullmatch(token.text):
        raise SyntaxError_(
            f'trailing junk after numeric literal at or near "{token.text}{junk}"',
            hint="Numbers are written 1000, 0.5 or 1e3, with a blank before the next word.",
            position=token.start + 1,
        )


def _argument(word: Token, opened: Token, closed: Token) -> None:
    if opened.token_type != TokenType.L_PAREN:
        return
    if word.token_type == TokenType.IN:
        raise _near(closed, "IN takes at least one value.")
    if word.text.lower() == "count":
        raise _near(closed, "COUNT(*) counts rows, COUNT(x) values that are not NULL.")


def conditions(tree: exp.Expr, tokens: Sequence[Token]) -> None:
    """SyntaxError_ where JOIN has neither ON nor USING: sqlglot takes it for a comma."""
    joins = list(tree.find_all(exp.Join))
    free = sum(join.kind == "CROSS" or join.method == "NATURAL" for join in joins)
    told = sum(
        bool(join.args.get("on") or join.args.get("using")) and join.kind != "CROSS"
        for join in joins
    )
    words = [token for token in tokens if token.token_type == TokenType.JOIN]
    if told < len(words) - free:
        raise SyntaxError_(
            "JOIN has no condition",
            hint="Add ON or USING; CROSS JOIN combines all rows with all rows.",
            position=words[0].start + 1 if len(words) == 1 else None,
        )


def _near(token: Token, hint: str | None = None) -> SyntaxError_:
    return SyntaxError_(
        f'syntax error at or near "{token.text}"', hint=hint, position=token.start + 1
    )
