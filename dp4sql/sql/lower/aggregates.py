"""Aggregates and window functions inside a SELECT: which they are and what they read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final

from sqlglot import exp

from dp4sql.algebra.digits import held
from dp4sql.algebra.expr import Call, Case, Cast, Col, Expr, Lit
from dp4sql.algebra.nodes import Agg, AggregateFunction
from dp4sql.algebra.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FLOATS,
    INTEGER,
    NUMERIC,
    TIMES,
    UNKNOWN,
    Type,
    Value,
)
from dp4sql.errors import DatatypeMismatch, GroupingError, SyntaxError_, Unsupported
from dp4sql.infer.ranges import Columns
from dp4sql.sql.lower.expressions import Expressions
from dp4sql.sql.lower.expressions.arrays import Arrays, is_array
from dp4sql.sql.lower.expressions.operators import WRITTEN
from dp4sql.sql.lower.expressions.types import avg_type, is_number, sum_type, untyped
from dp4sql.sql.lower.pairs import PAIRS, Pairs
from dp4sql.sql.lower.spellings import is_spelling, written
from dp4sql.sql.lower.windows import PLACES, Windows, parts
from dp4sql.sql.parse import position

SIMPLE: Final[dict[type, AggregateFunction]] = {
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.Median: "quantile_cont",
}
MOST_FRACTIONS: Final = 10
"""With more, counts of all candidates by a tree would be more accurate than a choice for each."""
NUMERIC_ONLY: Final = frozenset(
    {"sum", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop", "quantile_cont"}
)


def is_aggregate(e: exp.Expr) -> bool:
    if isinstance(e, (exp.AggFunc, exp.WithinGroup, exp.Filter)):
        return type(e) not in PLACES
    return isinstance(e, exp.Anonymous) and is_spelling(e)


def contains_aggregate(e: exp.Expr) -> bool:
    """Aggregates of this SELECT: those inside a subquery belong to it."""
    if isinstance(e, (exp.Query, exp.Subquery)):
        return False
    if isinstance(e, exp.Window):
        return any(contains_aggregate(part) for part in e.this.iter_expressions()) or any(
            contains_aggregate(part)
            for key in ("partition_by", "order")
            for part in parts(e.args.get(key))
        )
    if is_aggregate(e):
        return True
    return any(contains_aggregate(part) for part in e.iter_expressions())


def refuse_aggregate(e: exp.Expr) -> Expr | None:
    if isinstance(e, exp.Window):
        raise GroupingError(
            "window functions are not allowed here",
            hint="Compute it in a subquery and use its column.",
            position=position(e),
        )
    if is_aggregate(e):
        raise GroupingError(
            "aggregate functions are not allowed here",
            hint="HAVING filters by aggregates; elsewhere, aggregate in a subquery.",
            position=position(e),
        )
    return None


@dataclass
class Aggregates:
    """Collects the aggregates of one SELECT as it is lowered; equal ones are measured once.

    `columns` gives what holds of the columns that are aggregated, `arguments` maps a fresh column id to the
    expression that a Project below the Aggregate computes.
    """

    inner: Expressions
    fresh: Callable[[str], str]
    columns: Callable[[], Columns]
    aggs: list[Agg] = field(default_factory=list)
    arguments: dict[str, Expr] = field(default_factory=dict)
    outer: Expressions | None = None
    windows: Mapping[str, exp.Window] = field(default_factory=dict)
    _whole: exp.Expr | None = None

    def hook(self, e: exp.Expr) -> Expr | None:
        if isinstance(e, exp.Window):
            if self.outer is None:
                raise SyntaxError_("window functions are not allowed here", position=position(e))
            return Windows(self.outer, self.windows).lower(e)
        if not is_aggregate(e):
            return None
        self._whole = e
        return self._aggregate(e)

    # ------------------------------------------------------------ aggregates

    def _aggregate(self, e: exp.Expr, condition: Expr | None = None) -> Expr:
        match e:
            case exp.Filter():
                return self._aggregate(e.this, self.inner.boolean(e.expression.this))
            case exp.Count():
                return self._count(e, condition)
            case exp.WithinGroup():
                return self._quantile(e, condition)
            case exp.LogicalAnd() | exp.LogicalOr():
                return self._logical(e, condition)
            case _ if type(e) in SIMPLE:
                return self._simple(e, SIMPLE[type(e)], condition)
            case _ if type(e) in PAIRS:
                return Pairs(self).lower(e, condition)
            case _ if (plain := written(e)) is not None:
                return self._aggregate(plain, condition)
            case _:
                raise _unsupported(e)

    def _count(self, e: exp.Count, condition: Expr | None) -> Expr:
        if e.expressions:
            raise Unsupported(
                "COUNT takes one argument",
                hint="COUNT(*) counts rows, COUNT(DISTINCT x) different values.",
                position=position(e),
            )
        if isinstance(e.this, exp.Star):
            if condition is None:
                return self.measure("count_star", None, BIGINT)
            return self.measure("count", _if(condition, Lit(1, INTEGER)), BIGINT)
        distinct = isinstance(e.this, exp.Distinct)
        target = e.this.expressions[0] if distinct else e.this
        if distinct and len(e.this.expressions) > 1:
            raise Unsupported(
                "COUNT(DISTINCT a, b) is not supported",
                hint="Use a subquery: SELECT COUNT(*) FROM (SELECT DISTINCT a, b FROM ...) t.",
                position=position(e),
            )
        arg = self._argument(target, condition)
        return self.measure("count_distinct" if distinct else "count", arg, BIGINT)

    def argument(self, e: exp.Expr) -> Expr:
        """What an aggregate takes."""
        if contains_aggregate(e):
            raise GroupingError(
                "aggregate function calls cannot be nested",
                hint="Aggregate in a subquery: SELECT AVG(n) FROM (SELECT COUNT(*) AS n ... GROUP BY k) t.",
                position=position(e),
            )
        arg = self.inner.lower(e)
        return Lit(arg.value, Type("text")) if isinstance(arg, Lit) and untyped(arg) else arg

    def _argument(self, e: exp.Expr, condition: Expr | None) -> Expr:
        arg = self.argument(e)
        return arg if condition is None else _if(condition, arg)

    def _simple(self, e: exp.Expr, function: AggregateFunction, condition: Expr | None) -> Expr:
        distinct = isinstance(e.this, exp.Distinct)
        if distinct and len(e.this.expressions) > 1:
            raise SyntaxError_("an aggregate of numbers takes one argument", position=position(e))
        target = e.this.expressions[0] if distinct else e.this
        arg = self._argument(target, condition)
        if isinstance(e, exp.Median) and arg.type.kind in TIMES:
            # There is no mean of two days: the middle one.
            return self.measure("quantile_disc", arg, arg.type, Decimal("0.5"))
        if function in NUMERIC_ONLY and not is_number(arg.type):
            raise DatatypeMismatch(
                f"function {function.removesuffix('_samp').removesuffix('_cont')}({arg.type.kind}) does not exist",
                hint="It takes numbers. EXTRACT(EPOCH FROM ...) or EXTRACT(YEAR FROM ...) turns a date into one.",
                position=position(e),
            )
        if distinct and function not in ("sum", "avg", "min", "max"):
            name = function.split("_")[0].upper()
            raise Unsupported(
                f"{name}(DISTINCT x) is not supported",
                hint=f"Use a subquery: SELECT {name}(x) FROM (SELECT DISTINCT x FROM ...) t.",
                position=position(e),
            )
        if distinct and function in ("sum", "avg"):
            if function == "avg":
                return self._distinct_mean(arg, target)
            return self.measure("sum_distinct", arg, sum_type(held(arg)))
        half = Decimal("0.5") if function == "quantile_cont" else None
        return self.measure(function, arg, _result(function, held(arg)), half)

    def _distinct_mean(self, arg: Expr, e: exp.Expr) -> Expr:
        """A noisy count below 1 counts as 1."""
        text = f"(DISTINCT {e.sql(dialect='postgres')})"
        total = self.measure("sum_distinct", arg, sum_type(held(arg)), text=f"SUM{text}")
        count = self.measure("count_distinct", arg, BIGINT, text=f"COUNT{text}")
        least = Call("greatest", (count, Lit(1, BIGINT)), BIGINT)
        return Call("/", (total, least), avg_type(arg.type))

    def _quantile(self, e: exp.WithinGroup, condition: Expr | None) -> Expr:
        kinds: dict[type, AggregateFunction] = {
            exp.PercentileCont: "quantile_cont",
            exp.PercentileDisc: "quantile_disc",
        }
        if type(e.this) not in kinds:
            raise _unsupported(e.this)
        function = kinds[type(e.this)]
        if not is_array(e.this.this):
            return self._percentile(e, function, self.inner.lower(e.this.this), condition)
        fractions = Arrays(self.inner).elements(e.this.this, NUMERIC) or []
        if not 0 < len(fractions) <= MOST_FRACTIONS:
            raise Unsupported(
                f"an array of fractions has 1 to {MOST_FRACTIONS}",
                hint="Each is chosen with its own share of epsilon: for many, count rows between limits instead, "
                "as in GROUP BY FLOOR(x / 10).",
                position=position(e),
            )
        each = tuple(self._percentile(e, function, f, condition) for f in fractions)
        return Call("array", each, replace(each[0].type, array=True))

    def _percentile(
        self,
        e: exp.WithinGroup,
        function: AggregateFunction,
        fraction: Expr,
        condition: Expr | None,
    ) -> Expr:
        fraction = fraction.arg if isinstance(fraction, Cast) else fraction
        if (
            not isinstance(fraction, Lit)
            or not isinstance(fraction.value, (int, float, Decimal))
            or isinstance(fraction.value, bool)
            or not 0 <= fraction.value <= 1
        ):
            raise Unsupported(
                "the percentile must be a constant between 0 and 1",
                hint="0.5 is the median.",
                position=position(e),
            )
        item, *others = e.expression.expressions
        if others:
            raise SyntaxError_("a percentile is of one expression", position=position(e))
        value = Decimal(str(fraction.value))
        descending = bool(item.args.get("desc"))
        if descending:
            value = 1 - value
        arg = self._argument(item.this, condition)
        if not is_number(arg.type) and function == "quantile_cont":
            raise DatatypeMismatch(
                f"function percentile_cont(numeric, {arg.type.kind}) does not exist",
                hint="PERCENTILE_DISC chooses among values that have an order, such as dates.",
                position=position(e),
            )
        if function == "quantile_cont":
            return self.measure(function, arg, DOUBLE, value)
        return self.measure(function, arg, held(arg), value, descending)

    def _logical(self, e: exp.Expr, condition: Expr | None) -> Expr:
        arg = self._argument(e.this, condition)
        if arg.type.kind != "boolean":
            raise DatatypeMismatch(
                "BOOL_AND and BOOL_OR take a boolean",
                hint="Compare it with something, as in BOOL_AND(x > 0).",
                position=position(e),
            )
        return self.measure("bool_or" if isinstance(e, exp.LogicalOr) else "bool_and", arg, BOOLEAN)

    def measure(
        self,
        function: AggregateFunction,
        arg: Expr | None,
        type: Type,
        fraction: Value = None,
        descending: bool = False,
        text: str | None = None,
    ) -> Expr:
        """`text`: what the notices call it, where it is a part of an aggregate of the statement."""
        column = self._column(arg) if arg is not None else None
        asked = function, column, fraction, descending
        for agg in self.aggs:
            if (agg.function, agg.arg, agg.fraction, agg.descending) == asked:
                return Col(agg.id, agg.type)
        assert self._whole is not None
        whole, at = self._whole.sql(dialect="postgres", copy=False), position(self._whole)
        text = whole if text is None else f"{text} in {whole}"
        id = self.fresh(function.split("_")[0])
        found = Agg(id, function, column, type, fraction, text, at, descending=descending)
        self.aggs.append(found)
        return Col(found.id, type)

    def _column(self, arg: Expr) -> str:
        if isinstance(arg, Col):
            self.arguments[arg.id] = arg
            return arg.id
        for id, known in self.arguments.items():
            if known == arg:
                return id
        id = self.fresh("arg")
        self.arguments[id] = arg
        return id


SUPPORTED: Final = (
    "Supported: COUNT, SUM, AVG, MIN, MAX, MEDIAN, VARIANCE, STDDEV, PERCENTILE_CONT, PERCENTILE_DISC, "
    "BOOL_AND, BOOL_OR, CORR, COVAR_POP, COVAR_SAMP, REGR_SLOPE and the like."
)
REWRITES: Final[Mapping[str, str]] = {
    "mode": "The most frequent value: SELECT x, COUNT(*) FROM ... GROUP BY x ORDER BY 2 DESC LIMIT 1.",
    "grouping": "It tells the groups of ROLLUP, CUBE and GROUPING SETS apart.",
    **dict.fromkeys(
        ("string_agg", "array_agg", "any_value", "first", "last"),
        "It would show values of single rows. GROUP BY a column with public values, with a COUNT, shows which occur.",
    ),
}
"""What to ask instead of an aggregate that is refused."""


def _unsupported(e: exp.Expr) -> Unsupported:
    own = (e.sql_name() if isinstance(e, exp.Func) else type(e).__name__).lower()
    name = WRITTEN.get(own, own)
    return Unsupported(
        f"aggregate {name} is not supported",
        hint=REWRITES.get(name, SUPPORTED),
        position=position(e),
    )


def _if(condition: Expr, then: Expr) -> Expr:
    return Case(((condition, then),), Lit(None, UNKNOWN), then.type)


def _result(function: AggregateFunction, type: Type) -> Type:
    match function:
        case "sum":
            return sum_type(type)
        case "avg":
            return avg_type(type)
        case "min" | "max":
            return type
        case "quantile_cont":
            return DOUBLE
        case _:
            return DOUBLE if type.kind in FLOATS else NUMERIC
