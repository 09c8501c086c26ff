"""Aggregates of two columns: CORR, COVAR_POP, COVAR_SAMP and REGR_..., put together from sums.

All of them follow from a count and from five sums over the rows where neither side is NULL: of x and y, each less
the middle of its range, of their squares and of their product. Over private rows each sum is measured once, however
many of these aggregates a query has; what is computed of them is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from dp4sql.algebra.digits import held, width
from dp4sql.algebra.expr import Call, Case, Cast, Expr, Lit, conjunction
from dp4sql.algebra.types import BIGINT, BOOLEAN, DOUBLE, FLOATS, INTEGER, UNKNOWN, Type
from dp4sql.errors import DatatypeMismatch
from dp4sql.infer.moments import Range
from dp4sql.infer.ranges import known, nullable, range_of
from dp4sql.sql.lower.expressions.operators import WRITTEN
from dp4sql.sql.lower.expressions.types import arithmetic, is_number, scale_of, sum_type
from dp4sql.sql.pair_sums import taken
from dp4sql.sql.parse import position

if TYPE_CHECKING:
    from dp4sql.sql.lower.aggregates import Aggregates


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two columns: `centre` is the middle of its range, `text` how the statement writes it."""

    value: Expr
    centre: Expr | None
    text: str


OPERATIONS: Final[Mapping[type[exp.Expr], str]] = {
    exp.Corr: "corr",
    exp.CovarPop: "covar_pop",
    exp.CovarSamp: "covar_samp",
    exp.RegrAvgx: "regr_avgx",
    exp.RegrAvgy: "regr_avgy",
    exp.RegrSxx: "regr_sxx",
    exp.RegrSyy: "regr_syy",
    exp.RegrSxy: "regr_sxy",
    exp.RegrSlope: "regr_slope",
}
#: A middle that is no double is none.
FARTHEST: Final = 10**300
PAIRS: Final = frozenset({*OPERATIONS, exp.RegrCount, exp.RegrIntercept, exp.RegrR2})


class Pairs:
    """Lowers one aggregate of two columns; `aggregates` measures what it needs."""

    def __init__(self, aggregates: Aggregates) -> None:
        self.aggregates = aggregates
        self.columns = aggregates.columns()

    def lower(self, e: exp.Expr, condition: Expr | None) -> Expr:
        y, x = (self._side(e, part, condition) for part in (e.this, e.expression))
        present = self._present(y.value, x.value, condition)
        if isinstance(e, exp.RegrCount):
            return self._count(present)
        sums = partial(self._sums, y, x, present)
        match e:
            case exp.RegrAvgx():
                return _mean("regr_avgx", sums, x)
            case exp.RegrAvgy():
                return _mean("regr_avgy", sums, y)
            case exp.RegrIntercept():
                rise = _double("*", sums("regr_slope"), _mean("regr_avgx", sums, x))
                return _double("-", _mean("regr_avgy", sums, y), rise)
            case exp.RegrR2():
                return _double("*", sums("corr"), sums("corr"))
            case _:
                return sums(OPERATIONS[type(e)])

    def _side(self, e: exp.Expr, part: exp.Expr, condition: Expr | None) -> Side:
        value = self.aggregates.argument(part)
        if not is_number(value.type):
            own = str(getattr(e, "sql_name", lambda: "")()).lower()
            raise DatatypeMismatch(
                f"function {WRITTEN.get(own, own)} does not exist for {value.type.kind}",
                hint="It takes numbers. EXTRACT(EPOCH FROM ...) turns a date into one.",
                position=position(part),
            )
        middle = _middle(range_of(value, self.columns), value.type)
        return Side(value, middle, part.sql(dialect="postgres"))

    def _present(self, y: Expr, x: Expr, condition: Expr | None) -> tuple[Expr, ...]:
        """What decides whether a row counts."""
        # In one order, so that (y, x) and (x, y) are of the same rows.
        sides = sorted({side for side in (y, x) if nullable(side, self.columns)}, key=repr)
        missing = (Call("is null", (side,), BOOLEAN) for side in sides)
        tests = tuple(Call("not", (test,), BOOLEAN) for test in missing)
        return tests if condition is None else (condition, *tests)

    def _count(self, present: tuple[Expr, ...]) -> Expr:
        if not present:
            return self.aggregates.measure("count_star", None, BIGINT, text="COUNT(*)")
        one = _if(present, Lit(1, INTEGER))
        return self.aggregates.measure("count", one, BIGINT, text="COUNT(*)")

    def _sums(self, y: Side, x: Side, present: tuple[Expr, ...], op: str) -> Expr:
        """`op` of the sums that it takes; the others are not measured."""
        b, a = (self._centred(side) for side in (y, x))

        def total(name: str, part: Expr, text: str) -> Expr:
            if name not in taken(op):
                return Lit(0, INTEGER)
            arg = _if(present, part) if present else part
            return self.aggregates.measure("sum", arg, sum_type(held(arg)), text=f"SUM({text})")

        # In one order: of (y, x) and (x, y) the product is the same.
        first, second = sorted((a, b), key=repr)
        sums = (
            self._count(present),
            total("x", a, x.text),
            total("y", b, y.text),
            total("xx", _product(a, a), _square(x.text)),
            total("yy", _product(b, b), _square(y.text)),
            total("xy", _product(first, second), f"{x.text} * {y.text}"),
        )
        return Call(op, sums, DOUBLE)

    def _centred(self, side: Side) -> Expr:
        if side.centre is None:
            return side.value
        type = arithmetic("-", side.value.type, side.centre.type, exp.Null())
        return Call("-", (side.value, side.centre), type)


def _middle(span: Range, type: Type) -> Expr | None:
    """The middle of a range, as a constant of the column's own steps; None where there is none."""
    if not known(span):
        return None
    middle = sum((Fraction(end) for end in span if end is not None), Fraction(0)) / 2
    if abs(middle) > FARTHEST:
        return None
    scale = scale_of(type)
    if type.kind in FLOATS or scale is None:
        return Lit(float(middle), DOUBLE)
    steps = round(middle * 10**scale)
    if not scale:
        return Lit(steps, INTEGER if abs(steps) < 2**31 else BIGINT)
    return Lit(Decimal(steps).scaleb(-scale), Type("numeric", None, scale))


def _product(a: Expr, b: Expr) -> Expr:
    """Exact where there is room for it."""
    found = Call("*", (a, b), arithmetic("*", a.type, b.type, exp.Null()))
    if width(found) is not None or found.type.kind in FLOATS:
        return found
    return Call("*", (Cast(a, DOUBLE), Cast(b, DOUBLE)), DOUBLE)


def _if(tests: tuple[Expr, ...], then: Expr) -> Expr:
    return Case(((conjunction(tests), then),), Lit(None, UNKNOWN), then.type)


def _mean(op: str, sums: Callable[[str], Expr], side: Side) -> Expr:
    return sums(op) if side.centre is None else _double("+", sums(op), side.centre)


def _double(op: str, a: Expr, b: Expr) -> Expr:
    return Call(op, (a, b), DOUBLE)


def _square(text: str) -> str:
    return f"{text}^2" if text.isidentifier() else f"({text})^2"
