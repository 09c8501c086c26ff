"""A cursor over the tokens of one statement."""

from __future__ import annotations

from collections.abc import Iterator

from dp4sql.errors import SyntaxError_, Unsupported
from dp4sql.sql.lexer import Statement, Token, unescaped


class Reader:
    """Reads a statement from left to right. What does not fit raises SyntaxError_ with its place."""

    def __init__(self, statement: Statement) -> None:
        self.statement, self._at = statement, 0

    # ------------------------------------------------------------ looking

    def at_end(self) -> bool:
        return self._at >= len(self.statement.tokens)

    def at_integer(self) -> bool:
        return not self.at_end() and (self._here.kind == "number" or self._here.text in "+-")

    @property
    def _here(self) -> Token:
        if self.at_end():
            raise self.unexpected()
        return self.statement.tokens[self._at]

    def unexpected(self) -> SyntaxError_:
        if self.at_end():
            return SyntaxError_(
                "syntax error at end of input", position=len(self.statement.text) + 1
            )
        token = self._here
        return SyntaxError_(f'syntax error at or near "{token.text}"', position=token.start + 1)

    # ------------------------------------------------------------ keywords

    def take(self) -> Token:
        token = self._here
        self._at += 1
        return token

    def accept(self, *words: str) -> bool:
        """Step over these keywords or symbols when they come next, all of them."""
        coming = self.statement.tokens[self._at : self._at + len(words)]
        if [t.text.upper() if t.kind != "quoted" else "" for t in coming] != list(words):
            return False
        self._at += len(words)
        return True

    def accept_any(self, *words: str) -> str:
        """The one of these keywords that was stepped over, or an empty string."""
        return next((word for word in words if self.accept(word)), "")

    def expect(self, *words: str) -> None:
        if not self.accept(*words):
            raise self.unexpected()

    def expect_end(self) -> None:
        if not self.at_end():
            raise self.unexpected()

    # ------------------------------------------------------------ names and values

    def name(self) -> str:
        if not self._here.name:
            raise self.unexpected()
        return self.take().name

    def last_name(self) -> str:
        name = self.name()
        self.expect_end()
        return name

    def setting(self) -> str:
        """The name of a setting in lower case, with its dots."""
        parts = [self.name()]
        while self.accept("."):
            parts.append(self.name())
        return ".".join(parts).lower()

    def text(self) -> str:
        """The content of a string constant."""
        if self._here.kind != "string":
            raise self.unexpected()
        return _content(self.take())

    def integer(self) -> int:
        sign = -1 if self.accept("-") else 1
        sign == -1 or self.accept("+")
        token = self._here
        if not token.text.isdecimal():
            raise self.unexpected()
        return sign * int(self.take().text[:19])

    def value(self) -> str:
        """A string's content, or a word or number as written, sign included."""
        sign = self.accept_any("-", "+").replace("+", "")
        token = self.take()
        if token.kind == "string":
            return _content(token)
        if token.kind not in ("word", "number", "quoted"):
            self._at -= 1
            raise self.unexpected()
        return sign + (token.name if token.kind == "quoted" else token.text)

    def list_of_values(self) -> str:
        """Values up to the end, as Postgres joins them: `a, b`."""
        values = [self.value()]
        while self.accept(","):
            values.append(self.value())
        self.expect_end()
        return ", ".join(values)

    # ------------------------------------------------------------ brackets, after the opening one

    def options(self) -> dict[str, str]:
        """`name [value], ...)`: a name alone is on."""
        found: dict[str, str] = {}
        while True:
            name = self.name().lower()
            self.accept("=")
            bare = not self.at_end() and self._here.text in (",", ")")
            found[name] = "on" if bare else self._option()
            if not self.accept(","):
                break
        self.expect(")")
        return found

    def _option(self) -> str:
        if self.accept("("):
            return ", ".join(self.list_in_brackets())
        return "*" if self.accept("*") else self.value()

    def list_in_brackets(self) -> Iterator[str]:
        """Texts between commas up to the closing bracket, as in `(int, numeric(10, 2))`."""
        for part in _split(self._inside()):
            yield " ".join(token.name or token.text for token in part)

    def constants(self) -> Iterator[str | None]:
        """Constants between commas up to the closing bracket; NULL as None."""
        for part in _split(self._inside()):
            signed = len(part) == 2 and part[0].text in ("-", "+")
            last = part[-1] if part else None
            if last is None or len(part) != 1 + signed or last.kind not in _CONSTANTS:
                raise Unsupported(
                    "arguments of EXECUTE have to be constants", hint="EXECUTE name(1, 'text')"
                )
            text = _content(last) if last.kind == "string" else part[0].text * signed + last.text
            yield None if last.kind == "word" and text.upper() == "NULL" else text

    def in_brackets(self) -> Statement:
        """The statement up to the closing bracket."""
        first = self._at
        if not self._inside():
            raise self.unexpected()
        return self.statement.between(first, self._at - 1)

    def _inside(self) -> tuple[Token, ...]:
        first, depth = self._at, 1
        while depth:
            token = self.take()
            depth += (token.text == "(") - (token.text == ")")
        return self.statement.tokens[first : self._at - 1]

    def rest(self) -> Statement:
        """Everything that is left, as a statement of its own."""
        return self.statement.after(self._at)


_CONSTANTS = ("string", "number", "word")


def _split(tokens: tuple[Token, ...]) -> Iterator[list[Token]]:
    """Tokens between commas that stand in no further brackets."""
    part: list[Token] = []
    depth = 0
    for token in tokens:
        depth += (token.text == "(") - (token.text == ")")
        if token.text == "," and not depth:
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _content(token: Token) -> str:
    """What a string constant stands for."""
    text = token.text
    if text.startswith("$"):
        tag = text[: text.index("$", 1) + 1]
        return text[len(tag) : -len(tag)]
    if text.startswith("'"):
        return text[1:-1].replace("''", "'")
    if text[0] in "eE":
        return unescaped(text)
    raise Unsupported("strings of bits are not supported here", hint="Write 'text'.")
