"""Function calls among scalar expressions: which are known, their types, and what their arguments must be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from dp4sql.algebra.expr import Call, Cast, Expr, Lit
from dp4sql.algebra.functions import FUNCTIONS
from dp4sql.algebra.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOATS,
    INTEGER,
    JSONB,
    NUMERIC,
    TEXT,
    TEXTS,
    TIMES,
    TIMESTAMP,
    Type,
)
from dp4sql.errors import DatatypeMismatch, Unsupported
from dp4sql.sql.composed import to_char, width_bucket
from dp4sql.sql.operators import ANALYTIC, ROUNDING, TEXT_FUNCTIONS, unknown
from dp4sql.sql.parse import position
from dp4sql.sql.types import is_integer, is_number, untyped

if TYPE_CHECKING:
    from dp4sql.sql.expressions import Expressions


class Functions:
    """Lowers one call; `ex` lowers its arguments."""

    def __init__(self, ex: Expressions) -> None:
        self.ex = ex

    def lower(self, e: exp.Expr) -> Expr:
        kind = type(e)
        if kind in TEXT_FUNCTIONS:
            op = TEXT_FUNCTIONS[kind]
            return self.ex.text_call(op, [e.this], INTEGER if op == "length" else TEXT)
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
            case exp.TimestampTrunc() | exp.DateTrunc():
                return self._date_trunc(str(e.args["unit"].name).lower(), e.this, e)
            case _:
                return self._text_function(e)

    def _text_function(self, e: exp.Expr) -> Expr:
        match e:
            case exp.DPipe():
                return self._joined(e)
            case exp.Concat():
                parts = [self.ex.coerce(self.ex.lower(part), TEXT) for part in e.expressions]
                texts = (p if p.type == BOOLEAN else self._as_text(p, e) for p in parts)
                return Call("concat", tuple(texts), TEXT)
            case exp.Substring():
                return self._substring(e)
            case exp.Trim():
                return self._trim(e)
            case exp.StrPosition():
                return self.ex.text_call("position", [e.this, e.args["substr"]], INTEGER)
            case exp.Replace():
                return self.ex.text_call(
                    "replace", [e.this, e.expression, e.args["replacement"]], TEXT
                )
            case exp.StartsWith():
                return self.ex.text_call("starts_with", [e.this, e.expression], BOOLEAN)
            case exp.Left() | exp.Right():
                op = "left" if isinstance(e, exp.Left) else "right"
                text = self.ex.coerce(self.ex.lower(e.this), TEXT)
                return Call(op, (text, self._whole(e.expression)), TEXT)
            case exp.JSONExtract() | exp.JSONExtractScalar():
                return self._field(e)
            case _:
                raise unknown(e)

    def _field(self, e: exp.JSONExtract | exp.JSONExtractScalar) -> Expr:
        """`->` and `->>` with the name of a field."""
        op, type = ("->>", TEXT) if isinstance(e, exp.JSONExtractScalar) else ("->", JSONB)
        arg = self.ex.lower(e.this)
        self.ex.need(arg.type == JSONB, f"operator does not exist: {arg.type.kind} {op} unknown", e)
        match e.expression:
            case exp.JSONPath(expressions=[_, exp.JSONPathKey(this=str(name))]) if '"' not in name:
                return Call(op, (arg, Lit(name, TEXT)), type)
            case _:
                raise Unsupported(
                    f"{op} takes the name of a field as a constant",
                    hint="As in slots ->> 'title'.",
                    position=position(e),
                )

    def _joined(self, e: exp.DPipe) -> Expr:
        """`||` of texts; one that is no text is written as one, as Postgres does beside a text."""
        parts = [self.ex.coerce(self.ex.lower(part), TEXT) for part in (e.this, e.expression)]
        self.ex.need(
            any(part.type.kind in TEXTS for part in parts),
            f"operator does not exist: {parts[0].type.kind} || {parts[1].type.kind}",
            e,
        )
        return Call("||", tuple(self._as_text(part, e) for part in parts), TEXT)

    def _as_text(self, arg: Expr, at: exp.Expr) -> Expr:
        arg = self.ex.coerce(arg, TEXT)
        return (
            self.ex.cast(arg, TEXT, at)
            if arg.type.kind not in ("text", "character varying")
            else arg
        )

    def _number(self, e: exp.Expr) -> Expr:
        arg = self.ex.coerce(self.ex.lower(e), NUMERIC)
        self.ex.need(is_number(arg.type), f"a number is needed, not {arg.type.kind}", e)
        return arg

    def _whole(self, e: exp.Expr) -> Expr:
        arg = self.ex.coerce(self.ex.lower(e), INTEGER)
        self.ex.need(is_integer(arg.type), f"an integer is needed, not {arg.type.kind}", e)
        return arg

    def _rounding(self, op: str, e: exp.Expr) -> Expr:
        arg = self._number(e.this)
        if op == "abs":
            return Call(op, (arg,), arg.type)
        return self._rounded(op, arg)

    def _rounded(self, op: str, arg: Expr) -> Expr:
        """FLOOR, CEIL, TRUNC and SIGN: of integers Postgres makes double precision first."""
        if arg.type.kind == "numeric":
            return Call(op, (arg,), Type("numeric", None, 0))
        if is_integer(arg.type):
            arg = Cast(arg, DOUBLE)
        return Call(op, (arg,), DOUBLE)

    def _trunc(self, e: exp.Trunc) -> Expr:
        if e.args.get("decimals") is not None:
            raise Unsupported(
                "TRUNC to a number of digits is not supported",
                hint="Use ROUND(x, digits), or TRUNC(x * 100) / 100.",
                position=position(e),
            )
        return self._rounded("trunc", self._number(e.this))

    def _round(self, e: exp.Round) -> Expr:
        arg = self._number(e.this)
        digits = (
            self._whole(e.args["decimals"])
            if e.args.get("decimals") is not None
            else Lit(0, INTEGER)
        )
        if not isinstance(digits, Lit) or not isinstance(digits.value, int):
            raise Unsupported("ROUND needs a constant number of digits", position=position(e))
        places = max(0, digits.value)
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
        return Call("round", (Cast(arg, DOUBLE) if is_integer(arg.type) else arg,), DOUBLE)

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

    def _substring(self, e: exp.Substring) -> Expr:
        text = self.ex.coerce(self.ex.lower(e.this), TEXT)
        self.ex.need(
            text.type.kind in TEXTS, f"function substring({text.type.kind}) does not exist", e
        )
        start = self._whole(e.args["start"]) if e.args.get("start") is not None else Lit(1, INTEGER)
        length = e.args.get("length")
        if length is None:
            return Call("substring", (text, start), TEXT)
        size = self._whole(length)
        if not isinstance(size, Lit) or not isinstance(size.value, int) or size.value < 0:
            raise Unsupported(
                "SUBSTRING needs a constant length of 0 or more",
                position=position(length) or position(e),
            )
        return Call("substring", (text, start, size), TEXT)

    def _trim(self, e: exp.Trim) -> Expr:
        side = str(e.args.get("position") or "BOTH").upper()
        op = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(side, "trim")
        return self.ex.text_call(op, [e.this, *([e.expression] if e.expression else [])], TEXT)

    def _extract(self, part: str, source: exp.Expr, e: exp.Expr) -> Expr:
        arg = self.ex.coerce(self.ex.lower(source), TIMESTAMP)
        self.ex.need(arg.type.kind in TIMES, f"cannot extract from type {arg.type.kind}", e)
        op = f"extract_{ {'dayofweek': 'dow', 'dayofyear': 'doy', 'isodayofweek': 'isodow'}.get(part, part) }"
        if op not in FUNCTIONS:
            raise Unsupported(
                f'EXTRACT field "{part}" is not supported',
                hint="Supported: year, quarter, month, week, day, dow, isodow, doy, hour, minute, second, epoch.",
                position=position(e),
            )
        if arg.type == DATE and part in ("hour", "minute", "second"):
            raise DatatypeMismatch(
                f'unit "{part}" not supported for type date',
                hint="A date has no time of day.",
                position=position(e),
            )
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
        return Call("date_trunc", (Lit(unit, TEXT), arg), result)


def _analytic_type(*args: Expr) -> Type:
    """Postgres takes roots and powers of numeric values in numeric; here they have 15 digits."""
    kinds = {arg.type.kind for arg in args}
    return NUMERIC if "numeric" in kinds and not kinds & FLOATS else DOUBLE
