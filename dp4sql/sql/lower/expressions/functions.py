"""Function calls among scalar expressions: which are known, their types, and what their arguments must be."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from dp4sql.algebra.expr import Call, Cast, Expr, Lit
from dp4sql.algebra.functions import FUNCTIONS
from dp4sql.algebra.types import (
    DATE,
    DOUBLE,
    FLOATS,
    INTEGER,
    NUMERIC,
    TEXT,
    TIMES,
    TIMESTAMP,
    Type,
)
from dp4sql.errors import DatatypeMismatch, Unsupported
from dp4sql.sql.lower.expressions import moments
from dp4sql.sql.lower.expressions.composed import to_char, width_bucket
from dp4sql.sql.lower.expressions.dates import Dates, is_span
from dp4sql.sql.lower.expressions.operators import ANALYTIC, ROUNDING, TEXT_FUNCTIONS
from dp4sql.sql.lower.expressions.text_calls import TextCalls
from dp4sql.sql.lower.expressions.types import is_integer, is_number, scale_of, untyped
from dp4sql.sql.parse import position

if TYPE_CHECKING:
    from dp4sql.sql.lower.expressions import Expressions


FARTHEST: Final = 1000
"""Digits to which ROUND goes: nothing is so large, or so fine."""


class Functions:
    """Lowers one call; `ex` lowers its arguments."""

    def __init__(self, ex: Expressions) -> None:
        self.ex = ex

    def lower(self, e: exp.Expr) -> Expr:
        kind = type(e)
        if kind in TEXT_FUNCTIONS:
            op = TEXT_FUNCTIONS[kind]
            return self.ex.text_call(op, [e.this], INTEGER if op in ("length", "ascii") else TEXT)
        if kind in ROUNDING:
            return self._rounding(ROUNDING[kind], e)
        if kind in ANALYTIC:
            arg = self._number(e.this)
            return Call(ANALYTIC[kind], (arg,), _analytic_type(arg))
        match e:
            case exp.Round():
                return self._round(e)
            case exp.Trunc():
                return self._trunc(e)
            case exp.Log():
                return self._log(e)
            case exp.IntDiv():
                return self._div(e)
            case exp.Pi():
                return Lit(math.pi, DOUBLE)
            case exp.Pow():
                base, exponent = self._number(e.this), self._number(e.expression)
                return Call("power", (base, exponent), _analytic_type(base, exponent))
            case exp.Coalesce() | exp.Greatest() | exp.Least():
                return self._variadic(e)
            case exp.Nullif():
                (a, b), kind_ = self.ex.together(
                    [self.ex.lower(e.this), self.ex.lower(e.expression)], e, "NULLIF"
                )
                return Call("nullif", (a, b), a.type if not untyped(a) else kind_)
            case exp.WidthBucket():
                return width_bucket(self.ex, e)
            case exp.TimeToStr():
                return to_char(self.ex, e)
            case exp.Extract():
                return self._extract(str(e.this.this).lower(), e.expression, e)
            case exp.Year() | exp.Quarter() | exp.Month() | exp.Day() | exp.Hour() | exp.Minute():
                return self._extract(type(e).__name__.lower(), e.this, e)
            case exp.Date():
                return self.ex.cast(self.ex.lower(e.this), DATE, e)
            case exp.StrToDate() | exp.StrToTime():
                return Dates(self.ex).read(e)
            case exp.AtTimeZone():
                return Dates(self.ex).at_zone(e)
            case exp.Anonymous() if str(e.name).lower() in ("age", "make_date"):
                dates = Dates(self.ex)
                return dates.age(e) if str(e.name).lower() == "age" else dates.make_date(e)
            case exp.TimestampTrunc() | exp.DateTrunc():
                return self._date_trunc(str(e.args["unit"].name).lower(), e.this, e)
            case _:
                return TextCalls(self).lower(e)

    def _number(self, e: exp.Expr) -> Expr:
        arg = self.ex.coerce(self.ex.lower(e), NUMERIC)
        self.ex.need(is_number(arg.type), f"a number is needed, not {arg.type.kind}", e)
        return arg

    def whole(self, e: exp.Expr) -> Expr:
        """An argument that is an integer."""
        arg = self.ex.coerce(self.ex.lower(e), INTEGER)
        self.ex.need(is_integer(arg.type), f"an integer is needed, not {arg.type.kind}", e)
        return arg

    def _rounding(self, op: str, e: exp.Expr) -> Expr:
        arg = self._number(e.this)
        if op == "abs":
            return Call(op, (arg,), arg.type)
        return self._rounded(op, arg)

    def _rounded(self, op: str, arg: Expr) -> Expr:
        """FLOOR, CEIL, TRUNC and SIGN: of what is not numeric Postgres makes double precision first."""
        if arg.type.kind == "numeric":
            return Call(op, (arg,), Type("numeric", None, 0))
        return Call(op, (_double(arg),), DOUBLE)

    def _trunc(self, e: exp.Trunc) -> Expr:
        arg = self._number(e.this)
        if e.args.get("decimals") is None:
            return self._rounded("trunc", arg)
        digits, scale = self.whole(e.args["decimals"]), scale_of(arg.type)
        known = isinstance(digits, Lit) and isinstance(digits.value, int)
        if scale is None or not known or not isinstance(digits, Lit):
            raise Unsupported(
                "TRUNC to a number of digits needs a numeric(p, s) and a constant",
                hint="Cast it first, as in TRUNC(x::numeric(15, 4), 2).",
                position=position(e),
            )
        return self._cut(arg, int(str(digits.value)), scale, e)

    def _cut(self, arg: Expr, digits: int, scale: int, e: exp.Expr) -> Expr:
        """Without what goes beyond so many digits after the point, or before it."""
        exact = Cast(arg, Type("numeric", None, 0)) if is_integer(arg.type) else arg
        if digits >= scale:
            return exact
        step = Decimal(1).scaleb(-max(digits, -30))
        unit = Lit(step, Type("numeric", None, max(0, digits)))
        return self.ex.arithmetic("-", exact, self.ex.arithmetic("%", exact, unit, e), e)

    def _log(self, e: exp.Log) -> Expr:
        """LOG(x), which is to the base 10, and LOG(base, x)."""
        base, x = self._number(e.this), e.args.get("expression")
        if x is None or (isinstance(base, Lit) and base.value == 10):
            arg = base if x is None else self._number(x)
            return Call("log10", (arg,), _analytic_type(arg))
        above, below = (Call("ln", (arg,), NUMERIC) for arg in (self._number(x), base))
        return self.ex.arithmetic("/", above, below, e)

    def _div(self, e: exp.IntDiv) -> Expr:
        a, b = self._number(e.this), self._number(e.expression)
        if not (is_integer(a.type) and is_integer(b.type)):
            raise Unsupported(
                "DIV is supported for integers", hint="Use TRUNC(a / b).", position=position(e)
            )
        return self.ex.arithmetic("/", a, b, e)

    def _round(self, e: exp.Round) -> Expr:
        arg = self._number(e.this)
        digits = (
            self.whole(e.args["decimals"])
            if e.args.get("decimals") is not None
            else Lit(0, INTEGER)
        )
        if not isinstance(digits, Lit) or not isinstance(digits.value, int):
            raise Unsupported("ROUND needs a constant number of digits", position=position(e))
        digits = Lit(max(-FARTHEST, min(FARTHEST, digits.value)), INTEGER)
        places = max(0, int(str(digits.value)))
        if is_integer(arg.type) and e.args.get("decimals") is not None:
            arg = Cast(arg, Type("numeric", None, 0))
        if arg.type.kind == "numeric":
            return Call("round", (arg, digits), Type("numeric", None, places))
        if e.args.get("decimals") is not None:
            raise DatatypeMismatch(
                f"function round({arg.type.kind}, integer) does not exist",
                hint="Cast to numeric first: ROUND(x::numeric, digits).",
                position=position(e),
            )
        return Call("round", (_double(arg),), DOUBLE)

    def _variadic(self, e: exp.Expr) -> Expr:
        op = {exp.Coalesce: "coalesce", exp.Greatest: "greatest", exp.Least: "least"}[type(e)]
        args, kind = self.ex.together(
            [self.ex.lower(part) for part in (e.this, *e.expressions)], e, op.upper()
        )
        if kind.kind == "numeric" and kind.precision is None:
            exact = [0 if is_integer(a.type) else a.type.scale for a in args]
            kind = Type(
                "numeric", None, None if None in exact else max(s for s in exact if s is not None)
            )
        return Call(op, tuple(args), kind)

    def _extract(self, part: str, source: exp.Expr, e: exp.Expr) -> Expr:
        part, arg = part.removesuffix("s"), self.ex.coerce(self.ex.lower(source), TIMESTAMP)
        if is_span(arg):
            return Dates(self.ex).part(part, arg, e)
        self.ex.need(arg.type.kind in TIMES, f"cannot extract from type {arg.type.kind}", e)
        op = f"extract_{ {'dayofweek': 'dow', 'dayofyear': 'doy', 'isodayofweek': 'isodow'}.get(part, part) }"
        if op not in FUNCTIONS:
            raise Unsupported(
                f'EXTRACT field "{part}" is not supported',
                hint="Supported: year, isoyear, quarter, month, week, day, dow, isodow, doy, hour, minute, second, "
                "epoch.",
                position=position(e),
            )
        if arg.type == DATE and part in ("hour", "minute", "second"):
            raise DatatypeMismatch(
                f'unit "{part}" not supported for type date',
                hint="A date has no time of day.",
                position=position(e),
            )
        if isinstance(arg, Lit) and isinstance(arg.value, datetime.date):
            known = moments.part(op.removeprefix("extract_"), arg.value)
            if known is not None:
                return Lit(Decimal(known), Type("numeric", None, 0))
        if part in ("second", "epoch"):
            return Call(op, (arg,), NUMERIC)
        return Call(op, (arg,), Type("numeric", None, 0))

    def _date_trunc(self, unit: str, source: exp.Expr, e: exp.Expr) -> Expr:
        arg = self.ex.coerce(self.ex.lower(source), TIMESTAMP)
        self.ex.need(
            arg.type.kind in TIMES, f"function date_trunc(text, {arg.type.kind}) does not exist", e
        )
        units = (
            "year",
            "quarter",
            "month",
            "week",
            "day",
            "hour",
            "minute",
            "second",
            "decade",
        )
        if unit not in units:
            raise Unsupported(
                f'date_trunc unit "{unit}" is not supported',
                hint=f"Supported: {', '.join(units)}.",
                position=position(e),
            )
        result = TIMESTAMP if arg.type == DATE else arg.type
        if isinstance(arg, Lit) and isinstance(arg.value, datetime.date):
            return Lit(moments.truncated(unit, arg.value), result)
        return Call("date_trunc", (Lit(unit, TEXT), arg), result)


def _double(arg: Expr) -> Expr:
    return arg if arg.type == DOUBLE else Cast(arg, DOUBLE)


def _analytic_type(*args: Expr) -> Type:
    """Postgres takes roots and powers of numeric values in numeric; here they have 15 digits."""
    kinds = {arg.type.kind for arg in args}
    return NUMERIC if "numeric" in kinds and not kinds & FLOATS else DOUBLE
