"""Casts to engine SQL that cannot fail: a value that is none of the target type becomes NULL."""

from __future__ import annotations

from typing import Final

from dp4sql.algebra.digits import MAX_DIGITS, Width, fits, width
from dp4sql.algebra.expr import Call, Expr
from dp4sql.algebra.types import DOUBLE, FLOATS, INTEGERS, LIMITS, NUMBERS, TEXTS, TIMES, Type
from dp4sql.errors import Unsupported
from dp4sql.infer.ranges import lossless
from dp4sql.sql.dialects import Dialect
from dp4sql.sql.render import times
from dp4sql.sql.render.numbers import LARGE, narrowed, to_double

WHOLE: Final = "^ *[+-]?[0-9]{1,37} *$"
DECIMAL: Final = "^ *[+-]?[0-9]{1,15}(\\.[0-9]{0,15})?([eE][+-]?[0-9])? *$"
TRUE: Final = ("t", "tr", "tru", "true", "y", "ye", "yes", "on", "1")
FALSE: Final = ("f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0")


def cast(arg: Expr, text: str, target: Type, dialect: Dialect) -> str:
    source = arg.type
    name = dialect.type_name(target)
    if target.kind in TEXTS:
        return _to_text(arg, text, target, dialect)
    if source.kind in NUMBERS:
        return _from_number(arg, text, target, dialect)
    if source.kind in TEXTS:
        return _from_text(text, target, dialect)
    if source.kind in TIMES and target.kind in TIMES:
        return times.cast(arg, text, target, dialect)
    if lossless(source, target):
        return f"CAST({text} AS {name})"
    raise _unsafe(source, target)


def _tried(text: str, name: str) -> str:
    return f"TRY_CAST({text} AS {name})"


def _unsafe(source: Type, target: Type) -> Unsupported:
    return Unsupported(
        f"a cast from {source.kind} to {target.kind} can fail on data, and this engine has no safe form of it",
        hint="Compare with a constant of the column's own type instead.",
    )


def _to_text(arg: Expr, text: str, target: Type, dialect: Dialect) -> str:
    counted = isinstance(arg, Call) and arg.op.startswith("extract_")
    sized = arg.type.scale is not None and (counted or width(arg) is not None)
    if arg.type.kind == "interval":
        # Equal ones have several texts, and which of them stands for a group depends on the order of rows.
        raise Unsupported(
            "engines write interval values differently as text",
            hint="Compare it with a constant, as in d > INTERVAL '30 days'.",
        )
    if arg.type.kind in FLOATS or (arg.type.kind == "numeric" and not sized):
        raise Unsupported(
            f"engines write {arg.type.kind} values differently as text",
            hint="Cast to numeric(p, s) first, or ROUND to a number of digits.",
        )
    if arg.type.kind == "numeric" and dialect.name == "postgres":
        text = f"ROUND({text}, {arg.type.scale})"
    plain = f"CAST({text} AS {dialect.type_name(Type('text'))})"
    if dialect.name == "spark" and arg.type.kind == "timestamp with time zone":
        plain = f"({plain} || '+00')"  # sessions are in UTC
    return plain if target.length is None else f"SUBSTRING({plain}, 1, {target.length})"


def _from_number(arg: Expr, text: str, target: Type, dialect: Dialect) -> str:
    name = dialect.type_name(target)
    if target.kind == "boolean":
        return f"({text} <> 0)"
    if target.kind in INTEGERS:
        return _to_integer(arg, text, target, dialect)
    if target.kind == "double precision":
        return to_double(arg, text, dialect)
    if target.kind == "real":
        exact = arg.type.kind in INTEGERS
        return (
            f"CAST({text} AS {name})" if exact else narrowed(to_double(arg, text, dialect), dialect)
        )
    if target.precision is None:
        return _as_numeric(arg, text, dialect)
    return _to_decimal(arg, text, target, dialect)


def _as_numeric(arg: Expr, text: str, dialect: Dialect) -> str:
    own = width(arg)
    if own is None:
        return to_double(arg, text, dialect)
    if arg.type.kind in INTEGERS:
        decimal = f"DECIMAL({own.digits},0)"
        return f"CAST({text} AS {'NUMERIC' if dialect.name == 'postgres' else decimal})"
    return text


