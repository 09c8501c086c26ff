"""Result types of operators, as Postgres resolves them, and coercion of untyped literals."""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from sqlglot import exp

from dp4sql.algebra.digits import MAX_DIGITS
from dp4sql.algebra.expr import Expr, Lit
from dp4sql.algebra.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOATS,
    INTEGER,
    INTEGERS,
    INTERVAL,
    NUMBERS,
    NUMERIC,
    SMALLINT,
    TEXT,
    TEXTS,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    UUID,
    Kind,
    Type,
)
from dp4sql.errors import DatatypeMismatch, InvalidParameter, Unsupported
from dp4sql.sql.parse import position

_RANK: tuple[Kind, ...] = ("smallint", "integer", "bigint", "numeric", "real", "double precision")
_TIME_RANK: tuple[Kind, ...] = ("date", "timestamp without time zone", "timestamp with time zone")

_NAMES = {
    "SMALLINT": SMALLINT,
    "INT": INTEGER,
    "BIGINT": BIGINT,
    "DOUBLE": DOUBLE,
    "FLOAT": Type("real"),
    "BOOLEAN": BOOLEAN,
    "TEXT": TEXT,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "TIMESTAMPTZ": TIMESTAMPTZ,
    "INTERVAL": INTERVAL,
    "UUID": UUID,
}


LONGEST: Final = 10_485_760
MOST_DIGITS: Final = 1000
"""What Postgres allows."""


def sql_type(data: exp.DataType) -> Type:
    """The type that CAST names."""
    name = data.this.value if hasattr(data.this, "value") else str(data.this)
    sizes = [int(str(param.this)) for param in data.expressions if str(param.this).isdigit()]
    if name == "DECIMAL":
        if not sizes:
            return NUMERIC
        scale = sizes[1] if len(sizes) > 1 else 0
        _check_digits(sizes[0], scale, data)
        return Type("numeric", precision=sizes[0], scale=scale)
    if name in ("VARCHAR", "CHAR", "BPCHAR"):
        kind: Kind = "character varying" if name == "VARCHAR" else "character"
        if sizes and not 1 <= sizes[0] <= LONGEST:
            raise InvalidParameter(
                f"the length of a {kind} must be between 1 and {LONGEST}",
                hint="text has no length.",
                position=position(data),
            )
        # CHAR without a length is of one character.
        return Type(kind, length=sizes[0] if sizes else 1 if name == "CHAR" else None)
    if name in _NAMES and not data.expressions:
        return _NAMES[name]
    raise Unsupported(
        f"type {data.sql(dialect='postgres').lower()} is not supported",
        hint="Supported: smallint, integer, bigint, numeric, real, double precision, boolean, text, "
        "varchar, char, date, timestamp, timestamptz, interval, uuid.",
        position=position(data),
    )


def _check_digits(precision: int, scale: int, at: exp.DataType) -> None:
    if not 1 <= precision <= MOST_DIGITS:
        raise InvalidParameter(
            f"NUMERIC precision {precision} must be between 1 and {MOST_DIGITS}",
            position=position(at),
        )
    if scale > min(precision, MAX_DIGITS - 1):
        raise Unsupported(
            f"numeric({precision}, {scale}) has more digits after the point than in all, or than {MAX_DIGITS - 1}",
            hint="For instance numeric(18, 6).",
            position=position(at),
        )


def widest(*types: Type) -> Type | None:
    """The type in which values of all these meet; None where Postgres would refuse."""
    known = [t for t in types if t.kind != "unknown"]
    if not known:
        return UNKNOWN
    kinds = {t.kind for t in known}
    if len(set(known)) == 1:
        return known[0]
    if kinds <= NUMBERS:
        top = max(kinds, key=_RANK.index)
        wide = [t.precision for t in known if t.precision is not None and t.kind in INTEGERS]
        return Type(top, max(wide)) if wide and top in INTEGERS else _simple(top)
    if kinds <= TEXTS:
        return TEXT
    if kinds <= set(_TIME_RANK):
        return _simple(max(kinds, key=_TIME_RANK.index))
    return known[0] if len(kinds) == 1 else None


def _simple(kind: Kind) -> Type:
    return Type(kind)


def arithmetic(op: str, left: Type, right: Type, at: exp.Expr) -> Type:
    """Type of `left op right` over numbers."""
    if op == "%" and {left.kind, right.kind} & FLOATS:
        raise DatatypeMismatch(
            f"operator does not exist: {left.kind} % {right.kind}",
            hint="Cast both sides to numeric.",
            position=position(at),
        )
    if left.kind in NUMBERS and right.kind in NUMBERS:
        result = widest(left, right)
        if result is not None:
            if "real" in (left.kind, right.kind) and left.kind != right.kind:
                return DOUBLE
            scale = _scale(op, left, right)
            if result.kind == "numeric" and scale is not None:
                return Type("numeric", None, scale)
            return _simple(result.kind)
    raise DatatypeMismatch(
        f"operator does not exist: {left.kind} {op} {right.kind}",
        hint="Cast one side, as in x::integer.",
        position=position(at),
    )


def scale_of(type: Type) -> int | None:
    """Decimal places of exact values of `type`; None when unlimited or not exact."""
    if type.kind in INTEGERS:
        return 0
    return type.scale if type.kind == "numeric" else None


def _scale(op: str, left: Type, right: Type) -> int | None:
    a, b = scale_of(left), scale_of(right)
    if a is None or b is None or op == "/":
        return None
    return a + b if op == "*" else max(a, b)


def sum_type(type: Type) -> Type:
    if type.kind in ("smallint", "integer"):
        return BIGINT if type.precision is None else Type("bigint", MAX_DIGITS)
    if type.kind in ("bigint", "numeric"):
        return Type("numeric", None, scale_of(type))
    return type


def avg_type(type: Type) -> Type:
    return DOUBLE if type.kind in FLOATS else NUMERIC


def unsized(type: Type, value: object = None) -> Type:
    """`type` without a length or a precision; a decimal `value` says how many places it has."""
    if type.kind in TEXTS:
        return Type(type.kind)
    if type.kind != "numeric":
        return type
    exponent = value.as_tuple().exponent if isinstance(value, Decimal) else None
    return Type("numeric", None, max(0, -exponent) if isinstance(exponent, int) else None)


def untyped(expr: Expr) -> bool:
    return isinstance(expr, Lit) and expr.type.kind == "unknown"


def is_number(type: Type) -> bool:
    return type.kind in NUMBERS


def is_integer(type: Type) -> bool:
    return type.kind in INTEGERS
