"""Window functions: over released rows, or rows that are public."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from dp4sql.algebra.digits import held
from dp4sql.algebra.expr import Call, Expr, Lit, Over
from dp4sql.algebra.functions import SPREADS
from dp4sql.algebra.types import BIGINT, BOOLEAN, DOUBLE, FLOATS, INTEGER, Type
from dp4sql.errors import SyntaxError_, Unsupported
from dp4sql.sql.lower.expressions.types import avg_type, is_number, scale_of, sum_type
from dp4sql.sql.lower.frames import FARTHEST, Keys, frame
from dp4sql.sql.lower.names import fold
from dp4sql.sql.parse import nearest, position

if TYPE_CHECKING:
    from dp4sql.sql.lower.expressions import Expressions

PLACES: Final[Mapping[type[exp.Expr], tuple[str, Type]]] = {
    exp.RowNumber: ("row_number", BIGINT),
    exp.Rank: ("rank", BIGINT),
    exp.DenseRank: ("dense_rank", BIGINT),
    exp.PercentRank: ("percent_rank", DOUBLE),
    exp.CumeDist: ("cume_dist", DOUBLE),
}
AGGREGATES: Final[Mapping[type[exp.Expr], str]] = {
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Count: "count",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
}
OFFSETS: Final[Mapping[type[exp.Expr], str]] = {
    exp.Lag: "lag",
    exp.Lead: "lead",
    exp.FirstValue: "first_value",
    exp.LastValue: "last_value",
    exp.NthValue: "nth_value",
}
_OTHER: Final = Lit(None, INTEGER)


def parts(value: object) -> list[exp.Expr]:
    if isinstance(value, list):
        return value
    return [value] if isinstance(value, exp.Expr) else []


def sort_keys(expr: Expr, desc: bool, nulls_first: bool) -> tuple[tuple[Expr, bool], ...]:
    """NULL counts as the greatest value. Where it does not, whether there is one comes first."""
    if nulls_first == desc:
        return ((expr, desc),)
    return ((Call("is null", (expr,), BOOLEAN), nulls_first), (expr, desc))


class Windows:
    """Lowers a call with OVER. `lowering` lowers what it reads; `named` is the WINDOW clause."""

    def __init__(self, lowering: Expressions, named: Mapping[str, exp.Window]) -> None:
        self.lowering, self.named = lowering, named

    def lower(self, e: exp.Window) -> Expr:
        lower = self.lowering.lower
        clauses = self._clauses(e)
        order = tuple(
            key
            for part in parts(clauses.get("order"))
            for item in part.expressions
            for key in sort_keys(
                lower(item.this), bool(item.args.get("desc")), bool(item.args.get("nulls_first"))
            )
        )
        partition = tuple(lower(part) for part in parts(clauses.get("partition_by")))
        spec = clauses.get("spec")
        found = self._frame(spec, order, e) if isinstance(spec, exp.WindowSpec) else None
        op, args, type = self._function(e.this)
        return Over(op, args, partition, order, found, type, position(e))

    def _frame(self, spec: exp.WindowSpec, order: Keys, at: exp.Expr) -> str:
        given = [spec.args.get(name) for name in ("start", "end")]
        # Only constants are read: whatever else stands there is refused unread.
        offsets = [
            (self.lowering.lower(part) if isinstance(part, (exp.Literal, exp.Interval)) else _OTHER)
            if isinstance(part, exp.Expr)
            else None
            for part in given
        ]
        return frame(spec, order, offsets, at)

    def _clauses(self, e: exp.Window, inside: frozenset[str] = frozenset()) -> dict[str, object]:
        """Those of the window that OVER names, and its own beside them."""
        own = {key: e.args[key] for key in ("partition_by", "order", "spec") if e.args.get(key)}
        if e.args.get("alias") is None:
            return own
        name = fold(e.args["alias"])
        if name not in self.named or name in inside:
            close = nearest(name, set(self.named) - inside)
            raise SyntaxError_(
                f'window "{name}" does not exist',
                hint=f'Perhaps "{close}" was meant.'
                if close
                else f"WINDOW {name} AS (...) at the end of the SELECT defines it.",
                position=position(e),
            )
        named = self._clauses(self.named[name], inside | {name})
        if own and ("partition_by" in own or "spec" in named or own.keys() & named.keys()):
            raise SyntaxError_(
                f'cannot override the clauses of window "{name}"',
                hint="Beside a window's name may stand an ORDER BY and a frame, where it has none itself.",
                position=position(e),
            )
        return named | own

    def _function(self, e: exp.Expr) -> tuple[str, tuple[Expr, ...], Type]:
        if type(e) in PLACES:
            name, result = PLACES[type(e)]
            return name, (), result
        if isinstance(e, exp.Ntile):
            return "ntile", (self._count(e.this, e),), INTEGER
        if isinstance(e, exp.Count) and isinstance(e.this, exp.Star):
            return "count_star", (), BIGINT
        if type(e) in AGGREGATES or type(e) in OFFSETS:
            arg = self.lowering.lower(e.this)
            op = AGGREGATES.get(type(e)) or OFFSETS[type(e)]
            self.lowering.need(
                op not in {"sum", "avg", *SPREADS} or is_number(arg.type),
                f"function {op}({arg.type.kind}) does not exist",
                e,
            )
            return op, (arg, *self._extra(op, arg, e)), _type(op, held(arg))
        raise Unsupported(
            "this window function is not supported",
            hint="Supported: COUNT, SUM, AVG, MIN, MAX, VARIANCE, STDDEV, ROW_NUMBER, RANK, DENSE_RANK, "
            "PERCENT_RANK, CUME_DIST, NTILE, LAG, LEAD, FIRST_VALUE, LAST_VALUE, NTH_VALUE.",
            position=position(e),
        )

    def _extra(self, op: str, arg: Expr, e: exp.Expr) -> tuple[Expr, ...]:
        """How many rows LAG, LEAD and NTH_VALUE count, and what stands where there is none."""
        offset, default = e.args.get("offset"), e.args.get("default")
        if op == "nth_value" and isinstance(offset, exp.Expr):
            return (self._count(offset, e),)
        found: list[Expr] = []
        if isinstance(offset, exp.Expr):
            found.append(self._rows(offset, e))
        if isinstance(default, exp.Expr):
            found.append(self._default(default, arg, e))
        return tuple(found)

    def _default(self, e: exp.Expr, arg: Expr, at: exp.Expr) -> Expr:
        """Engines make it of the column's type, and round it."""
        found = self.lowering.coerce(self.lowering.lower(e), arg.type)
        _, kind = self.lowering.together([arg, found], at, "LAG")
        finer = (scale_of(found.type) or 0) > (arg.type.scale or 0) and kind.kind not in FLOATS
        if kind.kind != arg.type.kind or finer:
            raise Unsupported(
                f"the default of LAG and LEAD must be {arg.type.kind}, as the column is",
                hint="Use COALESCE(LAG(x), 0.5).",
                position=position(at),
            )
        return self.lowering.cast(found, arg.type, at)

    def _rows(self, e: exp.Expr, at: exp.Expr) -> Expr:
        found = self.lowering.coerce(self.lowering.lower(e), INTEGER)
        if isinstance(found, Lit) and type(found.value) is int and abs(found.value) <= FARTHEST:
            return found
        raise Unsupported(
            "LAG and LEAD need a constant number of rows",
            hint="For instance LAG(x, 1).",
            position=position(at),
        )

    def _count(self, e: exp.Expr, at: exp.Expr) -> Expr:
        found = self.lowering.coerce(self.lowering.lower(e), INTEGER)
        if isinstance(found, Lit) and type(found.value) is int and found.value > 0:
            return found
        raise Unsupported(
            "NTILE and NTH_VALUE need a constant of 1 or more",
            hint="For instance NTILE(4).",
            position=position(at),
        )


def named_windows(e: exp.Select) -> dict[str, exp.Window]:
    found: dict[str, exp.Window] = {}
    for window in e.args.get("windows") or ():
        name = fold(window.this)
        if name in found:
            raise SyntaxError_(f'window "{name}" is already defined', position=position(window))
        found[name] = window
    return found


def _type(op: str, type: Type) -> Type:
    match op:
        case "sum":
            return sum_type(type)
        case "avg":
            return avg_type(type)
        case _ if op in SPREADS:
            return avg_type(type)
        case "count":
            return BIGINT
        case _:
            return type