def _to_integer(arg: Expr, text: str, target: Type, dialect: Dialect) -> str:
    """Half-way cases are rounded, so the last value that fits lies half a unit beyond the limit."""
    whole = arg.type.kind in INTEGERS
    if lossless(arg.type, target) and (not whole or fits(arg)):
        return f"CAST({text} AS {dialect.type_name(target)})"
    limit, own = LIMITS[target.kind], width(arg)
    inside = f"{text} > -{limit}.5 AND {text} < {limit - 1}.5"
    if whole or (own is not None and own.scale == 0):
        inside = f"{text} BETWEEN -{limit} AND {limit - 1}"
    elif arg.type.kind == "numeric" and dialect.name != "postgres" and not _near(own):
        text = to_double(arg, text, dialect)
        inside = f"{text} > -{limit}.5 AND {text} < {limit - 1}.5"
    if arg.type.kind in FLOATS and target.kind == "bigint":
        inside = f"{text} >= -9223372036854775808 AND {text} < 9223372036854775808"
    return f"CASE WHEN {inside} THEN CAST({_nearest(arg, text, dialect)} AS {dialect.type_name(target)}) END"


def _near(own: Width | None) -> bool:
    """Whether the engine can compare so many digits with the limits of every integer."""
    return own is not None and max(own.whole, 19) + own.scale <= MAX_DIGITS


def _nearest(arg: Expr, text: str, dialect: Dialect) -> str:
    """Casts to integers round; Spark's cut off."""
    if dialect.name != "spark":
        return text
    return f"BROUND({text}, 0)" if arg.type.kind in FLOATS else f"ROUND({text}, 0)"


def _to_decimal(arg: Expr, text: str, target: Type, dialect: Dialect) -> str:
    name = dialect.type_name(target)
    if dialect.name != "postgres":
        return _tried(text, name)
    scale = target.scale or 0
    limit = f"{10 ** ((target.precision or 0) - scale) - 1}.{'9' * scale}5"
    exact = f"CAST({_finite(arg, text, dialect)} AS NUMERIC)"
    return f"CASE WHEN {exact} > -{limit} AND {exact} < {limit} THEN CAST({exact} AS {name}) END"


def _finite(arg: Expr, text: str, dialect: Dialect) -> str:
    """NULL for infinity and NaN, which Postgres 13 makes no decimals of."""
    if arg.type.kind not in FLOATS or dialect.name != "postgres":
        return text
    return f"CASE WHEN {text} BETWEEN -{LARGE} AND {LARGE} THEN {text} END"


# ---------------------------------------------------------------- from text


def _from_text(text: str, target: Type, dialect: Dialect) -> str:
    name = dialect.type_name(target)
    match target.kind:
        case "smallint" | "integer" | "bigint":
            limit = LIMITS[target.kind]
            whole = f"CAST({text} AS {dialect.huge})"
            inner = f"CASE WHEN {whole} BETWEEN -{limit} AND {limit - 1} THEN CAST({text} AS {name}) END"
            return f"CASE WHEN {_matches(text, WHOLE, dialect)} THEN {inner} END"
        case "numeric" | "double precision" | "real":
            return _number_from_text(text, target, dialect)
        case "boolean":
            word = f"LOWER(TRIM({text}))"
            yes, no = (", ".join(f"'{w}'" for w in words) for words in (TRUE, FALSE))
            return f"CASE WHEN {word} IN ({yes}) THEN TRUE WHEN {word} IN ({no}) THEN FALSE END"
        case _ if dialect.name != "postgres":
            return _tried(text, name)
        case _:
            raise _unsafe(Type("text"), target)


def _number_from_text(text: str, target: Type, dialect: Dialect) -> str:
    double = dialect.type_name(DOUBLE)
    matches = _matches(text, DECIMAL, dialect)
    if target.kind != "numeric" or target.precision is None:
        name = dialect.type_name(target) if target.kind == "real" else double
        return f"CASE WHEN {matches} THEN CAST({text} AS {name}) END"
    if dialect.name != "postgres":
        return f"CASE WHEN {matches} THEN {_tried(text, dialect.type_name(target))} END"
    scale = target.scale or 0
    limit = f"{10 ** (target.precision - scale) - 1}.{'9' * scale}5"
    exact = f"CAST({text} AS NUMERIC)"
    inner = f"CASE WHEN {exact} > -{limit} AND {exact} < {limit} THEN CAST({text} AS {dialect.type_name(target)}) END"
    return f"CASE WHEN {matches} THEN {inner} END"


def _matches(text: str, pattern: str, dialect: Dialect) -> str:
    match dialect.name:
        case "postgres":
            return f"{text} ~ '{pattern}'"
        case "spark":
            return f"{text} RLIKE '{pattern}'"
        case _:
            return f"REGEXP_MATCHES({text}, '{pattern}')"
