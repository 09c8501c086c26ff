"""Scalar expressions to engine SQL that cannot fail on data: what Postgres would answer with an error yields
NULL, so that an error never tells one database from another."""

from __future__ import annotations

import datetime
import sys
import uuid
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Final, assert_never

from dp4sql.algebra.digits import MAX_DIGITS, fits, width
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
from dp4sql.algebra.functions import SPREADS
from dp4sql.algebra.lengths import RELEASED
from dp4sql.algebra.types import DOUBLE, INTEGERS, TEXTS, Type
from dp4sql.errors import InternalError, NumberOutOfRange, TooComplex
from dp4sql.sql.dialects import Dialect
from dp4sql.sql.pair_sums import FORMULAS
from dp4sql.sql.render import casts, numbers, spark, texts, times
from dp4sql.sql.render.pairs import of_sums

_LEAST: Final = Fraction(sys.float_info.min)
_MOST: Final = Fraction(sys.float_info.max)


LONGEST: Final = 2_000_000
"""Characters of an expression."""


def literal(value: object, type: Type, dialect: Dialect) -> str:
    """A constant as the engine reads it."""
    match value:
        case None:
            return _null(type, dialect)
        case bool():
            return "TRUE" if value else "FALSE"
        case int() | Decimal():
            return _number(value, dialect)
        case float():
            return f"CAST('{value!r}' AS {dialect.type_name(Type('double precision'))})"
        case datetime.datetime():
            word = dialect.time_word(value.tzinfo is not None)
            return f"{word} '{value.isoformat(sep=' ')}'"
        case datetime.date():
            return f"DATE '{value.isoformat()}'"
        case uuid.UUID():
            return f"CAST('{value}' AS UUID)"
        case Interval_():
            return _interval(value, dialect)
        case str():
            return dialect.string(value)
        case _:
            raise InternalError(f"no literal for {value.__class__.__name__}")


def _interval(value: Interval_, dialect: Dialect) -> str:
    """Under Postgres's IntervalStyle sql_standard a sign in front counts for all numbers that have none."""
    sign = "+" if dialect.name == "postgres" else ""
    parts = (f"{part:{sign}}" for part in (value.months, value.days, value.micros))
    return "INTERVAL '{} months {} days {} microseconds'".format(*parts)


def _null(type: Type, dialect: Dialect) -> str:
    """A NULL of no size must not make double precision of the decimals beside it."""
    if type.kind == "unknown":
        return "NULL"
    free = type.kind == "numeric" and type.precision is None and dialect.name != "postgres"
    return f"CAST(NULL AS {'DECIMAL(1,0)' if free else dialect.type_name(type)})"


def _number(value: int | Decimal, dialect: Dialect) -> str:
    """Whatever computes with it in double precision must not fail, which it would on the first row that
    comes so far: beyond every double, or nearer to 0 than any, is refused."""
    size = Decimal(value).copy_abs()
    if abs(size.adjusted()) > 300 and size and not _LEAST <= Fraction(size) <= _MOST:
        raise NumberOutOfRange(
            "a number is beyond what double precision holds",
            hint="Numbers here lie between 1e-307 and 1e308, or are 0.",
        )
    if not isinstance(value, Decimal):
        return f"({value})" if value < 0 else str(value)
    text = f"{value:f}"
    if dialect.name != "postgres" and sum(map(str.isdigit, text)) > MAX_DIGITS:
        return f"CAST('{value}' AS {dialect.type_name(DOUBLE)})"
    # Without a point engines take it for an integer, and compute what it meets in as few bits.
    return f"({text})" if "." in text else f"({text}.)"


_TAKEN: Final[Mapping[str, frozenset[str]]] = {
    **dict.fromkeys(("and", "or", "not", "is true", "is false"), frozenset({"boolean"})),
    **dict.fromkeys(("like", "ilike", "matches", "left", "right", "substring", "reverse"), TEXTS),
    **dict.fromkeys(("split_part", "position", *texts.ALIKE), TEXTS),
}


def _check_kinds(op: str, args: tuple[Expr, ...]) -> None:
    """What another type would be converted to is up to the engine, and may fail on some rows."""
    known = _TAKEN.get(op)
    wrong = known is not None and args[0].type.kind not in known | {"unknown"}
    if wrong or (op in ("and", "or") and any(arg.type.kind != "boolean" for arg in args)):
        raise InternalError(f"an argument of another type than {op} takes")


