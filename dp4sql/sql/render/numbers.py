"""Arithmetic and rounding to engine SQL that cannot fail on data and means the same on every engine.

Exact numbers are computed in a type wide enough for all that their operands' types can hold, and in double
precision beyond 38 digits. Double precision that could overflow or underflow, which is an error on one
engine and infinity on another, yields NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dp4sql.algebra.digits import MAX_DIGITS, together, width
from dp4sql.algebra.digits import SUMMABLE as SUMMED
from dp4sql.algebra.expr import Call, Expr, Lit
from dp4sql.algebra.types import DOUBLE, FLOATS, INTEGERS, Kind, Type
from dp4sql.errors import Unsupported
from dp4sql.sql.dialects import Dialect

LARGE: Final = "1e300"
SMALL: Final = "1e-300"
SUMMABLE: Final = "8e307"
ADDED: Final = "1e290"
FACTOR: Final = ("1e-150", "1e150")
FAR: Final = ("1e-260", "1e260")
REAL: Final = ("1.1754944e-38", "3.4028234e38")
DOUBLES: Final = frozenset({"+", "-", "*", "/", "%", "sqrt", "ln", "log10", "exp", "power"})
MAX_TEXT: Final = 20_000
SHORT: Final = 18


def arithmetic(op: str, expr: Call, texts: list[str], dialect: Dialect) -> str:
    """`+`, `-` and `*`."""
    if expr.type.kind in FLOATS:
        return _floating(op, expr, texts, dialect)
    if expr.type.kind in INTEGERS:
        return _whole(op, expr, texts, dialect)
    if width(expr) is None:
        return _double(op, expr.args, texts, dialect)
    if dialect.name == "postgres":
        return f"(CAST({texts[0]} AS NUMERIC) {op} {texts[1]})"
    short = dialect.name == "duckdb" and _short(expr)
    left, right = (_decimal(a, text, short) for a, text in zip(expr.args, texts, strict=True))
    if op == "*" and not short:
        left = _roomy(expr.args[0], left, dialect)
    return f"({left} {op} {right})"


def _short(expr: Call) -> bool:
    """Whether 18 digits suffice. DuckDB computes in so many by itself, and quickest, where both sides have
    no more."""
    needed = width(expr)
    return needed is not None and needed.digits <= SHORT


def _whole(op: str, expr: Call, texts: list[str], dialect: Dialect) -> str:
    needed = width(expr)
    if needed is None:
        raise Unsupported(
            f"this expression can have more than {dialect.max_digits} digits",
            hint="Cast a part of it to double precision, or divide first.",
        )
    cast = "BIGINT" if needed.digits <= 18 else dialect.huge
    return f"(CAST({texts[0]} AS {cast}) {op} {texts[1]})"


def _decimal(arg: Expr, text: str, short: bool) -> str:
    """Integer operands of decimal arithmetic get just the digits they need, or what is quickest."""
    own = width(arg)
    if arg.type.kind in INTEGERS and own is not None:
        digits = SHORT if short and not isinstance(arg, Lit) else own.digits
        return f"CAST({text} AS DECIMAL({digits},0))"
    return text


def _roomy(arg: Expr, text: str, dialect: Dialect) -> str:
    """Of two decimals of at most 18 digits DuckDB makes one of 18, whatever the product needs."""
    own = width(arg)
    if dialect.name != "duckdb" or own is None:
        return text
    return f"CAST({text} AS DECIMAL({max(19, own.digits)},{own.scale}))"


def alike(args: Sequence[Expr], texts: list[str], dialect: Dialect) -> list[str]:
    """Exact numbers as they meet in a comparison or a CASE: in double precision where no exact type of the
    engine holds all of them, for DuckDB's own conversion would fail on some. Beside floating point Postgres
    converts them, and fails on those that no float holds."""
    if dialect.name == "postgres":
        floats = _floats(args)
        return [_beside(arg, t, floats, dialect) for arg, t in zip(args, texts, strict=True)]
    kinds = {arg.type.kind for arg in args} - {"unknown"}
    exact = "numeric" in kinds and kinds <= INTEGERS | {"numeric"}
    if not exact or together(args) is not None:
        return texts
    return [
        text if isinstance(arg, Lit) and arg.value is None else to_double(arg, text, dialect)
        for arg, text in zip(args, texts, strict=True)
    ]


def united(args: Sequence[Expr], texts: list[str], dialect: Dialect) -> list[str]:
    """Exact numbers as they stand in one column of a UNION, for which engines take a type that may have too few
    digits after the point."""
    scales = {arg.type.scale for arg in args}
    if dialect.name == "postgres" or (len(scales) == 1 and None not in scales):
        return texts
    return alike(args, texts, dialect)


def held_in(args: tuple[Expr, ...], texts: list[str], dialect: Dialect) -> str:
    """A value, its least, its most, and what stands for NULL. NaN, which engines take for the greatest
    number, becomes the most.

    A CASE, not LEAST and GREATEST, because those turn NULL into an end; the first branch is the usual one.
    """
    alikes = alike(args, texts, dialect)
    own = width(Call("held in", args, args[0].type))
    if own is None or args[0].type.kind in INTEGERS or dialect.name == "duckdb":
        return _held(alikes, alikes)
    if dialect.name == "spark":
        # Spark drops digits of products whose operands' types are wide.
        return f"CAST({_held(alikes, alikes)} AS DECIMAL({own.digits},{own.scale}))"
    # A column of Postgres may have more digits than are declared. Where it has not, the cast costs nothing.
    whole = max(own.whole, (width(args[0]) or own).whole) + 1
    return _held(
        alikes, [f"CAST({text} AS DECIMAL({whole + own.scale},{own.scale}))" for text in alikes]
    )


def _held(texts: list[str], results: list[str]) -> str:
    value, low, high, absent = texts
    below = "" if absent == low else f"WHEN {value} < {low} THEN {results[1]} "
    inside = f"WHEN {value} BETWEEN {low} AND {high} THEN {results[0]}"
    return f"CASE {inside} WHEN {value} > {high} THEN {results[2]} {below}ELSE {results[3]} END"


def _beside(arg: Expr, text: str, floats: frozenset[Kind], dialect: Dialect) -> str:
    known = width(arg) is not None and not isinstance(arg, Lit)
    if arg.type.kind != "numeric" or not floats or known or _is_double(arg):
        return text
    double = to_double(arg, text, dialect)
    return double if floats != {"real"} else narrowed(double, dialect)


def _floats(args: Sequence[Expr]) -> frozenset[Kind]:
    """The types in floating point that the engine gives to `args`."""
    found = {arg.type.kind for arg in args} & FLOATS
    return frozenset(found | {"double precision" for arg in args if _is_double(arg)})


def _is_double(arg: Expr) -> bool:
    """Whether it is numeric by its type, and computed in double precision all the same."""
    computed = isinstance(arg, Call) and arg.op in DOUBLES
    return computed and arg.type.kind == "numeric" and width(arg) is None


# ---------------------------------------------------------------- double precision


def to_double(arg: Expr, text: str, dialect: Dialect) -> str:
    """`text` in double precision. Exact numbers of unknown size are that already, except in a table."""
    double = dialect.type_name(DOUBLE)
    if arg.type.kind == "double precision":
        return text
    if _unlimited(arg, dialect):
        inside = f"{text} BETWEEN -{LARGE} AND {LARGE}"
        near = f"ABS({text}) < {SMALL}"
        return f"CASE WHEN {near} THEN 0 WHEN {inside} THEN CAST({text} AS {double}) END"
    return f"CAST({text} AS {double})"


def finite(arg: Expr, text: str, dialect: Dialect) -> str:
    """The same, but the largest number where `text` is larger. NULL is NULL alone."""
    double = dialect.type_name(DOUBLE)
    if not _unlimited(arg, dialect):
        return f"CAST({text} AS {double})"
    far = f"WHEN {text} < -{LARGE} THEN -{LARGE} WHEN {text} > {LARGE} THEN {LARGE}"
    return f"CASE {far} WHEN ABS({text}) < {SMALL} THEN 0 ELSE CAST({text} AS {double}) END"


def summable(op: str, arg: Expr, text: str, dialect: Dialect) -> str:
    """What a sum or a mean takes: NULL where it could run out of digits."""
    own, double = width(arg), dialect.type_name(DOUBLE)
    if dialect.name == "postgres":
        return text if own is not None else _addable(arg, text, double)
    scale = arg.type.scale if own is None else own.scale
    if scale is not None and (own is None or own.digits > SUMMED):
        limit = f"1e{SUMMED - scale}"
        text = f"CASE WHEN CAST({text} AS {double}) BETWEEN -{limit} AND {limit} THEN {text} END"
    whole = op != "avg" and arg.type.kind in INTEGERS
    return dialect.summed(text, own.digits if own else 0) if whole else text


def _addable(arg: Expr, text: str, double: str) -> str:
    """Postgres fails where a sum leaves floating point; elsewhere it is infinite then."""
    exact = arg.type.kind == "numeric"
    x = text if exact else f"CAST({text} AS {double})"
    far = "" if exact else f" ELSE {x} * CAST('Infinity' AS {double})"
    return f"CASE WHEN {x} BETWEEN -{ADDED} AND {ADDED} THEN {x}{far} END"


def squarable(arg: Expr, text: str, dialect: Dialect) -> str:
    """In double precision, NULL where the sum of squares could leave it."""
    double = to_double(arg, text, dialect)
    return f"CASE WHEN ABS({double}) <= {FACTOR[1]} THEN {double} END"


def _unlimited(arg: Expr, dialect: Dialect) -> bool:
    """Whether Postgres may hold a number that no double does, far from 0 or near it."""
    return arg.type.kind == "numeric" and width(arg) is None and dialect.name == "postgres"


def _floating(op: str, expr: Call, texts: list[str], dialect: Dialect) -> str:
    found = _double(op, expr.args, texts, dialect)
    return narrowed(found, dialect) if expr.type.kind == "real" else found


def _double(op: str, args: tuple[Expr, ...], texts: list[str], dialect: Dialect) -> str:
    a, b = (to_double(arg, text, dialect) for arg, text in zip(args, texts, strict=True))
    tests = [
        _summable(text) if op in ("+", "-") else _factor(text, FAR if _modest(other) else FACTOR)
        for arg, other, text in zip(args, args[::-1], (a, b), strict=True)
        if not _modest(arg)
    ]
    return _where(tests, f"{a} {op} {b}")


def _modest(arg: Expr) -> bool:
    """A constant, an exact number of known size or what is counted of times, which no single operation takes
    out of range."""
    match arg:
        case Call("+" | "-", (a, b)):
            return width(arg) is not None or (_modest(a) and _modest(b))
        case Call("round" | "trunc", (a, *_)):
            return _modest(a)
        case Call(op) if op.startswith("extract_"):
            return True
        case _:
            return width(arg) is not None


def _summable(text: str) -> str:
    return f"{text} BETWEEN -{SUMMABLE} AND {SUMMABLE}"


def _factor(text: str, span: tuple[str, str]) -> str:
    return f"({text} = 0 OR ABS({text}) BETWEEN {span[0]} AND {span[1]})"


def _where(tests: list[str], text: str) -> str:
    found = f"CASE WHEN {' AND '.join(tests)} THEN {text} END" if tests else text
    if len(found) > MAX_TEXT:
        raise Unsupported(
            "this expression nests too deeply for double precision",
            hint="Cast its columns to numeric(p, s).",
        )
    return f"({found})"


def narrowed(text: str, dialect: Dialect) -> str:
    """A double as a real, NULL where it is none."""
    low, high = REAL
    real = dialect.type_name(Type("real"))
    test = f"{text} = 0 OR ABS({text}) BETWEEN {low} AND {high}"
    return f"CASE WHEN {test} THEN CAST({text} AS {real}) END"


# ---------------------------------------------------------------- division


def divide(op: str, expr: Call, texts: list[str], dialect: Dialect) -> str:
    """`/` and `%`; NULL where the divisor is 0."""
    if expr.type.kind in INTEGERS:
        return _divide_whole(op, texts, dialect)
    if op == "%" and width(expr) is not None:
        cast = "NUMERIC" if dialect.name == "postgres" else f"DECIMAL(38,{_scale(expr)})"
        return f"(CAST({texts[0]} AS {cast}) % NULLIF({texts[1]}, 0))"
    if op == "%" and dialect.name == "postgres":
        raise Unsupported(
            "% of numbers of unknown size is not supported on Postgres",
            hint="Cast both to numeric(p, s).",
        )
    a, b = (to_double(arg, t, dialect) for arg, t in zip(expr.args, texts, strict=True))
    dividend, divisor = expr.args
    span = FAR if _modest(dividend) or _modest(divisor) else FACTOR
    tests = [] if _modest(dividend) else [_factor(a, span)]
    tests += [] if _modest(divisor) else [f"ABS({b}) BETWEEN {span[0]} AND {span[1]}"]
    found = _where(tests, f"{a} {op} NULLIF({b}, 0)")
    return narrowed(found, dialect) if expr.type.kind == "real" else found


def _scale(expr: Expr) -> int:
    own = width(expr)
    return own.scale if own is not None else 0


def _divide_whole(op: str, texts: list[str], dialect: Dialect) -> str:
    a, b = texts
    match dialect.name:
        case "postgres":
            function = "DIV" if op == "/" else "MOD"
            return f"{function}(CAST({a} AS NUMERIC), NULLIF(CAST({b} AS NUMERIC), 0))"
        case "spark" if op == "/":
            return f"(CAST({a} AS BIGINT) DIV NULLIF({b}, 0))"
        case _:
            sign = "//" if op == "/" and dialect.name == "duckdb" else op
            return f"(CAST({a} AS {dialect.huge}) {sign} NULLIF({b}, 0))"


# ---------------------------------------------------------------- rounding, roots, powers


def rounding(op: str, args: tuple[Expr, ...], texts: list[str], dialect: Dialect) -> str:
    """FLOOR, CEIL, TRUNC, SIGN and ROUND. Postgres rounds doubles to even, decimals away from zero."""
    text, exact = texts[0], args[0].type.kind == "numeric"
    if op in ("floor", "ceil") and dialect.name == "spark" and width(args[0]) is None:
        # Spark makes a bigint of it, or fails. Beyond 2^53 there are no fractions.
        small = f"ABS({text}) < {2**53}"
        return f"CASE WHEN {small} THEN CAST({op.upper()}({text}) AS DOUBLE) ELSE {text} END"
    if op == "sign" and not exact:
        # DuckDB makes a tinyint of it, which a sum overflows.
        return f"CAST(SIGN({text}) AS {dialect.type_name(DOUBLE)})"
    if op != "round":
        return f"{op.upper()}({text})"
    if not exact:
        even = {"postgres": "ROUND({})", "duckdb": "ROUND_EVEN({}, 0)", "spark": "BROUND({}, 0)"}
        return even[dialect.name].format(text)
    if dialect.name == "postgres":
        return f"ROUND(CAST({text} AS NUMERIC), {texts[1]})"
    if width(args[0]) is None and dialect.name == "duckdb":
        # 2.675 is a little less in binary: it rounds as the decimal that is meant.
        meant = f"CAST(ROUND(TRY_CAST({text} AS DECIMAL(38,15)), {texts[1]}) AS DOUBLE)"
        return f"COALESCE({meant}, ROUND({text}, {texts[1]}))"
    if width(Call("round", args, args[0].type)) is None:
        raise Unsupported(
            f"ROUND of a number of {MAX_DIGITS} digits can have one more",
            hint="Cast it to double precision, or to numeric(p, s) with fewer digits.",
        )
    return f"ROUND({text}, {texts[1]})"


def analytic(op: str, arg: Expr, text: str, dialect: Dialect) -> str:
    """SQRT, LN, LOG10 and EXP, NULL where Postgres raises an error."""
    x = to_double(arg, text, dialect)
    positive = f"{x} > 0"
    test = {
        "sqrt": f"{x} >= 0",
        "ln": positive,
        "log10": positive,
        "exp": f"{x} BETWEEN -700 AND 700",
    }[op]
    return f"CASE WHEN {test} THEN {op.upper()}({x}) END"


def power(args: tuple[Expr, ...], texts: list[str], dialect: Dialect) -> str:
    """Whole constant powers of any base, other powers of positive ones, as far as both ways are safe."""
    x = to_double(args[0], texts[0], dialect)
    exponent = args[1]
    if isinstance(exponent, Lit) and isinstance(exponent.value, int) and 0 <= exponent.value <= 64:
        reach = 300 // max(1, exponent.value)
        test = f"{x} = 0 OR ABS({x}) BETWEEN 1e-{reach} AND 1e{reach}"
        return f"CASE WHEN {test} THEN POWER({x}, {exponent.value}) END"
    y = to_double(exponent, texts[1], dialect)
    outer = f"{x} BETWEEN {FACTOR[0]} AND {FACTOR[1]} AND {y} BETWEEN -1e6 AND 1e6"
    inner = f"CASE WHEN {y} * LN({x}) BETWEEN -690 AND 690 THEN POWER({x}, {y}) END"
    return f"CASE WHEN {outer} THEN {inner} END"
