"""sqlglot scalar expressions to typed `Expr`. What is not listed here is refused by name."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal

from sqlglot import exp

from dp4sql.algebra.expr import Call, Case, Cast, Expr, In, Interval_, Lit
from dp4sql.algebra.sizes import Sizes
from dp4sql.algebra.times import shift
from dp4sql.algebra.types import (
    BOOLEAN,
    DATE,
    FLOATS,
    INTEGER,
    INTERVAL,
    JSONB,
    NUMERIC,
    TEXT,
    TEXTS,
    TIMES,
    TIMESTAMP,
    UNKNOWN,
    Type,
)
from dp4sql.errors import (
    DatatypeMismatch,
    Dp4sqlError,
    InvalidText,
    NumberOutOfRange,
    SyntaxError_,
    Unsupported,
)
from dp4sql.sql import literals
from dp4sql.sql.intervals import interval
from dp4sql.sql.lower.expressions.arrays import Arrays, array_in
from dp4sql.sql.lower.expressions.dates import Dates, by_days, folded, is_span, multiplied
from dp4sql.sql.lower.expressions.functions import Functions
from dp4sql.sql.lower.expressions.moments import converted
from dp4sql.sql.lower.expressions.operators import (
    APART,
    ARITHMETIC,
    COMPARISONS,
    castable,
    fold,
    negated,
)
from dp4sql.sql.lower.expressions.patterns import escaped, match
from dp4sql.sql.lower.expressions.row_tests import RowTests, is_row_test, listed, row
from dp4sql.sql.lower.expressions.types import (
    arithmetic,
    is_integer,
    is_number,
    scale_of,
    sql_type,
    unsized,
    untyped,
    widest,
)
from dp4sql.sql.parse import position

Hook = Callable[[exp.Expr], Expr | None]


class Expressions:
    """Lowers scalar expressions in one scope. `hook` sees every node first: it resolves columns,
    aggregates, subqueries and parameters, and returns None to leave a node to the rules below."""

    def __init__(self, hook: Hook, infer_parameter: Callable[[Expr, Type], None]) -> None:
        self.hook = hook
        self.infer = infer_parameter
        self._sizes = Sizes()

    def lower(self, e: exp.Expr) -> Expr:
        """`e` as an expression; what is refused without saying where stands here."""
        try:
            found = self._lower(e)
            self._sizes.check(found)
            return found
        except Dp4sqlError as error:
            if error.position is None:
                error.position = position(e)
            raise

    def _lower(self, e: exp.Expr) -> Expr:
        found = self.hook(e)
        if found is not None:
            return found
        match e:
            case exp.Paren():
                return self.lower(e.this)
            case exp.Literal():
                return self._literal(e)
            case exp.Null():
                return Lit(None, UNKNOWN)
            case exp.Boolean():
                return Lit(bool(e.this), BOOLEAN)
            case exp.And() | exp.Or():
                op = "and" if isinstance(e, exp.And) else "or"
                parts = [self.boolean(part) for part in e.flatten()]
                return Call(op, tuple(parts), BOOLEAN)
            case exp.Not():
                return Call("not", (self.boolean(e.this),), BOOLEAN)
            case exp.Neg():
                return self._negative(e)
            case exp.Case() | exp.If():
                return self._case(e)
            case exp.Cast() | exp.TryCast():
                return self.cast(self.lower(e.this), sql_type(e.to), e)
            case exp.Interval():
                return self._interval(e)
            case _:
                return self._operator(e)

    # ------------------------------------------------------------ literals

    def _literal(self, e: exp.Literal) -> Expr:
        if e.is_string:
            return Lit(str(e.this), UNKNOWN)
        value, type = literals.number_literal(str(e.this))
        if isinstance(value, Decimal):
            exponent = value.as_tuple().exponent
            scale = max(0, -exponent) if isinstance(exponent, int) else 0
            type = Type("numeric", None, scale)
        return Lit(value, type)

    def _interval(self, e: exp.Interval) -> Expr:
        unit = str(e.args["unit"]) if e.args.get("unit") is not None else None
        text = str(e.this.this) if isinstance(e.this, exp.Literal) else ""
        try:
            return Lit(interval(text, unit), INTERVAL)  # type: ignore[arg-type]
        except ValueError:
            raise InvalidText(
                f'invalid input syntax for type interval: "{text}"',
                hint="Intervals are written INTERVAL '3 months' or INTERVAL '90' DAY.",
                position=position(e),
            ) from None

    def _negative(self, e: exp.Neg) -> Expr:
        arg = self.lower(e.this)
        if isinstance(arg, Lit) and isinstance(arg.value, (int, Decimal)) and arg.type != BOOLEAN:
            if isinstance(arg.value, int):
                return Lit(literals.in_range(-arg.value, arg.type), arg.type)
            return Lit(arg.value.copy_negate(), arg.type)
        if isinstance(arg, Lit) and arg.type == INTERVAL:
            return folded("*", arg, Lit(-1, INTEGER)) or arg
        self.need(is_number(arg.type), f"operator does not exist: - {arg.type.kind}", e)
        return Call("neg", (arg,), arg.type)

    def need(self, condition: bool, message: str, at: exp.Expr, hint: str | None = None) -> None:
        if not condition:
            raise DatatypeMismatch(message, hint=hint, position=position(at))

    # ------------------------------------------------------------ types

    def boolean(self, e: exp.Expr) -> Expr:
        expr = self.coerce(self.lower(e), BOOLEAN)
        self.need(
            expr.type.kind == "boolean",
            f"argument must be type boolean, not type {expr.type.kind}",
            e,
            "Compare it with something, as in x = 1.",
        )
        return expr

    def coerce(self, expr: Expr, type: Type) -> Expr:
        """Untyped literals and parameters take the type that their neighbour has, but are not cut to its size."""
        if not untyped(expr) or type.kind == "unknown":
            return expr
        assert isinstance(expr, Lit)
        self.infer(expr, type)
        if not isinstance(expr.value, str):
            return Lit(expr.value, type)
        value = literals.read(expr.value, unsized(type))
        return Lit(value, type if literals.has_room(type, value) else unsized(type, value))

    def together(self, exprs: list[Expr], at: exp.Expr, what: str) -> tuple[list[Expr], Type]:
        """Untyped literals resolved and numbers widened, so that all parts have one type."""
        target = widest(*(expr.type for expr in exprs))
        if target is None:
            kinds = " and ".join(dict.fromkeys(str(expr.type.kind) for expr in exprs))
            raise DatatypeMismatch(f"{what} types {kinds} cannot be matched", position=position(at))
        if target.kind == "unknown":
            target = TEXT
        found = [self.coerce(expr, target) for expr in exprs]
        if any(untyped(a) and b.type != target for a, b in zip(exprs, found, strict=True)):
            target = unsized(target)
        return found, target

    def cast(self, arg: Expr, type: Type, at: exp.Expr) -> Expr:
        if type == NUMERIC and scale_of(arg.type) is not None:
            type = Type("numeric", None, scale_of(arg.type))
        if untyped(arg) and isinstance(arg, Lit) and isinstance(arg.value, str):
            self.infer(arg, type)
            return Lit(literals.read(arg.value, type), type)
        if untyped(arg):
            return self.coerce(arg, type)
        if isinstance(arg, Lit) and arg.value is None:
            return Lit(None, type)
        if isinstance(arg, Lit) and isinstance(arg.value, str):
            return Lit(literals.read(arg.value, type), type)
        if arg.type == type:
            return arg
        if isinstance(arg, Lit) and isinstance(arg.value, datetime.date):
            moved = converted(arg.value, type)
            if moved is not None:
                return Lit(moved, type)
        if type.kind in TEXTS and (arg.type.kind in FLOATS or arg.type == NUMERIC):
            raise Unsupported(
                f"engines write {arg.type.kind} values differently as text",
                hint="Cast to numeric(p, s) first, or ROUND to a number of digits.",
                position=position(at),
            )
        allowed = castable(arg.type, type)
        self.need(allowed, f"cannot cast type {arg.type.kind} to {type.kind}", at)
        return Cast(arg, type)

    # ------------------------------------------------------------ operators

    def _operator(self, e: exp.Expr) -> Expr:
        kind = type(e)
        if (array := array_in(e)) is not None:
            return Arrays(self).lower(e, array[0], every=array[1])
        if is_row_test(e):
            return RowTests(self).lower(e)
        if kind in COMPARISONS:
            return self.compare(COMPARISONS[kind], self.lower(e.this), self.lower(e.expression), e)
        if kind in ARITHMETIC:
            return self.arithmetic(
                ARITHMETIC[kind], self.lower(e.this), self.lower(e.expression), e
            )
        match e:
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                pair, _ = self.together(
                    [self.lower(e.this), self.lower(e.expression)], e, "IS DISTINCT FROM"
                )
                found = Call("is distinct", tuple(pair), BOOLEAN)
                return Call("not", (found,), BOOLEAN) if isinstance(e, exp.NullSafeEQ) else found
            case exp.Is():
                return negated(e, self._is(e))
            case exp.Between():
                return self._between(e)
            case exp.In():
                return self._in(e)
            case exp.Like() | exp.ILike():
                return negated(e, self.like(e, self.lower(e.this), self.lower(e.expression)))
            case exp.Escape():
                return escaped(self, e)
            case exp.RegexpLike() | exp.RegexpILike() | exp.SimilarTo():
                return match(self, e)
            case _:
                return Functions(self).lower(e)

    def like(self, e: exp.Like | exp.ILike, subject: Expr, pattern: Expr) -> Expr:
        op = "ilike" if isinstance(e, exp.ILike) else "like"
        found = self._texts(op, [(subject, e.this), (pattern, e.expression)], BOOLEAN)
        if not isinstance(found, Call) or not isinstance(found.args[1], Lit):
            raise Unsupported(
                "LIKE needs a constant pattern",
                hint="A pattern from data can be malformed. POSITION(x IN y) > 0 looks for a text in another.",
                position=position(e.expression),
            )
        return found

    def compare(self, op: str, left: Expr, right: Expr, at: exp.Expr) -> Expr:
        self._no_json([left, right], at)
        if is_span(left) or is_span(right):
            return Dates(self).compared(op, left, right, at)
        left, right = _by_clock(left, right), _by_clock(right, left)
        pair, _kind = self.together([left, right], at, f"operator {op}:")
        if isinstance(pair[0], Lit) and not isinstance(pair[1], Lit):
            flipped = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(op, op)
            return Call(flipped, (pair[1], pair[0]), BOOLEAN)
        return Call(op, tuple(pair), BOOLEAN)

    def _no_json(self, items: list[Expr], at: exp.Expr) -> None:
        """Equal values may be written in different ways."""
        if any(item.type == JSONB for item in items):
            raise Unsupported(
                "values of type jsonb are not compared",
                hint="Compare a field of it, as in slots ->> 'title' = 'Genetics'.",
                position=position(at),
            )

    def arithmetic(self, op: str, left: Expr, right: Expr, at: exp.Expr) -> Expr:
        if (
            left.type.kind in TIMES
            or right.type.kind in TIMES
            or "interval" in (left.type.kind, right.type.kind)
        ):
            return self._time_arithmetic(op, left, right, at)
        if untyped(left) or untyped(right):
            other = right.type if untyped(left) else left.type
            left, right = self.coerce(left, other), self.coerce(right, other)
        result = arithmetic(op, left.type, right.type, at)
        folded = fold(op, left, right, result)
        return folded if folded is not None else Call(op, (left, right), result)

    def _time_arithmetic(self, op: str, left: Expr, right: Expr, at: exp.Expr) -> Expr:
        try:
            found = folded(op, left, right)
            return found if found is not None else self._moved(op, left, right, at)
        except (ValueError, OverflowError):
            raise NumberOutOfRange(
                "date out of range",
                hint="Dates lie in the years 1 to 9999.",
                position=position(at),
            ) from None

    def _moved(self, op: str, left: Expr, right: Expr, at: exp.Expr) -> Expr:
        if op == "+" and right.type.kind in TIMES:
            left, right = right, left
        if left.type.kind in TIMES and untyped(right):
            span = left.type != DATE and op == "+"
            right = self.coerce(right, INTERVAL if span else left.type)
        if left.type.kind in TIMES and right.type.kind == "interval" and op in "+-":
            return self._shift(op, left, right, at)
        if left.type == DATE and is_integer(right.type) and op in "+-":
            if (
                isinstance(left, Lit)
                and isinstance(right, Lit)
                and isinstance(left.value, datetime.date)
            ):
                days = datetime.timedelta(days=int(str(right.value)))
                return Lit(left.value + days if op == "+" else left.value - days, DATE)
            return Call("date+days" if op == "+" else "date-days", (left, right), DATE)
        if left.type == DATE and right.type == DATE and op == "-":
            return Call("date-date", (left, right), INTEGER)
        if op == "-" and left.type.kind in TIMES and right.type.kind in TIMES:
            pair = (_by_clock(left, right), _by_clock(right, left))
            return Call("span", pair, INTERVAL)
        if op == "*" and "interval" in (left.type.kind, right.type.kind):
            return multiplied(self, left, right, at)
        raise DatatypeMismatch(
            f"operator does not exist: {left.type.kind} {op} {right.type.kind}",
            position=position(at),
        )

    def _shift(self, op: str, left: Expr, right: Expr, at: exp.Expr) -> Expr:
        if isinstance(right, Call) and right.op == "days":
            return by_days(op, left, right, at)
        sign = 1 if op == "+" else -1
        if isinstance(right, Lit) and isinstance(right.value, Interval_):
            if isinstance(left, Lit) and isinstance(left.value, datetime.date):
                moved = shift(left.value, right.value, sign)
                timed = left.type == DATE and isinstance(moved, datetime.datetime)
                return Lit(moved, TIMESTAMP if timed else left.type)
            if sign < 0:
                flipped = Interval_(-right.value.months, -right.value.days, -right.value.micros)
                right = Lit(flipped, INTERVAL)
            return Call(
                "time+interval", (left, right), TIMESTAMP if left.type == DATE else left.type
            )
        raise Unsupported(
            "only constant intervals can be added to a date or timestamp",
            hint="Write the interval as a constant, as in o_orderdate + INTERVAL '3 months'.",
            position=position(at),
        )

    def _is(self, e: exp.Is) -> Expr:
        if isinstance(e.expression, exp.Null):
            arg = self.lower(e.this)
            return Call("is null", (self.coerce(arg, TEXT) if untyped(arg) else arg,), BOOLEAN)
        if isinstance(e.expression, exp.Boolean):
            op = "is true" if e.expression.this else "is false"
            return Call(op, (self.boolean(e.this),), BOOLEAN)
        raise Unsupported("this IS test is not supported", position=position(e))

    def _between(self, e: exp.Between) -> Expr:
        arg, low, high = (self.lower(e.args[part]) for part in ("this", "low", "high"))
        if e.args.get("symmetric"):
            spans = (self._within(arg, low, high, e), self._within(arg, high, low, e))
            return Call("or", spans, BOOLEAN)
        return self._within(arg, low, high, e)

    def _within(self, arg: Expr, low: Expr, high: Expr, at: exp.Expr) -> Expr:
        ends = (self.compare(">=", arg, low, at), self.compare("<=", arg, high, at))
        return Call("and", ends, BOOLEAN)

    def _in(self, e: exp.In) -> Expr:
        if e.args.get("query") is not None:
            raise Unsupported(
                "IN (SELECT ...) is supported as a condition of its own, joined to others by AND",
                hint=APART,
                position=position(e),
            )
        items = [self.lower(e.this), *map(self.lower, self._options(e))]
        self._no_json(items, e)
        (arg, *options), _ = self.together(items, e, "IN")
        constants = tuple(option for option in options if isinstance(option, Lit))
        if len(constants) == len(options):
            return In(arg, constants)
        return Call("or", tuple(Call("=", (arg, option), BOOLEAN) for option in options), BOOLEAN)

    def _options(self, e: exp.In) -> list[exp.Expr]:
        found = []
        for item in e.expressions:
            fields = [row(part) for part in listed(item)] if isinstance(item, exp.Values) else []
            if any(field is None or len(field) != 1 for field in fields):
                raise SyntaxError_("subquery has too many columns", position=position(e))
            found += [field[0] for field in fields if field] or [item]
        return found

    # ------------------------------------------------------------ CASE and functions

    def _case(self, e: exp.Expr) -> Expr:
        branches = e.args.get("ifs") or [e]
        subject = e.this if isinstance(e, exp.Case) and e.this is not None else None
        tests = [self._test(subject, branch.this, e) for branch in branches]
        default = e.args.get("default") if isinstance(e, exp.Case) else e.args.get("false")
        values = [self.lower(branch.args["true"]) for branch in branches]
        values.append(self.lower(default) if default is not None else Lit(None, UNKNOWN))
        typed, kind = self.together(values, e, "CASE")
        if kind.kind == "numeric" and kind.precision is None:
            exact = [0 if is_integer(v.type) else v.type.scale for v in typed]
            kind = Type(
                "numeric", None, None if None in exact else max(s for s in exact if s is not None)
            )
        return Case(tuple(zip(tests, typed[:-1], strict=True)), typed[-1], kind)

    def _test(self, subject: exp.Expr | None, condition: exp.Expr, at: exp.Expr) -> Expr:
        if subject is None:
            return self.boolean(condition)
        return self.compare("=", self.lower(subject), self.lower(condition), at)

    def text_call(self, op: str, parts: list[exp.Expr], result: Type) -> Expr:
        return self._texts(op, [(self.lower(part), part) for part in parts], result)

    def _texts(self, op: str, parts: list[tuple[Expr, exp.Expr]], result: Type) -> Expr:
        args = [self.coerce(arg, TEXT) for arg, _ in parts]
        for arg, (_, part) in zip(args, parts, strict=True):
            self.need(
                arg.type.kind in TEXTS, f"function {op}({arg.type.kind}) does not exist", part
            )
        return Call(op, tuple(args), result)


def _by_clock(expr: Expr, other: Expr) -> Expr:
    """A constant moment beside a date or a timestamp without time zone: what the clock says then."""
    plain = other.type in (DATE, TIMESTAMP) and not isinstance(other, Lit)
    if not (plain and isinstance(expr, Lit) and isinstance(expr.value, datetime.datetime)):
        return expr
    moved = converted(expr.value, TIMESTAMP)
    return expr if moved is None else Lit(moved, TIMESTAMP)