class Scalars:
    def __init__(
        self, dialect: Dialect, constants: Mapping[int, object], *, inside: bool = False
    ) -> None:
        self.dialect = dialect
        self.constants = constants
        self.inside = inside

    def render(self, expr: Expr, names: Mapping[str, str]) -> str:
        """The text of `expr`; what a function needs more than once stands there as often."""
        text = self._rendered(expr, names)
        if len(text) > LONGEST:
            raise TooComplex(
                "this statement is too long for the engine once it is written out",
                hint="Nest fewer functions in one another.",
            )
        return text

    def _rendered(self, expr: Expr, names: Mapping[str, str]) -> str:
        match expr:
            case Col(id):
                return names[id]
            case Lit(value, type):
                return literal(value, type, self.dialect)
            case Constant(stage, type):
                return self._constant(stage, type)
            case Case(whens, default):
                results = [*(then for _, then in whens), default]
                rendered = [self.render(part, names) for part in results]
                *thens, last = self._alike(results, rendered)
                branches = " ".join(
                    f"WHEN {self.render(a, names)} THEN {then}"
                    for (a, _), then in zip(whens, thens, strict=True)
                )
                return f"CASE {branches} ELSE {last} END"
            case Cast(arg, type):
                return casts.cast(arg, self.render(arg, names), type, self.dialect)
            case In(arg, options):
                return self._in(arg, options, names)
            case Call(op, args):
                return self._call(op, args, expr, names)
            case Over():
                return self._over(expr, names)
            case Scalar():
                raise InternalError("a scalar subquery was not planned")
            case _:
                assert_never(expr)

    def _alike(self, args: Sequence[Expr], texts: list[str]) -> list[str]:
        """Values of which one is the result."""
        return times.merged(args, numbers.alike(args, texts, self.dialect), self.dialect)

    def _in(self, arg: Expr, options: tuple[Lit, ...], names: Mapping[str, str]) -> str:
        if arg.type.kind == "real":
            arg = Cast(arg, DOUBLE)  # as beside one number
        rendered = [self.render(part, names) for part in (arg, *options)]
        first, *rest = numbers.alike((arg, *options), rendered, self.dialect)
        if options:
            first, _ = times.comparable((arg, options[0]), [first, rest[0]], self.dialect)
        return f"({first} IN ({', '.join(rest)}))"

    def _constant(self, stage: int, type: Type) -> str:
        if stage not in self.constants:
            return f"CAST(NULL AS {self.dialect.type_name(type)}) /* released in stage {stage} */"
        value = self.constants[stage]
        if isinstance(value, str) and len(value) > RELEASED:
            raise TooComplex(f"a subquery gave a text of more than {RELEASED} characters")
        return literal(value, type, self.dialect)

    # ------------------------------------------------------------ operators

    def _call(self, op: str, args: tuple[Expr, ...], expr: Call, names: Mapping[str, str]) -> str:
        if self.dialect.name == "spark":
            spark.require(op, expr)
        _check_kinds(op, args)
        texts = [self.render(arg, names) for arg in args]
        match op:
            case "and" | "or":
                return "(" + f" {op.upper()} ".join(texts) + ")"
            case "not":
                return self._not(args[0], texts[0], names)
            case "=" | "<>" | "<" | "<=" | ">" | ">=":
                left, right = self._comparable(args, texts)
                return f"({left} {op} {right})"
            case "is distinct":
                left, right = self._comparable(args, texts)
                return f"({left} IS DISTINCT FROM {right})"
            case "is null":
                return f"({texts[0]} IS NULL)"
            case "is true" | "is false":
                return f"({texts[0]} {op.upper()})"
            case "array":
                return self.dialect.array(texts)
            case "held in":
                return texts[0] if self.inside else numbers.held_in(args, texts, self.dialect)
            case "nullif":
                return self._nullif(args, texts)
            case "coalesce" | "least" | "greatest":
                return f"{op.upper()}({', '.join(self._alike(args, texts))})"
            case _:
                return self._number(op, args, texts, expr)

    def _nullif(self, args: tuple[Expr, ...], texts: list[str]) -> str:
        """Engines return what they compared: the first argument in double precision, say."""
        left, right = self._comparable(args, texts)
        same = args[0].type.kind == args[1].type.kind != "numeric"
        if [left, right] == texts and (same or all(width(arg) is not None for arg in args)):
            return f"NULLIF({left}, {right})"
        return f"CASE WHEN {left} = {right} THEN NULL ELSE {texts[0]} END"

    def _comparable(self, args: tuple[Expr, ...], texts: list[str]) -> list[str]:
        """Postgres compares a real with other numbers in double precision."""
        kinds = {arg.type.kind for arg in args}
        if "real" in kinds and len(kinds) > 1:
            parts = zip(args, texts, strict=True)
            return [numbers.to_double(arg, text, self.dialect) for arg, text in parts]
        return times.comparable(args, numbers.alike(args, texts, self.dialect), self.dialect)

    def _number(self, op: str, args: tuple[Expr, ...], texts: list[str], expr: Call) -> str:
        match op:
            case "+" | "-" | "*":
                return numbers.arithmetic(op, expr, texts, self.dialect)
            case "/" | "%":
                return numbers.divide(op, expr, texts, self.dialect)
            case "neg":
                return f"(- {self._wide(args[0], texts[0])})"
            case "abs":
                return f"ABS({self._wide(args[0], texts[0])})"
            case "floor" | "ceil" | "trunc" | "sign" | "round":
                return numbers.rounding(op, args, texts, self.dialect)
            case "sqrt" | "ln" | "log10" | "exp":
                return numbers.analytic(op, args[0], texts[0], self.dialect)
            case "power":
                return numbers.power(args, texts, self.dialect)
            case _ if op in FORMULAS:
                return of_sums(op, expr, texts, self.dialect)
            case _:
                return self._text(op, args, texts, expr)

    def _wide(self, arg: Expr, text: str) -> str:
        """The most negative integer has no positive counterpart of its own type."""
        if arg.type.kind == "bigint" or (arg.type.kind in INTEGERS and not fits(arg)):
            return f"CAST({text} AS {self.dialect.huge})"
        return f"CAST({text} AS BIGINT)" if arg.type.kind in INTEGERS else text

    def _not(self, arg: Expr, text: str, names: Mapping[str, str]) -> str:
        """DuckDB knows how much NOT LIKE keeps, and takes NOT (x LIKE y) to keep a fifth."""
        match arg:
            case Call("like" | "ilike" as op, args):
                rendered = [self.render(a, names) for a in args]
                return texts.like(f"not {op}", args, rendered, self.dialect)
            case _:
                return f"(NOT {text})"

    def _text(self, op: str, args: tuple[Expr, ...], texts_: list[str], expr: Call) -> str:
        match op:
            case "like" | "ilike":
                return texts.like(op, args, texts_, self.dialect)
            case "matches":
                return texts.matches(args, texts_, self.dialect)
            case "||":
                return f"({texts_[0]} || {texts_[1]})"
            case "concat" | "concat_ws":
                return texts.concatenated(op, args, texts_)
            case "->" | "->>":
                return texts.field(op, args, texts_)
            case "substring":
                return texts.substring(args, texts_)
            case "position":
                return texts.position(texts_, self.dialect)
            case "reverse":
                return texts.backwards(texts_[0], self.dialect)
            case "split_part":
                return texts.split_part(args, texts_, self.dialect)
            case "left" | "right":
                return f"{op.upper()}({texts_[0]}, {texts.place(args[1], texts_[1])})"
            case _ if op in texts.ALIKE:
                return f"{op.upper()}({', '.join(texts_)})"
            case _ if op.startswith("extract_"):
                return times.extract(op.removeprefix("extract_"), args[0], texts_[0], self.dialect)
            case _:
                return times.call(op, expr, texts_, self.dialect)

    # ------------------------------------------------------------ windows

    def _over(self, expr: Over, names: Mapping[str, str]) -> str:
        args = ", ".join(self.render(arg, names) for arg in expr.args)
        if expr.op in ("sum", "avg"):
            args = numbers.summable(expr.op, expr.args[0], args, self.dialect)
        elif expr.op in SPREADS:
            args = numbers.squarable(expr.args[0], args, self.dialect)
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
