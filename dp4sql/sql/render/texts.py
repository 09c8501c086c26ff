"""Functions of text to engine SQL with Postgres's meaning."""

from __future__ import annotations

from typing import Final

from dp4sql.algebra.expr import Expr, Lit
from dp4sql.errors import Unsupported
from dp4sql.sql.dialects import Dialect

ALIKE: Final = frozenset(
    {"lower", "upper", "length", "trim", "ltrim", "rtrim"}
    | {"replace", "starts_with", "lpad", "rpad", "translate", "ascii"}
)
"""What every engine calls by the same name, with the same meaning."""
FAR: Final = 1_100_000_000
"""Texts have at most a thousand million characters."""


def like(op: str, args: tuple[Expr, ...], texts: list[str], dialect: Dialect) -> str:
    subject, pattern = args
    if not isinstance(pattern, Lit) or not isinstance(pattern.value, str):
        raise Unsupported(
            "LIKE needs a constant pattern", hint="A pattern from data can be malformed."
        )
    if pattern.value.replace("\\\\", "").endswith("\\"):
        raise Unsupported(
            "LIKE pattern must not end with the escape character",
            hint="Write the backslash twice to look for one.",
        )
    escape = " ESCAPE '\\'" if "\\" in pattern.value and dialect.name == "duckdb" else ""
    return f"({_blanks(subject, texts[0], dialect)} {op.upper()} {texts[1]}{escape})"


def matches(args: tuple[Expr, ...], texts: list[str], dialect: Dialect) -> str:
    """A regular expression that `lower.expressions.patterns` wrote; `.` stands for the end of a line, too."""
    subject = _blanks(args[0], texts[0], dialect)
    if dialect.name == "duckdb":
        return f"REGEXP_MATCHES({subject}, {texts[1]}, 's')"
    return f"({subject} ~ {texts[1]})"


def _blanks(arg: Expr, text: str, dialect: Dialect) -> str:
    """char(n) keeps its blanks under LIKE. Engines without the type store none."""
    if arg.type.kind != "character" or arg.type.length is None or dialect.name == "postgres":
        return text
    return f"RPAD({text}, {arg.type.length}, ' ')"


def concatenated(op: str, args: tuple[Expr, ...], texts: list[str]) -> str:
    """CONCAT and CONCAT_WS write booleans as t and f."""
    parts = [
        f"CASE WHEN {text} THEN 't' WHEN NOT {text} THEN 'f' END"
        if arg.type.kind == "boolean"
        else text
        for arg, text in zip(args, texts, strict=True)
    ]
    return f"{op.upper()}({', '.join(parts)})"


def substring(args: tuple[Expr, ...], texts: list[str]) -> str:
    """Positions before the first are counted, as in Postgres, and hold nothing."""
    text, start, at = texts[0], args[1], place(args[1], texts[1])
    if isinstance(start, Lit) and isinstance(start.value, int):
        first = str(min(FAR, max(1, start.value)))
        shift = min(0, start.value - 1)
    else:
        first = f"CASE WHEN {at} < 1 THEN 1 ELSE {at} END"
        shift = None
    if len(args) < 3:
        return f"SUBSTRING({text}, {first})"
    assert isinstance(args[2], Lit)
    size = min(2**31 - 1, int(str(args[2].value)))
    if shift is not None:
        return f"SUBSTRING({text}, {first}, {max(0, size + shift)})"
    left = (
        f"CASE WHEN {at} < {1 - size} THEN 0 WHEN {at} < 1 THEN {at} + {size - 1} ELSE {size} END"
    )
    return f"SUBSTRING({text}, {first}, {left})"


def split_part(args: tuple[Expr, ...], texts: list[str], dialect: Dialect) -> str:
    """Postgres counts from the end since its version 14; the delimiter is one character then."""
    text, delimiter, number = *texts[:2], int(place(args[2], texts[2]))
    if number < 0 and dialect.name == "postgres":
        return f"REVERSE(SPLIT_PART(REVERSE({text}), {delimiter}, {-number}))"
    return f"SPLIT_PART({text}, {delimiter}, {number})"


def place(arg: Expr, text: str) -> str:
    """A place in a text, or a number of characters, no farther than engines can count."""
    if isinstance(arg, Lit) and isinstance(arg.value, int):
        return str(max(-FAR, min(FAR, arg.value)))
    far = f"WHEN {text} < -{FAR} THEN -{FAR} WHEN {text} > {FAR} THEN {FAR}"
    return f"CASE {far} ELSE CAST({text} AS INTEGER) END"


def backwards(text: str, dialect: Dialect) -> str:
    """REVERSE. DuckDB's own keeps an accent behind its letter: here a control character parts the two first."""
    if dialect.name != "duckdb":
        return f"REVERSE({text})"
    mark = chr(1)
    parted = f"REGEXP_REPLACE({text}, '(.)', '\\1{mark}', 'gs')"
    return f"REGEXP_REPLACE(REVERSE({parted}), '{mark}(.)', '\\1', 'gs')"


def position(texts: list[str], dialect: Dialect) -> str:
    name = "INSTR" if dialect.name == "spark" else "STRPOS"
    return f"{name}({', '.join(texts)})"


def field(op: str, args: tuple[Expr, ...], texts: list[str]) -> str:
    """A field of released JSON, which DuckDB alone is given. A name as it is might be read as a path there."""
    assert isinstance(args[1], Lit)
    name = str(args[1].value).replace("'", "''")
    return f"({texts[0]} {op} '$.\"{name}\"')"
