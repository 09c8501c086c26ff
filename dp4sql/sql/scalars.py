"""Scalar expressions to engine SQL that cannot fail on data.

Integer and decimal arithmetic runs in a type wide enough for all values its operands' types can hold,
and in double precision beyond 38 digits. What Postgres would answer with an error yields NULL.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, assert_never

from dp4sql.algebra.expr import (
    Call,
    Case,
    Cast,
    Col,
    Constant,
    Expr,
    In,
    Interval_,
    Lit,
    Over,
    Scalar,
)
from dp4sql.algebra.types import FLOATS, INTEGERS, NUMBERS, TEXTS, Type
from dp4sql.errors import InternalError, Unsupported
from dp4sql.infer.ranges import lossless
from dp4sql.sql.dialects import Dialect

DIGITS: Final = {"smallint": 5, "integer": 10, "bigint": 19}
LIMITS: Final = {"smallint": 2**15, "integer": 2**31, "bigint": 2**63}


def text_literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def literal(value: object, type: Type, dialect: Dialect) -> str:
    """A constant as the engine reads it."""
    match value:
        case None:
            return "NULL" if type.kind == "unknown" else f"CAST(NULL AS {dialect.type_name(type)})"
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | Decimal():
            return (
                f"({value:f})"
                if isinstance(value, Decimal)
                else f"({value})"
                if value < 0
                else str(value)
            )
        case float():
            return f"CAST('{value!r}' AS {dialect.type_name(Type('double precision'))})"
        case datetime.datetime():
            word = "TIMESTAMPTZ" if value.tzinfo is not None else "TIMESTAMP"
            return f"{word} '{value.isoformat(sep=' ')}'"
        case datetime.date():
            return f"DATE '{value.isoformat()}'"
        case uuid.UUID():
            return f"CAST('{value}' AS UUID)"
        case Interval_():
            return f"INTERVAL '{value.months} months {value.days} days {value.micros} microseconds'"
        case str():
            return text_literal(value)
        case _:
            raise InternalError(f"no literal for {value.__class__.__name__}")


@dataclass(frozen=True, slots=True)
class Width:
    """Decimal digits before and after the point that always suffice."""

    whole: int
    scale: int

    @property
    def digits(self) -> int:
        return self.whole + self.scale


def width(expr: Expr) -> Width | None:
    """Digits of an exact number; None where only double precision will do."""
    match expr:
        case Lit(value) if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
            exponent = Decimal(value).as_tuple().exponent
            scale = max(0, -exponent) if isinstance(exponent, int) else 0
            return Width(max(1, len(str(abs(int(value))))), scale)
        case Call("+" | "-", (a, b)):
            return _joined(
                width(a),
                width(b),
                lambda x, y: Width(max(x.whole, y.whole) + 1, max(x.scale, y.scale)),
            )
        case Call("*", (a, b)):
            return _joined(
                width(a), width(b), lambda x, y: Width(x.whole + y.whole, x.scale + y.scale)
            )
        case Call("neg" | "abs", (a,)):
            return width(a)
        case Call("coalesce" | "least" | "greatest", args):
            return _widest(args)
        case Case(whens, default):
            return _widest((*(then for _, then in whens), default))
        case _ if expr.type.kind in DIGITS:
            return Width(DIGITS[expr.type.kind], 0)
        case _ if expr.type.kind == "numeric" and expr.type.precision is not None:
            scale = expr.type.scale or 0
            return Width(expr.type.precision - scale, scale)
        case _:
            return None


def _joined(a: Width | None, b: Width | None, join) -> Width | None:  # type: ignore[no-untyped-def]
    return None if a is None or b is None else join(a, b)


def _widest(args: tuple[Expr, ...]) -> Width | None:
    found: Width | None = Width(1, 0)
    for arg in args:
        if not (isinstance(arg, Lit) and arg.value is None):
            found = _joined(
                found, width(arg), lambda x, y: Width(max(x.whole, y.whole), max(x.scale, y.scale))
            )
    return found


class Scalars:
    def __init__(self, dialect: Dialect, constants: Mapping[int, object]) -> None:
        self.dialect = dialect
        self.constants = constants

    def render(self, expr: Expr, names: Mapping[str, str]) -> str:
        match expr:
            case Col(id):
                return names[id]
            case Lit(value, type):
                return literal(value, type, self.dialect)
            case Constant(stage, type):
                return self._constant(stage, type)
            case Case(whens, default):
                branches = " ".join(
                    f"WHEN {self.render(a, names)} THEN {self.render(b, names)}" for a, b in whens
                )
                return f"CASE {branches} ELSE {self.render(default, names)} END"
            case Cast(arg, type):
                return self._cast(self.render(arg, names), arg.type, type)
            case In(arg, options):
                items = ", ".join(self.render(option, names) for option in options)
                return f"({self.render(arg, names)} IN ({items}))"
            case Call(op, args):
                return self._call(op, args, expr, names)
            case Over():
                return self._over(expr, names)
            case Scalar():
                raise InternalError("a scalar subquery was not planned")
            case _:
                assert_never(expr)

    def _constant(self, stage: int, type: Type) -> str:
        if stage not in self.constants:
            return f"CAST(NULL AS {self.dialect.type_name(type)}) /* released in stage {stage} */"
        return literal(self.constants[stage], type, self.dialect)

    # ------------------------------------------------------------ casts

    def _cast(self, text: str, source: Type, target: Type) -> str:
        name = self.dialect.type_name(target)
        if target.length is not None and target.kind in TEXTS:
            return f"SUBSTRING(CAST({text} AS {name}), 1, {target.length})"
        if lossless(source, target):
            return f"CAST({text} AS {name})"
        if self.dialect.name != "postgres":
            return f"TRY_CAST({text} AS {name})"
        return self._guarded_cast(text, source, target, name)

    def _guarded_cast(self, text: str, source: Type, target: Type, name: str) -> str:
        """Postgres has no TRY_CAST: the cast runs where it is known to succeed."""
        if source.kind in NUMBERS and target.kind in INTEGERS:
            limit = LIMITS[target.kind] - 1
            return f"CASE WHEN {text} BETWEEN -{limit} AND {limit} THEN CAST({text} AS {name}) END"
        if source.kind in TEXTS and target.kind in INTEGERS:
            digits = DIGITS[target.kind] - 1
            return f"CASE WHEN {text} ~ '^\\s*[+-]?[0-9]{{1,{digits}}}\\s*$' THEN CAST({text} AS {name}) END"
        if source.kind in TEXTS and target.kind in ("numeric", "double precision"):
            pattern = "^\\s*[+-]?[0-9]{1,15}(\\.[0-9]{0,15})?\\s*$"
            return f"CASE WHEN {text} ~ '{pattern}' THEN CAST({text} AS {name}) END"
        if source.kind in NUMBERS and target.kind == "numeric":
            limit = 10 ** ((target.precision or 1000) - (target.scale or 0))
            return (
                f"CASE WHEN {text} > -{limit} AND {text} < {limit} THEN CAST({text} AS {name}) END"
            )
        if source.kind in ("date", "timestamp without time zone", "timestamp with time zone"):
            return f"CAST({text} AS {name})"
        raise Unsupported(
            f"a cast from {source.kind} to {target.kind} can fail on data, and this engine has no safe form of it",
            hint="Compare with a constant of the column's own type instead.",
        )

    # ------------------------------------------------------------ operators

    def _call(self, op: str, args: tuple[Expr, ...], expr: Call, names: Mapping[str, str]) -> str:
        if op in ("+", "-", "*"):
            return self._arithmetic(op, expr, names)
        texts = [self.render(arg, names) for arg in args]
        if op in ("/", "%"):
            return self._divide(op, expr, texts)
        match op:
            case "and" | "or":
                return "(" + f" {op.upper()} ".join(texts) + ")"
            case "not":
                return f"(NOT {texts[0]})"
            case "=" | "<>" | "<" | "<=" | ">" | ">=":
                return f"({texts[0]} {op} {texts[1]})"
            case "like" | "ilike":
                return self._like(op, args, texts)
            case "||":
                return f"({texts[0]} || {texts[1]})"
            case "is null":
                return f"({texts[0]} IS NULL)"
            case "is true" | "is false":
                return f"({texts[0]} {op.upper()})"
            case "is distinct":
                return f"({texts[0]} IS DISTINCT FROM {texts[1]})"
            case "neg":
                return f"(- {self._wide(args[0], texts[0])})"
            case "abs":
                return f"ABS({self._wide(args[0], texts[0])})"
            case _:
                return self._function(op, args, texts, expr)

    def _wide(self, arg: Expr, text: str) -> str:
        """The most negative integer has no positive counterpart of its own type."""
        return (
            f"CAST({text} AS {self.dialect.huge})"
            if arg.type.kind == "bigint"
            else (f"CAST({text} AS BIGINT)" if arg.type.kind in INTEGERS else text)
        )

    def _arithmetic(self, op: str, expr: Call, names: Mapping[str, str]) -> str:
        left, right = (self.render(arg, names) for arg in expr.args)
        a, b = expr.args
        if expr.type.kind in FLOATS:
            return f"({left} {op} {right})"
        needed = width(expr)
        if self.dialect.name == "postgres":
            cast = "BIGINT" if needed and needed.scale == 0 and needed.digits <= 18 else "NUMERIC"
            return f"(CAST({left} AS {cast}) {op} {right})"
        if needed is None or needed.digits > self.dialect.max_digits:
            return f"(CAST({left} AS DOUBLE) {op} CAST({right} AS DOUBLE))"
        if expr.type.kind in INTEGERS:
            cast = "BIGINT" if needed.digits <= 18 else self.dialect.huge
            return f"(CAST({left} AS {cast}) {op} {right})"
        return f"({self._decimal(a, left)} {op} {self._decimal(b, right)})"

    def _decimal(self, arg: Expr, text: str) -> str:
        """Integer operands of decimal arithmetic get just the digits they need."""
        own = width(arg)
        if arg.type.kind in INTEGERS and own is not None:
            return f"CAST({text} AS DECIMAL({own.digits},0))"
        return text

    def _divide(self, op: str, expr: Call, texts: list[str]) -> str:
        whole = expr.type.kind in INTEGERS
        cast = (
            self.dialect.huge
            if whole
            else "NUMERIC"
            if self.dialect.name == "postgres"
            else "DOUBLE"
        )
        if expr.type.kind in FLOATS:
            cast = self.dialect.type_name(Type("double precision"))
        sign = "//" if whole and op == "/" and self.dialect.name == "duckdb" else op
        if whole and self.dialect.name == "postgres":
            inner = f"CAST({texts[0]} AS NUMERIC) {op} NULLIF({texts[1]}, 0)"
            return f"TRUNC({inner})" if op == "/" else f"({inner})"
        if whole and op == "/" and self.dialect.name == "spark":
            return f"(CAST({texts[0]} AS BIGINT) DIV NULLIF({texts[1]}, 0))"
        return f"(CAST({texts[0]} AS {cast}) {sign} NULLIF({texts[1]}, 0))"

    def _like(self, op: str, args: tuple[Expr, ...], texts: list[str]) -> str:
        pattern = args[1]
        if not isinstance(pattern, Lit) or not isinstance(pattern.value, str):
            raise Unsupported(
                "LIKE needs a constant pattern", hint="A pattern from data can be malformed."
            )
        stripped = pattern.value.replace("\\\\", "")
        if stripped.endswith("\\"):
            raise Unsupported("LIKE pattern must not end with the escape character")
        escape = " ESCAPE '\\'" if "\\" in pattern.value and self.dialect.name == "duckdb" else ""
        return f"({texts[0]} {op.upper()} {texts[1]}{escape})"

    def _function(self, op: str, args: tuple[Expr, ...], texts: list[str], expr: Call) -> str:
        joined = ", ".join(texts)
        if op.startswith("extract_"):
            return f"EXTRACT({op.removeprefix('extract_').upper()} FROM {texts[0]})"
        match op:
            case (
                "coalesce"
                | "least"
                | "greatest"
                | "nullif"
                | "lower"
                | "upper"
                | "length"
                | "reverse"
            ):
                return f"{op.upper()}({joined})"
            case (
                "trim"
                | "ltrim"
                | "rtrim"
                | "replace"
                | "concat"
                | "left"
                | "right"
                | "initcap"
                | "starts_with"
            ):
                return f"{op.upper()}({joined})"
            case "floor" | "ceil" | "sign" | "trunc":
                return f"{op.upper()}({joined})"
            case "round":
                return f"ROUND({joined})"
            case "substring":
                return f"SUBSTRING({joined})"
            case "position":
                return f"STRPOS({joined})" if self.dialect.name != "spark" else f"INSTR({joined})"
            case "sqrt":
                return f"CASE WHEN {texts[0]} >= 0 THEN SQRT({texts[0]}) END"
            case "ln":
                return f"CASE WHEN {texts[0]} > 0 THEN LN({texts[0]}) END"
            case "exp":
                return f"EXP(LEAST(GREATEST({texts[0]}, -700), 700))"
            case "power":
                return self._power(texts)
            case _:
                return self._time_function(op, args, texts, expr)

    def _power(self, texts: list[str]) -> str:
        if self.dialect.name == "duckdb":
            return f"POW({texts[0]}, {texts[1]})"
        raise Unsupported("POWER can overflow on this engine", hint="Write the product out.")

    def _time_function(self, op: str, args: tuple[Expr, ...], texts: list[str], expr: Call) -> str:
        match op:
            case "date_trunc":
                return f"CAST(DATE_TRUNC({texts[0]}, {texts[1]}) AS {self.dialect.type_name(expr.type)})"
            case "date-date":
                return f"({texts[0]} - {texts[1]})"
            case "date+days" | "date-days":
                days = f"CAST(LEAST(GREATEST({texts[1]}, -1000000), 1000000) AS INTEGER)"
                return f"({texts[0]} {op[4]} {days})"
            case "time+interval":
                return f"CAST({texts[0]} + {texts[1]} AS {self.dialect.type_name(expr.type)})"
            case _:
                raise Unsupported(f"{op} has no rendering for {self.dialect.name}")

    # ------------------------------------------------------------ windows

    def _over(self, expr: Over, names: Mapping[str, str]) -> str:
        args = ", ".join(self.render(arg, names) for arg in expr.args)
        call = "COUNT(*)" if expr.op == "count_star" else f"{expr.op.upper()}({args})"
        parts = []
        if expr.partition:
            parts.append("PARTITION BY " + ", ".join(self.render(p, names) for p in expr.partition))
        if expr.order:
            keys = (
                f"{self.render(k, names)}{' DESC' if d else ''} NULLS {'FIRST' if d else 'LAST'}"
                for k, d in expr.order
            )
            parts.append("ORDER BY " + ", ".join(keys))
        if expr.frame:
            parts.append(expr.frame)
        return f"{call} OVER ({' '.join(parts)})"
